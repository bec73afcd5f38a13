/* SPDX-License-Identifier: MIT */
/* not engaged: nothing is mapped */
/* Children that have confined themselves, strictly or to three calls, and make
 * one of them: nothing of the library's makes another. */
#include "ct.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(nr)                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ, nr, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_close),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_write),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
};
static struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
static int zero, null;
static char byte;

static void strictly(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(1);
}

static void filtered(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

static void end(void)
{
	syscall(SYS_exit, 0);
}

static void strict_write(void)
{
	strictly();
	(void)!write(null, &byte, 1);
	end();
}

static void strict_read(void)
{
	strictly();
	(void)!read(zero, &byte, 1);
	end();
}

static void strict_exit(void)
{
	strictly();
	end();
}

static void filter_close(void)
{
	filtered();
	close(null);
	_exit(0);
}

static void filter_write(void)
{
	filtered();
	(void)!write(null, &byte, 1);
	_exit(0);
}

static void filter_exit(void)
{
	filtered();
	_exit(0);
}

static void run(const char *what, void (*child)(void))
{
	say("C79 %s: %d", what, ct_child(ct_run_case, &child));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	run("strict write", strict_write);
	run("strict read", strict_read);
	run("strict exit", strict_exit);
	run("filter close", filter_close);
	run("filter write", filter_write);
	run("filter _exit", filter_exit);
	return 0;
}
