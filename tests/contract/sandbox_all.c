/* SPDX-License-Identifier: MIT */
/* X24: a program confines all its threads: who opens a file, looks for one, or
 * begins a thread from now on ends it. It goes on with a file that is mapped,
 * and is larger than the cache, for longer than all that the library does by
 * the clock. */
/* not engaged: it may open no file for its statistics */
#include "ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGES 6144 /* more than the caches of these tests hold */
#define SECONDS 1.3

static const int forbidden[] = {
	SYS_open, SYS_openat, SYS_openat2, SYS_creat, SYS_stat, SYS_lstat,
	SYS_statx, SYS_newfstatat, SYS_access, SYS_faccessat, SYS_faccessat2,
	SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_rename, SYS_unlink,
	SYS_socket, SYS_connect, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork,
	SYS_execve, SYS_perf_event_open, SYS_memfd_create, SYS_mincore,
	SYS_process_vm_readv, SYS_process_vm_writev,
};
#define N (sizeof(forbidden) / sizeof(*forbidden))

static void confine(void)
{
	struct sock_filter f[2 + 2 * N];
	struct sock_fprog prog = { .filter = f };
	unsigned short n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t k = 0; k < N; k++) {
		f[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[k], 0,
			1);
		f[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					      SECCOMP_RET_ALLOW);
	prog.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &prog))
		ct_die("seccomp");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	volatile unsigned char *map;
	double end;
	int file, wrong = 0;

	ct_begin(argc, argv);
	file = ct_file("f", PAGES * PAGE);
	map = (void *)ct_map(file, PAGES * PAGE, RW, MAP_SHARED, 0);
	wrong += map[0] != ct_byte(0);
	say("X24 begins"); /* stdio looks at its file only once */
	confine();
	end = now() + SECONDS;
	do
		for (size_t k = 1; k < PAGES; k++) {
			wrong += map[k * PAGE] != ct_byte(k * PAGE);
			map[k * PAGE + 1] = 7;
		}
	while (now() < end);
	wrong += msync((void *)map, PAGES * PAGE, MS_SYNC) != 0;
	say("X24 %s", wrong ? "wrong" : "goes on");
	_exit(0);
}
