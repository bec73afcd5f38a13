/* SPDX-License-Identifier: MIT */
/* waits.c - what the kernel counts of this process's waits. */
#include <sys/resource.h>

#include "base/sys.h"
#include "rate.h"

void fm_totals_of_kernel(struct fm_totals *ret)
{
	struct rusage r = { 0 };

	fm_sys2(SYS_getrusage, RUSAGE_SELF, &r);
	ret->ms = fm_now_ms();
	ret->major = (uint64_t)r.ru_majflt;
	ret->read_bytes = (uint64_t)r.ru_inblock * 512;
}
