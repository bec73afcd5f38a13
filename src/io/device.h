/* SPDX-License-Identifier: MIT */
/*
 * device.h - what a read costs on the device of a file, as measured.
 *
 * A read of n pages takes fixed + n * page nanoseconds. Both come from the
 * reads that bypass the page cache, by a line of least squares through the last
 * few hundred that were alone on the device; where they differ so much that
 * this says little of the slope, by what is assumed of it (1 GB/s). Where
 * several are under way one takes as long as the others let it: there the time
 * in which the device did so many reads is divided by their number, and the
 * line goes through those means. So a disk that does 150 reads a second,
 * however many wait, and a network that answers after as long, however many
 * ask, differ in the second line.
 *
 * Nothing read yet, it is one of 100 us and 1 GB/s; of few reads the least
 * tells, with that as one more of them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"

struct fm_io;

/* [any] The entry of device dev, which its files share. */
struct fm_device *fm_device_of(dev_t dev);

/* [fault] io, a read, goes to the device now; and has come from there. */
void fm_device_begin(struct fm_io *io);
void fm_device_end(struct fm_io *io);

/* [fault] Pages that come in the time of the fixed part of a read: reading them
 * along makes it twice as long. At least 1. */
uint32_t fm_device_even(const struct fm_file *f);

/* [fault] The same, of the first reads on: too much is no loss. */
uint32_t fm_device_hides(const struct fm_file *f);

/* [fault] The same where several reads are under way: pages that could come in
 * place of one of them. 0: not known yet, for reads were all of one size. */
uint32_t fm_device_even_among(const struct fm_file *f);
/* [fault] As it is now, others are under way or not. */
uint32_t fm_device_even_now(const struct fm_file *f);
/* [fault] Who goes by that and has the choice takes the other one for once. */
bool fm_device_wants_other(const struct fm_file *f);

/* [fault] Reads of n pages that keep it busy, one of which is missed for up to
 * `late` ns when it has ended. d may be NULL. */
uint64_t fm_device_depth(const struct fm_device *d, uint64_t n, uint64_t late);

/* [fault] What a read takes, as a rule, in nanoseconds, where that is hardly
 * more than its pages take, for the device is as fast as memory; else 0. */
uint64_t fm_device_memory_ns(const struct fm_file *f);

/* [fault] Has it been measured what a read that is alone takes? */
bool fm_device_known(const struct fm_file *f);

/* [fault] Nanoseconds of a read of n pages that is alone. */
uint64_t fm_device_ns(const struct fm_file *f, uint64_t n);

/* [fault] Nanoseconds between two reads of n pages that end, with several under
 * way. */
uint64_t fm_device_each_ns(const struct fm_file *f, uint64_t n);

/* [plain] What a read takes on dev, and each page of it: as the kernel's have
 * taken, if they were of several sizes, and no less than is assumed; else ours,
 * else as is assumed. ns. */
struct fm_device_price {
	uint64_t read, page;
};
struct fm_device_price fm_device_price(dev_t dev);
/* [plain] So long have threads waited for the kernel on the average, for so
 * many pages each. */
void fm_device_waited(dev_t dev, uint64_t pages, uint64_t ns);

/* [fault] A thread has waited ns for a call that makes room for what is stored
 * to holes. What one takes, on the average of late, or as is assumed. d may be
 * NULL. */
void fm_device_made_room(struct fm_device *d, uint64_t ns);
uint64_t fm_device_room_ns(const struct fm_device *d);

/* [plain] A read of the kernel's, of so many pages, has taken ns: nobody waited
 * for another. */
void fm_device_took(dev_t dev, uint64_t pages, uint64_t ns);
/* [plain] Have two reads of it been measured? One may have waited for a
 * processor. */
bool fm_device_has_told(dev_t dev);
/* [plain] Has it been measured what a read takes that is alone? */
bool fm_device_is_known(dev_t dev);
/* [plain] Bytes that pass in the time of a read's fixed part, as measured or
 * assumed: who waits for reads of fewer has less than half of what it gives. */
uint64_t fm_device_hidden(dev_t dev);
/* [plain] That time, in ns. */
uint64_t fm_device_late_ns(dev_t dev);

/* [plain] The figures of f's device: nanoseconds, and how many reads (groups of
 * reads) each line has seen. */
struct fm_device_figures {
	uint64_t fixed, page, reads;
	uint64_t among_fixed, among_page, among_reads;
};
void fm_device_figures(const struct fm_file *f, struct fm_device_figures *ret);
