/* SPDX-License-Identifier: MIT */
/*
 * probe.h - is what does not stream in use? While a stream makes all the room,
 * some other pages are evicted as well, a few at first. Where they come back,
 * the rest is in use and stays. Where they do not, twice as many go half a
 * second later, and so on (compare the slow start of TCP): in some seconds a
 * cache full of what nobody wants any more is the stream's. All [fault].
 */
#pragma once

#include <stdint.h>

/* So many pages that do not stream may be evicted now. */
uint64_t fm_probe_may(void);
/* So many of them have left; have come back soon after. */
void fm_probe_left(uint64_t pages);
void fm_probe_back(uint64_t pages);
