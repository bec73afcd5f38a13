/* SPDX-License-Identifier: MIT */
#include "lost.h"

#include <sys/resource.h>

#include "base/sys.h"
#include "base/types.h"

static uint32_t part(uint64_t lost_us, uint64_t ms)
{
	return ms ? (uint32_t)fm_least(lost_us / ms, UINT32_MAX) : 0;
}

uint32_t fm_lost_in_engine(uint64_t spent_ns, uint64_t ms)
{
	return part(spent_ns / 1000, ms);
}

uint32_t fm_lost_in_kernel(uint64_t major, uint64_t fault_ns, uint64_t bytes,
			   uint64_t ms)
{
	return part(1000 * (major * fault_ns / 1000000 +
			    bytes / FM_LOST_BYTES_A_MS), ms);
}

uint64_t fm_lost_pause_ms(unsigned failed)
{
	return failed < 2 ? FM_LOST_MINUTE_MS : failed < 3 ?
			    5 * FM_LOST_MINUTE_MS : 25 * FM_LOST_MINUTE_MS;
}

struct fm_lost_waits fm_lost_waits(void)
{
	struct rusage r = { 0 };

	fm_sys2(SYS_getrusage, RUSAGE_SELF, &r);
	return (struct fm_lost_waits){ (uint64_t)r.ru_majflt,
				       (uint64_t)r.ru_inblock * 512 };
}
