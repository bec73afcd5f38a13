/* SPDX-License-Identifier: MIT */
/*
 * control.h - the thread that looks after things: timers, the policy file,
 * memory limits, and the control socket. Never in the path of a fault.
 */
#ifndef FM_CONTROL_H
#define FM_CONTROL_H

/* Before start: call fn every ms milliseconds on the control thread. */
void fm_control_add_timer(unsigned ms, void (*fn)(void));

/* [plain] 0 or -errno. */
int fm_control_start(void);

/* At the end, also in the guardian: remove the control socket if it is ours. */
void fm_control_remove(void);

/* In the child of fork: the thread is not here, give its descriptors back. */
void fm_control_reset(void);

#endif
