/* SPDX-License-Identifier: MIT */
/*
 * loop.h - the one loop of the command, libuv's default one: for who wants to
 * wait, and for handles that live no longer than a function.
 */
#pragma once

#include <uv.h>

/* Waits for what happens next. */
void loop_turn(void);
/* Returns when the handle's memory is not used any more. */
void loop_close(uv_handle_t *h);
