/* SPDX-License-Identifier: MIT */
/*
 * counted_calls.h - system calls that use memory which the kernel serves, and
 * which the engine may promote meanwhile.
 *
 * What the kernel cannot fault on in signal delivery it must not find missing
 * in the middle of a call. So who hands it such memory says so (fm_data_in in
 * engine.h):
 *  - a call whose end is seen is counted while it lasts. Who takes memory
 *    back publishes its mapping, then waits until there is none: a call that
 *    begins later finds managed memory, and pins it;
 *  - of others the range is marked, and never promoted (krange.h). First the
 *    mark, then one more look for managed memory: one of the two sees the
 *    other.
 *
 * A call that is left by a jump stays counted: then nothing is promoted while
 * that thread lives. One that ends in a call, by cancellation, does not count.
 */
#pragma once

#include <stdbool.h>

/* [plain] Until none that began before it is under way, ms at most. */
bool fm_counted_calls_wait(unsigned ms);
