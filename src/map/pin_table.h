/* SPDX-License-Identifier: MIT */
/*
 * pin_table.h - ranges that a system call in flight uses (fm_pin in engine.h;
 * fault/pin.c brings their pages in).
 *
 * A pin is published before its pages are checked; an evictor takes the page
 * lock before it looks at the pins. So one of the two sees the other.
 *
 * While it waits for a page, a pin need not be respected by who only wants to
 * see the next store (write-back), moves the page elsewhere (demotion) or maps
 * something else there: the owner says when it has all of its pages and then
 * looks at them once more; the others take the permission to write first, or
 * hide the page, and look at the pins then.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/types.h"

/* [fault] Does a pin (fm_pinned_in: one into which the kernel stores) overlap
 * the range? */
bool fm_pinned(const void *addr, size_t len);
bool fm_pinned_in(const void *addr, size_t len);
/* [any] The range is hidden and locked: wait until no system call uses it any
 * more, or for a moment (false). False at once where the kernel can wait for
 * what comes in its place (thread delivery). */
bool fm_pin_wait(const void *addr, size_t len);
/* [fault] Take the permission to store into page i of m, which is locked, from
 * its mode; the protection is the caller's to set. False: an inbound pin that
 * has its pages uses it, and nothing has happened. */
bool fm_pin_shut(struct fm_map *m, uint64_t i);

/* [fault] The program drops a page of its own at addr, which is locked: each
 * pin over it lets it, or looks again before it is used. They are told. */
bool fm_pin_lets(const void *addr);

/* One pin. */
struct fm_pin_slot {
	_Atomic uint32_t used;
	_Atomic uint8_t in, ready; /* ready: its pages are there */
	_Atomic uint8_t lets, lost; /* see struct fm_pin */
	_Atomic uintptr_t lo, hi;
	char pad[FM_CACHELINE - 24];
};

/* [any] Take a slot, waiting for one if need be; publish the range [lo, hi) in
 * it; give it back. Has a page been lost meanwhile? */
uint32_t fm_pin_slot_get(void);
void fm_pin_slot_set(uint32_t i, uintptr_t lo, uintptr_t hi, bool in,
		     bool lets);
bool fm_pin_slot_put(uint32_t i);
/* [fault] */
struct fm_pin_slot *fm_pin_slot(uint32_t i);
