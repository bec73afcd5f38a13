/* SPDX-License-Identifier: MIT */
/*
 * loop.h - the one loop of the command, libuv's default one: for who wants to
 * wait, and for handles that live no longer than a function.
 */
#ifndef FM_CMD_LOOP_H
#define FM_CMD_LOOP_H

#include <uv.h>

/* Waits for what happens next. */
void loop_turn(void);
/* Returns when the handle's memory is not used any more. */
void loop_close(uv_handle_t *h);

#endif
