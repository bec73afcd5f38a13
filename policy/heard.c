/* SPDX-License-Identifier: MIT */
/*
 * heard.c - what is wrong with the settings is said by one process, not by each
 * child that inherits them: not by who was started by `fastmap run`, which
 * looks first, and not by who has them, the library included, from its parent.
 */
#include "heard.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"

#define RUN FM_RUN_VARIABLE "="

static bool heard_begins(const char *s, const char *head)
{
	return !strncmp(s, head, strlen(head));
}

static bool heard_has(const char *block, size_t n, const char *entry)
{
	const size_t len = strlen(entry) + 1;

	for (size_t at = 0; at + len <= n; at += strlen(block + at) + 1)
		if (!memcmp(block + at, entry, len))
			return true;
	return false;
}

/* What a process was started with; the last byte is 0. */
static size_t environment_of(int pid, char *buf, size_t size)
{
	char digits[12], path[48];
	long n;

	fm_number_text(digits, (unsigned)pid);
	fm_join(path, sizeof(path), "/proc/", digits, "/environ");
	n = fm_read_small(path, buf, size);
	return n > 0 ? (size_t)n : 0;
}

int fm_heard_run(char **envp)
{
	uint64_t pid;

	for (; *envp; envp++)
		if (heard_begins(*envp, RUN) &&
		    fm_number(*envp + strlen(RUN), &pid) && pid <= INT32_MAX)
			return (int)pid;
	return 0;
}

#define MOST ((size_t)256 << 10)

static bool both_have(const char *own, size_t n, const char *parents, size_t m,
		      const char *name)
{
	const size_t len = strlen(name);

	for (size_t at = 0; at < n; at += strlen(own + at) + 1)
		if (heard_begins(own + at, name) && own[at + len] == '=')
			return heard_has(parents, m, own + at);
	return false;
}

bool fm_heard_by_parent(const char *variable)
{
	char *own = fm_sys_anon(2 * MOST), *parents = own + MOST;
	size_t n, m;
	bool yes;

	if (!own)
		return false;
	n = environment_of(fm_sys_getpid(), own, MOST);
	m = environment_of((int)fm_sys0(SYS_getppid), parents, MOST);
	yes = both_have(own, n, parents, m, variable) &&
	      both_have(own, n, parents, m, "LD_PRELOAD");
	fm_sys_munmap(own, 2 * MOST);
	return yes;
}
