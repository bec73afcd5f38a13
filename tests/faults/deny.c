/* SPDX-License-Identifier: MIT */
/*
 * deny.c - run a program in which named system calls fail with EPERM, as in
 * a container with a strict seccomp profile.
 *
 *   deny userfaultfd,io_uring_setup program args...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	long nr;
} calls[] = {
	{ "userfaultfd", SYS_userfaultfd },
	{ "io_uring_setup", SYS_io_uring_setup },
	{ "pidfd_open", SYS_pidfd_open },
	{ "kcmp", SYS_kcmp },
	{ "memfd_create", SYS_memfd_create },
	{ "clone3", SYS_clone3 },
	{ "openat2", SYS_openat2 },
	{ "membarrier", SYS_membarrier },
	{ "process_madvise", SYS_process_madvise },
};

int main(int argc, char **argv)
{
	struct sock_filter code[2 * 16 + 2];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	if (argc < 3)
		return 2;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr));
	for (char *s = strtok(argv[1], ","); s; s = strtok(NULL, ",")) {
		size_t i = 0, count = sizeof(calls) / sizeof(*calls);

		while (i < count && strcmp(calls[i].name, s))
			i++;
		if (i == count || n > 30) {
			fprintf(stderr, "deny: unknown system call %s\n", s);
			return 2;
		}
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].nr, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("deny: seccomp");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
