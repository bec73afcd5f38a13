/* SPDX-License-Identifier: MIT */
/*
 * pin.h - ranges that a system call in flight uses (fm_pin in engine.h).
 *
 * A pin is published before its pages are checked; an evictor takes the page
 * lock before it looks at the pins. So one of the two sees the other.
 */
#ifndef FM_PIN_H
#define FM_PIN_H

#include <stdbool.h>
#include <stddef.h>

/* [fault] Does any pin (any inbound pin) overlap? */
bool fm_pinned(const void *addr, size_t len);
bool fm_pinned_in(const void *addr, size_t len);
void fm_pins_reset(void);

#endif
