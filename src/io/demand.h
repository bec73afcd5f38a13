/* SPDX-License-Identifier: MIT */
/*
 * demand.h - the read that a faulting thread waits for.
 *
 * Polling for it is quicker than sleeping as long as a CPU has nothing better
 * to do: a wake-up costs as much as half a read, most of it for getting an
 * idle (virtual) CPU going. A poller gives its CPU to whoever is runnable
 * between two looks. Whether that wins is measured, not guessed: all reads of
 * a window of time wait in the same way, a short window every second tries
 * the other one, and the way in which clearly more reads are done is taken.
 * (Not the one in which a read takes less time: with 16 threads on 2 CPUs a
 * sleeper's read is over sooner, because its wake-up preempts somebody, and
 * fewer reads are done for the CPU that this takes.) In doubt reads poll.
 *
 * Many threads that fault at once would notify the device once each. Pollers
 * put their reads into a list; when more than a few wait, a thread lets the
 * others run first, so that a read joins a batch which the next thread whose
 * turn it is submits with one system call. With few, each starts at once:
 * waiting for company would only turn a pipeline into a convoy. Who submits
 * stays until the whole batch is done, because completions are delivered
 * through the submitting thread.
 */
#pragma once

#include <stdint.h>

struct fm_io;

/* [fault] Do the transfer, return its result. Takes a ring meanwhile. */
long fm_demand_do(struct fm_io *io);

/* [fault] How long threads have waited for reads in the last tenth of a second,
 * in percent of that time: 50 is one thread that computes as long as it waits,
 * 400 are four that do nothing else. 0 when none has waited lately. */
unsigned fm_demand_waiting(void);

/* [fault] How many reads that has been, up to a tenth of a second ago. */
uint64_t fm_demand_reads(void);

/* [plain] Growing totals: reads whose end was seen by polling, and submissions
 * made for them. */
uint64_t fm_demand_polled(void);
uint64_t fm_demand_batches(void);
