/* SPDX-License-Identifier: MIT */
/*
 * pin.h - ranges that a system call in flight uses (fm_pin in engine.h).
 *
 * A pin is published before its pages are checked; an evictor takes the page
 * lock before it looks at the pins. So one of the two sees the other.
 *
 * While it waits for a page, a pin need not be respected by who only wants to
 * see the next store (write-back) or moves the page elsewhere (demotion): the
 * owner says when it has all of its pages and then looks at them once more; the
 * others take the permission to write first and look at the pins then.
 */
#ifndef FM_PIN_H
#define FM_PIN_H

#include <stdbool.h>
#include <stddef.h>

/* [fault] Does any pin (any inbound pin) overlap? */
bool fm_pinned(const void *addr, size_t len);
bool fm_pinned_in(const void *addr, size_t len);
/* Any inbound pin that is not waiting for its pages? */
bool fm_pinned_in_use(const void *addr, size_t len);
void fm_pins_reset(void);

#endif
