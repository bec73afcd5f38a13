/* SPDX-License-Identifier: MIT */
#include "leavers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/visible.h"
#include "group.h"
#include "live.h"

#define MOST 64

/* Of runs before, and of who has executed us. */
static pid_t known[MOST];
static unsigned n_known;

static bool leavers_is_known(pid_t pid)
{
	unsigned i = 0;

	while (i < n_known && known[i] != pid)
		i++;
	return i < n_known;
}

/* Children that are not known, `most` of them. */
static unsigned leavers_list(pid_t *ret, unsigned most)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	unsigned n = 0;
	int pid;

	while (f && n < most && fscanf(f, "%d", &pid) == 1)
		if (!leavers_is_known(pid))
			ret[n++] = pid;
	if (f)
		fclose(f);
	return n;
}

static void keep_all(void)
{
	n_known += leavers_list(known + n_known, MOST - n_known);
}

void leavers_begin(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	keep_all();
}

bool leavers_any(void)
{
	pid_t ended, one;

	do
		ended = waitpid(-1, NULL, WNOHANG | __WALL);
	while (ended > 0 || (ended < 0 && errno == EINTR));
	return !ended && leavers_list(&one, 1);
}

static void leavers_name_of(int pid, char *ret, size_t size)
{
	char name[32] = "";

	live_read_proc(pid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = 0;
	fm_visible(name, false, ret, size);
}

void leavers_names(char *ret, size_t size)
{
	char name[32 * FM_VISIBLE_MOST];
	pid_t left[MOST];
	const unsigned k = leavers_any() ? leavers_list(left, MOST) : 0;
	size_t n = 0;

	*ret = 0;
	for (unsigned i = 0; i < k && n < size; i++) {
		if (group_is_guardian(left[i]))
			continue;
		leavers_name_of(left[i], name, sizeof(name));
		n += (size_t)snprintf(ret + n, size - n, "%s%s (%d)",
				      n ? ", " : "", name, (int)left[i]);
	}
	keep_all();
}
