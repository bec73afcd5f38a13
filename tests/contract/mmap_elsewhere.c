/* SPDX-License-Identifier: MIT */
/* C88: a file that is not ours is mapped over and over while another one is:
 * where it lies is not asked each time. Another file by the same descriptor
 * shows what is in it. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ct.h"

#define TIMES 60

static volatile sig_atomic_t looks;

static void looked(int sig CT_UNUSED)
{
	looks++;
}

static long raw4(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

/* By an instruction of our own: no library knows. */
static void trap_looks(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	signal(SIGSYS, looked);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (raw4(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog))
		ct_skip("no seccomp");
}

static int outside(const char *text)
{
	int fd = memfd_create("outside", 0);

	if (fd < 0 || ftruncate(fd, PAGE) || pwrite(fd, text, 1, 0) != 1)
		ct_skip("no memfd");
	return fd;
}

static char first_of(int fd)
{
	char *p = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, 0), c = *p;

	munmap(p, PAGE);
	return c;
}

/* After the first time, and fewer than the engine believes it (63). */
static void *many(void *arg)
{
	const int fd = *(int *)arg;
	int good = 0;

	first_of(fd);
	trap_looks();
	for (int i = 0; i < TIMES; i++)
		good += first_of(fd) == 'a';
	say("C88 good: %d of %d", good, TIMES);
	return NULL;
}

int main(int argc, char **argv)
{
	int ours, a, b;
	volatile char *p;
	pthread_t t;

	ct_begin(argc, argv);
	ours = ct_file("ours", 64 * PAGE);
	p = ct_map(ours, 64 * PAGE, PROT_READ, MAP_SHARED, 0);
	(void)p[PAGE];
	a = outside("a");
	b = outside("b");
	for (int i = 0; i < 3; i++)
		first_of(a);
	dup2(b, a);
	say("C88 after dup2: %c", first_of(a));
	dup2(ours, a);
	say("C88 ours: %d", first_of(a) == *p);
	close(a);
	a = outside("a");
	pthread_create(&t, NULL, many, &a);
	pthread_join(t, NULL);
	say("C88 asked: %d", looks);
	return 0;
}
