/* SPDX-License-Identifier: MIT */
#include "major.h"

#include <string.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "base/text.h"

#define NAME "\npgmajfault "

static uint64_t own(void)
{
	struct rusage u = { .ru_majflt = 0 };

	fm_sys2(SYS_getrusage, RUSAGE_SELF, &u);
	return (uint64_t)u.ru_majflt;
}

/* Who waits may be a child of fork, or another process on that file. */
uint64_t fm_warm_major_faults(void)
{
	char text[8192];
	const char *at = NULL;
	uint64_t n = 0;

	if (fm_read_small("/proc/vmstat", text, sizeof(text)) > 0)
		at = strstr(text, NAME);
	if (!at)
		return own();
	fm_number(at + strlen(NAME), &n);
	return n;
}
