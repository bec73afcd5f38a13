/* SPDX-License-Identifier: MIT */
/* C77s: a page above the stack of a thread was there when a call was given a
 * pointer to it, and is not there any more, or may not be stored to: EFAULT. */
#include "ct.h"

#include <linux/mman.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define STACK (64 * PAGE)
#define ROUNDS 500

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

static int null, file;
static char *page; /* just above the stack */
static sigjmp_buf jump;

static void on_signal(int sig)
{
	siglongjmp(jump, sig);
}

/* 1, -1 and EFAULT, or minus the signal. */
static const char *use(void)
{
	struct iovec *v = (void *)(page + 64);
	int sig = sigsetjmp(jump, 1);

	if (sig)
		return sigabbrev_np(sig);
	return ct_errno(writev(null, v, 1) < 0);
}

static void there(void)
{
	static const struct iovec v = { "x", 1 };

	if (mmap(page, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != page)
		ct_die("mmap");
	memcpy(page + 64, &v, sizeof(v));
}

static void gone(const char *what, int r)
{
	say("C77s %s: %s", what, ct_errno(r < 0));
	say("C77s then: %s", use());
	there();
	say("C77s there again: %s", use());
}

/* A segment in its place, and gone again. */
static void attached(void)
{
	static const struct iovec v = { "x", 1 };
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);

	if (id < 0)
		return;
	if (shmat(id, page, SHM_REMAP) == page)
		memcpy(page + 64, &v, sizeof(v));
	shmctl(id, IPC_RMID, NULL);
	say("C77s a segment: %s", use());
	gone("shmdt", shmdt(page));
}

static void one_by_one(void)
{
	struct iovec v = { page, PAGE };

	there();
	say("C77s there: %s", use());
	gone("munmap", munmap(page, PAGE));
	gone("by number", (int)syscall(SYS_munmap, page, PAGE));
	gone("mprotect", mprotect(page, PAGE, PROT_NONE));
	gone("pkey_mprotect", pkey_mprotect(page, PAGE, PROT_NONE, 0));
	gone("by number",
	     (int)syscall(SYS_pkey_mprotect, page, PAGE, PROT_NONE, 0));
	gone("mmap",
	     mmap(page, PAGE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page
		     ? 0
		     : -1);
	gone("mremap", mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			      page - STACK - 4 * PAGE) == MAP_FAILED
			       ? -1
			       : 0);
	attached();
	gone("guard", madvise(page, PAGE, MADV_GUARD_INSTALL));
	gone("guard, by number",
	     (int)syscall(SYS_madvise, page, PAGE, MADV_GUARD_INSTALL));
	gone("guard, process_madvise",
	     process_madvise((int)syscall(SYS_pidfd_open, getpid(), 0), &v, 1,
			     MADV_GUARD_INSTALL, 0) == PAGE
		     ? 0
		     : -1);
}

/* A result that cannot be stored. */
static void read_only(void)
{
	off_t *at = (off_t *)(void *)(page + 512);
	int sig;

	there();
	say("C77s sendfile: %zd", sendfile(null, file, at, 1));
	if (mprotect(page, PAGE, PROT_READ))
		ct_die("mprotect");
	sig = sigsetjmp(jump, 1);
	if (sig)
		say("C77s read-only: %s", sigabbrev_np(sig));
	else
		say("C77s read-only: %s",
		    ct_errno(sendfile(null, file, at, 1) < 0));
}

/* ---- by another thread, meanwhile -------------------------------------------
 */

static _Atomic int turn; /* even: there; odd: gone */

static void *unmapper(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		while (turn != 2 * i)
			;
		munmap(page, PAGE);
		turn = 2 * i + 1;
	}
	return NULL;
}

static void meanwhile(void)
{
	int wrong = 0;
	pthread_t t;

	there();
	if (pthread_create(&t, NULL, unmapper, NULL))
		ct_die("pthread_create");
	for (int i = 0; i < ROUNDS; i++) {
		while (turn != 2 * i + 1)
			use(); /* whatever: it goes */
		wrong += strcmp(use(), "EFAULT") != 0;
		there();
		turn = 2 * i + 2;
	}
	pthread_join(t, NULL);
	say("C77s after another thread's munmap: %d wrong", wrong);
}

static void *on_stack(void *arg)
{
	(void)arg;
	one_by_one();
	read_only();
	meanwhile();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t a;
	pthread_t t;
	char *p, *q;

	ct_begin(argc, argv);
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	null = open("/dev/null", O_WRONLY);
	file = ct_file("file", 9 * PAGE);
	p = ct_map(file, 9 * PAGE, RW, MAP_SHARED, 0);
	say("C77s %d", ct_matches(p, PAGE, 0));
	q = ct_map(-1, STACK + 16 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	page = q + 8 * PAGE + STACK;
	pthread_attr_init(&a);
	if (pthread_attr_setstack(&a, q + 8 * PAGE, STACK) ||
	    pthread_create(&t, &a, on_stack, NULL))
		ct_die("thread");
	pthread_join(t, NULL);
	return 0;
}
