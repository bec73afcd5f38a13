/* SPDX-License-Identifier: MIT */
/*
 * mem_monitor.h - the thread that sees to it that the cache leaves to others
 * what they need of memory (budget.h has the rules).
 *
 * It reads files of the control groups up to some hundred times a second, and
 * every few seconds while nothing changes. Each
 * would be the lowest free descriptor for a moment, and a program that closes
 * one and opens another relies on its number. So the thread has a table of
 * descriptors of its own; for the same reason it does nothing else: who evicts
 * needs those of the engine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/up.h"
#include "mem_bell.h"

struct fm_cache_size;

/* [plain] From the policy or the control socket. */
void fm_mem_monitor_set(const struct fm_cache_size *c);

/* [plain] Bytes that the cache is going to have if nothing changes. */
uint64_t fm_mem_monitor_target(void);
/* [plain] And what it may become where that brings hits. */
uint64_t fm_mem_monitor_most(void);
/* [plain] The cache has grown into all that others leave to it. After they have
 * given memory back that takes seconds. */
bool fm_mem_monitor_grown(void);

/* [plain] Pages that have left the cache to make room, since fm_mem_monitor_set
 * made it another size, or from the beginning. */
uint64_t fm_mem_monitor_left(void);

/* [plain] Bytes of evicted pages that may be kept as memory the kernel may
 * take, if so much is idle: what `lazy` comes to beside `cache`. */
uint64_t fm_mem_monitor_lazy(void);

/* [plain] Others leave too little for any cache, or did when it was last looked
 * at: what is mapped now had better be the kernel's. */
bool fm_mem_monitor_short(void);

/* [plain] An engine runs, or there is enough for one to begin, as of now. */
bool fm_mem_monitor_begins(void);

/* [plain] What is in use fits into memory, but not into the cache, as far as
 * can be told: the same pages leave and come back all the time. */
enum fm_loops { FM_LOOPS_NOT, FM_LOOPS_PERHAPS, FM_LOOPS_SURELY };
enum fm_loops fm_mem_monitor_loops(void);

/* [any] All files that are mapped have so many bytes. */
void fm_mem_monitor_mapped(uint64_t bytes);
/* [any] Bytes that others leave, the cache included; 0: not known yet. */
uint64_t fm_mem_monitor_all(void);
/* [plain] So much of that would fit into memory without an engine. */
uint64_t fm_mem_monitor_room(void);

/* [plain] Once a second, by the thread that watches memory, which has a table
 * of descriptors of its own: for who has to look at something, and has no
 * thread. */
FM_UPCALL(void, each_second, void);
