/* SPDX-License-Identifier: MIT */
/*
 * lost.h - the time that threads lose by waiting for pages, in thousandths of a
 * thread, as far as it can be told; and how long to leave alone what was tried
 * in vain. Of both trials: of the kernel (trial_rule.h) and of the engine
 * (losing_rule.h). All [plain].
 */
#ifndef FM_LOST_H
#define FM_LOST_H

#include <stdint.h>

#define FM_LOST_FAULT_NS ((uint64_t)50000) /* a fault that waits, at least */
#define FM_LOST_MUCH 250u /* thousandths: less is not worth a trial */
#define FM_LOST_BYTES_A_MS ((uint64_t)256 << 10) /* read meanwhile */
#define FM_LOST_MINUTE_MS ((uint64_t)60000)

/* In so many ms: what threads spent in faults of the engine. */
uint32_t fm_lost_in_engine(uint64_t spent_ns, uint64_t ms);
/* In the kernel's mappings: major faults of fault_ns each, and reads. */
uint32_t fm_lost_in_kernel(uint64_t major, uint64_t fault_ns, uint64_t bytes,
			   uint64_t ms);
/* Until the next trial, when so many in a row have failed: 1, 5, 25 minutes. */
uint64_t fm_lost_pause_ms(unsigned failed);

/* Of this process, up to now: its major faults, and bytes read from devices. */
struct fm_lost_waits {
	uint64_t major, read_bytes;
};
struct fm_lost_waits fm_lost_waits(void);

#endif
