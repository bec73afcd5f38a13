/* SPDX-License-Identifier: MIT */
/* M83, M84: a fork while there is no room for one more mapping of the kernel's,
 * which is simulated: madvise of MADV_DOFORK fails (M83), and so does the
 * process that maps what is handed over (M84). The child sees what its parent
 * has stored to a private mapping; where that cannot be, SIGBUS, and never
 * anything else. */
#include "ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static char *p;
static const char *row;

/* `helpers`: clone with the flags of vfork, too. */
static void fail(bool helpers)
{
	const unsigned shared = CLONE_VM | CLONE_VFORK;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DOFORK, 3, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 helpers ? SYS_clone : UINT32_MAX, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, shared, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    ct_raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog, 0))
		ct_skip("no seccomp");
}

static void say_what(const char *which, int got, int expected)
{
	bool bus = row[2] == '4' && got == -SIGBUS; /* natively nothing fails */

	say("%s child, %s: %s", row, which,
	    got == expected || bus ? "not wrong" : "wrong");
}

static void child(void)
{
	say_what("stored", ct_load(p + PAGE), 0x42);
	say_what("other", ct_load(p + 3 * PAGE), ct_byte(3 * PAGE));
}

static void run(const char *which, const char *name, bool helpers)
{
	int fd = ct_file(name, 64 * PAGE);

	row = which;
	p = ct_map(fd, 64 * PAGE, RW, MAP_PRIVATE, 0);
	ct_load(p);
	p[PAGE] = 0x42;
	fail(helpers);
	say_child(row, child);
	p[2 * PAGE] = 0x43;
	say("%s parent: %02x %02x %d", row, p[PAGE], p[2 * PAGE],
	    ct_load(p + 3 * PAGE) == ct_byte(3 * PAGE));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	run("M83", "f", false);
	run("M84", "g", true);
	return 0;
}
