/* SPDX-License-Identifier: MIT */
/* U22: where the kernel does not know cachestat (before Linux 6.5, under
 * valgrind, which warns each time) it is asked for once, not for each mapping.
 * A tracer refuses the call of a child, and counts. */
/* env: FASTMAP_WARM=auto */
/* not engaged: the kernel serves what is in the page cache */
#include "ct.h"
#include "traced.h"

#include <stddef.h>

#define N (4ul << 20)
#define FILES 8
#define CACHESTAT 451 /* Linux 6.5 */

static int child_id, asked;

static const char *name_of(int k)
{
	static char name[16];

	sprintf(name, "f%d", k);
	return name;
}

static void child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	for (int k = 0; k < FILES; k++) {
		int fd = open(ct_path(name_of(k)), O_RDONLY);
		char *m = ct_map(fd, N, PROT_READ, MAP_PRIVATE, 0);

		if (m[PAGE] != (char)ct_byte(PAGE))
			_exit(2);
		close(fd);
	}
	_exit(0);
}

/* No such call: -ENOSYS. */
static void entered(const struct user_regs_struct *regs)
{
	if (regs->orig_rax != CACHESTAT)
		return;
	asked++;
	ptrace(PTRACE_POKEUSER, child_id,
	       offsetof(struct user_regs_struct, orig_rax), -1L);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int k = 0; k < FILES; k++)
		close(ct_file(name_of(k), N));
	child_id = fork();
	if (!child_id)
		child();
	ct_trace(child_id, entered);
	say("U22 looks at what is cached: %s", asked < 2 ? "few" : "many");
	return 0;
}
