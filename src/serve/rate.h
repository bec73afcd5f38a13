/* SPDX-License-Identifier: MIT */
/*
 * rate.h - how a program gets on with the server that it has: what its threads
 * lose by waiting for pages, and how far it gets.
 *
 * Lost are, in thousandths of a thread: with the engine what threads spend in
 * faults; with the kernel, of which nothing tells an unprivileged process how
 * long its threads wait, its major faults, each as long as one of the engine
 * took or as the device takes, and the pages that they bring. A fault that has
 * not ended is not counted yet: where threads are looked at, no less is lost
 * than by those that wait at that moment.
 *
 * A thread that always waits loses all of its time with either server. Then it
 * counts how far the program gets: the accesses that had to wait, divided by
 * the part of what is mapped that is not in memory, which is about how many of
 * all accesses have to. What comes along with each is not the same with both
 * (miss.h): where that was counted, the pages that were asked for take the
 * place of waits. Of the kernel these follow from its major faults, and from
 * the bytes that it read; what it reads ahead in time nobody waits for, and
 * the bytes of some devices it does not count, so the larger is it. Where
 * nothing was counted, and the program reads in order, it waits for pieces:
 * there the bytes that came count instead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of a second, or of the time between two looks. */
struct fm_rate {
	uint32_t kernel, engine; /* lost, in thousandths of a thread */
	uint32_t waits;          /* major faults and loads a second */
	uint32_t kib;            /* read a second */
	uint32_t missing;        /* as below */
	uint32_t used;           /* pages a second; 0: not known */
	uint32_t cpu;            /* used, thousandths of all there are */
	uint64_t fault_ns;       /* one of the engine's took */
};

/* Growing totals of the process, but for the last six. */
struct fm_totals {
	uint64_t ms;         /* the time */
	uint64_t cpu_ms;     /* of each CPU, by all threads together */
	uint64_t major;      /* faults of the kernel that waited */
	uint64_t read_bytes; /* from devices */
	uint64_t spent_ns;   /* in faults of the engine, by all threads */
	uint64_t faults;     /* these */
	uint64_t loads;      /* reads that the engine has made */
	uint64_t load_bytes; /* by these */
	uint64_t used;       /* pages that were asked of it, about */
	uint32_t missing;    /* of what is mapped, thousandths; 0: unknown */
	/* with the kernel, of FM_MISS_ALL: waits a page, pages used of those
	 * read (miss.h); 0: unknown */
	uint32_t left, worth;
	uint64_t read_ns;    /* what a wait takes with the kernel; 0: unknown */
	uint64_t page_ns;    /* and each page that it brings */
	unsigned waiting;    /* threads that wait for a device just now */
};

/* [plain] */
struct fm_rate fm_rate_between(const struct fm_totals *a,
			       const struct fm_totals *b);
/* [plain] Accesses a second; 0: unknown. */
uint64_t fm_rate_reached(const struct fm_rate *r);
/* [plain] With the engine: are pieces read, not pages here and there? The
 * kernel reads pieces for single touches, too. */
bool fm_rate_in_order(const struct fm_rate *engine);
/* [plain] With the engine, on so many CPUs: thousandths of them that are used
 * where threads that wait for pages want them. */
uint32_t fm_rate_cpu_wanted(const struct fm_rate *engine, unsigned cpus);
/* [plain] Of one program with each of the two servers: the second is so much
 * better that a change is worth it. */
bool fm_rate_kernel_better(const struct fm_rate *engine,
			   const struct fm_rate *kernel);
/* [plain] */
bool fm_rate_engine_better(const struct fm_rate *kernel,
			   const struct fm_rate *engine);
/* [plain] The kernel has lost what it was better by. */
bool fm_rate_kernel_worse(const struct fm_rate *engine,
			  const struct fm_rate *kernel);

/* [plain] Of this process up to now: the time, and what the kernel counts. */
void fm_totals_of_kernel(struct fm_totals *ret);
/* [plain] Threads of the program that wait for a device at this moment; by one
 * thread. */
unsigned fm_threads_waiting(void);
