/* SPDX-License-Identifier: MIT */
/* control_priv.h - between the control loop's parts. */
#ifndef FM_CONTROL_PRIV_H
#define FM_CONTROL_PRIV_H

#include <poll.h>

#define FM_CONTROL_CLIENTS 8 /* at a time */

/* [plain] Listen where the settings say, if they do. 0 or -errno. */
int fm_control_listen(void);
/* [plain] What to wait for, 1 + FM_CONTROL_CLIENTS of them, and what came of
 * it. */
int fm_control_fds(struct pollfd *p);
void fm_control_serve(const struct pollfd *p);
/* [plain] In the child of fork. */
void fm_control_drop_fds(void);

#endif
