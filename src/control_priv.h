/* SPDX-License-Identifier: MIT */
/* control_priv.h - between the control loop's parts. */
#ifndef FM_CONTROL_PRIV_H
#define FM_CONTROL_PRIV_H

#include <stdint.h>
#include <uv.h>

/* control_sys.c: close what libuv opened. */
void fm_control_drop_fds(void);

/* control_socket.c: listen where the settings say, if they do. */
int fm_control_listen(uv_loop_t *loop);

#endif
