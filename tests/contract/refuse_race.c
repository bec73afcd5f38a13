/* SPDX-License-Identifier: MIT */
/* R82: a thread stores to a mapping that may only be read, while another unmaps
 * it and uses the address otherwise, changes a part, or maps it anew: what the
 * library does so that the kernel raises SIGSEGV must not fall upon what is
 * there then. The thread's mprotect to PROT_READ, which it does not call
 * itself, is held up by a filter for 0.15 s. */
#include "ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LEN (4ul << 20)
#define ROUNDS 3

static int fd;
static char *p;
static _Atomic int listener;
static _Thread_local sigjmp_buf back;

static void on_segv(int sig)
{
	siglongjmp(back, sig);
}

static int store(char *at)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*(volatile char *)at = 1;
	return sig;
}

static void *hold_up(void *unused)
{
	while (listener < 0)
		usleep(100);
	for (;;) {
		struct seccomp_notif ask;
		struct seccomp_notif_resp answer = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};

		memset(&ask, 0, sizeof(ask));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask))
			return unused;
		usleep(150000);
		answer.id = ask.id;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static void listen_to_mprotect(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };

	listener =
		(int)ct_raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER, (long)&prog, 0);
	if (listener < 0)
		ct_skip("no seccomp");
}

static void *storer(void *go)
{
	listen_to_mprotect();
	atomic_store((_Atomic int *)go, 1);
	return (void *)(intptr_t)store(p);
}

static void unmap(void)
{
	munmap(p, LEN);
	if (mmap(p, LEN, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0) != p)
		ct_die("mmap");
}

static void change(void)
{
	mprotect(p + LEN / 2, PAGE, RW);
}

static void replace(void)
{
	if (mmap(p, LEN, RW, MAP_SHARED | MAP_FIXED, fd, 0) != p)
		ct_die("mmap");
}

static void run(const char *what, void (*act)(void))
{
	int failed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		_Atomic int go = 0;
		pthread_t t, helper;

		listener = -1;
		pthread_create(&helper, NULL, hold_up, NULL);
		p = ct_map(fd, LEN, PROT_READ, MAP_SHARED, 0);
		ct_load(p);
		pthread_create(&t, NULL, storer, (void *)&go);
		while (!go)
			;
		usleep(20000);
		act();
		pthread_join(t, NULL);
		pthread_join(helper, NULL); /* nobody has the filter any more */
		failed += store(p + LEN / 2) != 0;
		munmap(p, LEN);
	}
	say("R82 %s: stores that failed: %d", what, failed);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	signal(SIGSEGV, on_segv);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ct_die("prctl");
	fd = ct_file("f", LEN);
	run("unmapped", unmap);
	run("a part made writable", change);
	run("mapped anew", replace);
	return 0;
}
