/* SPDX-License-Identifier: MIT */
/*
 * deny.c - run a program in which named system calls fail with EPERM, as in
 * a container with a strict seccomp profile.
 *
 *   deny userfaultfd,io_uring_setup program args...
 *   deny container program args...
 *
 * "container": what Docker's default profile refuses of what we use, and the
 * device /dev/userfaultfd, which containers do not have. The program may be
 * root and see the device: what it cannot do is open a userfaultfd by it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not in every <linux/userfaultfd.h>. */
#define NEW_USERFAULTFD _IO(0xAA, 0x00)
#define MOST 48

static const struct {
	const char *name;
	long nr;
	unsigned request; /* of ioctl, or 0 */
} calls[] = {
	{ "userfaultfd", SYS_userfaultfd, 0 },
	{ "userfaultfd_device", SYS_ioctl, NEW_USERFAULTFD },
	{ "io_uring_setup", SYS_io_uring_setup, 0 },
	{ "io_uring_enter", SYS_io_uring_enter, 0 },
	{ "io_uring_register", SYS_io_uring_register, 0 },
	{ "perf_event_open", SYS_perf_event_open, 0 },
	{ "pidfd_open", SYS_pidfd_open, 0 },
	{ "kcmp", SYS_kcmp, 0 },
	{ "memfd_create", SYS_memfd_create, 0 },
	{ "clone3", SYS_clone3, 0 },
	{ "openat2", SYS_openat2, 0 },
	{ "membarrier", SYS_membarrier, 0 },
	{ "process_madvise", SYS_process_madvise, 0 },
};

static const char container[] =
	"userfaultfd,userfaultfd_device,io_uring_setup,io_uring_enter,"
	"io_uring_register,perf_event_open";

static struct sock_filter code[MOST];
static unsigned short used;

static void add(unsigned short what, unsigned k, unsigned char yes,
		unsigned char no)
{
	if (used == MOST) {
		fputs("deny: too many system calls\n", stderr);
		exit(2);
	}
	code[used++] = (struct sock_filter){ what, yes, no, k };
}

static void load(size_t field)
{
	add(BPF_LD | BPF_W | BPF_ABS, (unsigned)field, 0, 0);
}

/* The number is loaded before, and after it again. */
static void refuse(long nr, unsigned request)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, request ? 4 : 1);
	if (request) {
		load(offsetof(struct seccomp_data, args[1]));
		add(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1);
	}
	add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	if (request)
		load(offsetof(struct seccomp_data, nr));
}

static void refuse_named(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!strcmp(calls[i].name, name)) {
			refuse(calls[i].nr, calls[i].request);
			return;
		}
	}
	fprintf(stderr, "deny: unknown system call %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };
	char *names;

	if (argc < 3) {
		fputs("usage: deny CALL[,CALL]...|container PROGRAM ARGS...\n",
		      stderr);
		return 2;
	}
	names = strdup(strcmp(argv[1], "container") ? argv[1] : container);
	load(offsetof(struct seccomp_data, nr));
	for (char *s = strtok(names, ","); s; s = strtok(NULL, ","))
		refuse_named(s);
	free(names);
	add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	program.len = used;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("deny: seccomp");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
