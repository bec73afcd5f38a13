/* SPDX-License-Identifier: MIT */
/* work.c - what the threads of the load generator do. */
#include "members.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Relaxed atomics: threads may touch the same word, and the compiler must not
 * drop or merge an access. They cost what plain moves cost. */
static uint64_t load_word(const char *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}

static void store_word(char *p, uint64_t v)
{
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
}

static void check_word(struct worker *w, uint64_t word, uint64_t off)
{
	const struct load *l = w->load;

	w->sum += word;
	if (!l->verify || word_good(word, off, l->gen))
		return;
	if (!w->wrong++)
		fprintf(stderr, "mapload: wrong word at offset %lu: %lx, "
			"expected %lx\n", off, word, word_at(off));
}

static void touch_word(struct worker *w, char *addr, uint64_t off, enum op op)
{
	if (op != OP_WRITE)
		check_word(w, load_word(addr), off);
	if (op != OP_READ)
		store_word(addr, word_at(off) ^ w->load->gen);
}

static void note(struct load *l, uint64_t page, enum op op)
{
	uint64_t i;

	if (l->written && op != OP_READ)
		atomic_fetch_or_explicit(&l->written[page / 64],
					 1ull << (page % 64),
					 memory_order_relaxed);
	if (!l->trace)
		return;
	i = atomic_fetch_add_explicit(&l->trace_n, 1, memory_order_relaxed);
	if (i < l->trace_max)
		l->trace[i] = page | (uint64_t)(op != OP_READ) << 48;
}

void touch(struct worker *w, char *addr, uint64_t page, enum op op)
{
	struct load *l = w->load;
	uint64_t filepage = l->offset / PAGE + page;
	uint64_t off = filepage * PAGE, word = touched_word(filepage) * 8;

	note(l, filepage, op);
	if (!l->touch_all) {
		touch_word(w, addr + word, off + word, op);
		return;
	}
	for (unsigned i = 0; i < PAGE; i += 8)
		touch_word(w, addr + i, off + i, op);
}

static bool more(const struct worker *w)
{
	const struct load *l = w->load;

	if (l->ops)
		return w->accesses < l->ops;
	return !atomic_load_explicit(&l->shared->stop, memory_order_relaxed);
}

/* Each `sample`-th access is timed; 0 times none. */
static bool timed(const struct worker *w)
{
	return w->load->sample && w->accesses % w->load->sample == 0;
}

void run_pattern(struct worker *w)
{
	struct load *l = w->load;
	uint64_t t0, dt, page;

	while (more(w)) {
		page = w->pat.next(&w->pat);
		if (timed(w)) {
			t0 = now_ns();
			touch(w, l->base + page * PAGE, page, l->op);
			dt = now_ns() - t0;
			hist_add(&w->hist, dt);
			w->hot += w->pat.hot;
			w->hot_hits += w->pat.hot && dt < HOT_NS;
		} else {
			touch(w, l->base + page * PAGE, page, l->op);
		}
		done(w, 1);
	}
}

static char *map_window(struct load *l, uint64_t page, uint64_t bytes)
{
	char *p = mmap(NULL, bytes, l->prot, MAP_SHARED, l->fd,
		       (off_t)(l->offset + page * PAGE));

	if (p == MAP_FAILED) {
		perror("mapload: mmap of a window");
		exit(1);
	}
	return p;
}

/* One request: map a window somewhere, touch pages in it, unmap. With `live`,
 * that many windows stay mapped and the oldest goes. */
void run_fresh(struct worker *w)
{
	struct load *l = w->load;
	uint64_t pages = l->window / PAGE, n = l->conf.pages / pages, t0, at;
	char **ring = calloc(l->live + 1, sizeof(*ring)), **slot;

	for (; more(w); done(w, 1)) {
		slot = &ring[w->accesses % (l->live + 1)];
		at = rng_next(&w->pat.rng) % n * pages;
		t0 = now_ns();
		if (*slot)
			munmap(*slot, l->window);
		*slot = map_window(l, at, l->window);
		for (uint64_t k = 0; k < l->accesses; k++) {
			uint64_t p = rng_next(&w->pat.rng) % pages;

			touch(w, *slot + p * PAGE, at + p, l->op);
		}
		if (!l->live) {
			munmap(*slot, l->window);
			*slot = NULL;
		}
		if (timed(w))
			hist_add(&w->hist, now_ns() - t0);
	}
	for (uint64_t i = 0; i <= l->live; i++)
		if (ring[i])
			munmap(ring[i], l->window);
	free(ring);
}

void run_pair(struct worker *w)
{
	struct load *l = w->load;
	uint64_t t0, at;

	for (; more(w); done(w, 1)) {
		at = rng_next(&w->pat.rng) % l->conf.pages;
		t0 = now_ns();
		munmap(map_window(l, at, PAGE), PAGE);
		if (timed(w))
			hist_add(&w->hist, now_ns() - t0);
	}
}

/* lseek on /dev/null and an anonymous map, while a mapping of the file is
 * alive: what a hook costs on a path that is not the engine's. */
void run_foreign(struct worker *w)
{
	char byte;
	uint64_t t0;
	FILE *null = fopen("/dev/null", "re");

	if (!null) {
		perror("mapload: /dev/null");
		exit(1);
	}
	for (; more(w); done(w, 1)) {
		t0 = now_ns();
		w->sum += (uint64_t)pread(fileno(null), &byte, 1, 0);
		if (timed(w))
			hist_add(&w->hist, now_ns() - t0);
	}
	fclose(null);
}

static double pass(struct load *l, struct worker *w)
{
	uint64_t t0 = now_ns();

	for (uint64_t p = 0; p < l->conf.pages; p++) {
		touch(w, l->base + p * PAGE, p, l->op);
		done(w, 1);
	}
	return (double)(now_ns() - t0) / 1e9;
}

static double random_touches(struct load *l, struct worker *w, uint64_t n)
{
	uint64_t t0 = now_ns();

	for (uint64_t i = 0; i < n; i++) {
		uint64_t page = w->pat.next(&w->pat);

		touch(w, l->base + page * PAGE, page, l->op);
		done(w, 1);
	}
	return (double)(now_ns() - t0) / 1e9;
}

/* Random touches go on for `settle` seconds, and then once more. */
static void fits_later(struct load *l, struct worker *w, uint64_t from)
{
	uint64_t end = from + (uint64_t)(l->settle * 1e9);

	while (now_ns() < end)
		random_touches(l, w, 100000);
	w->passes.later = random_touches(l, w, w->passes.touches);
	w->passes.later_pass = pass(l, w);
}

/* First pass, second pass, random touches; no access is timed alone. */
void run_fits(struct worker *w)
{
	struct load *l = w->load;
	uint64_t n = l->ops ? l->ops : 20000000, from;

	w->passes.touches = n;
	w->passes.first = pass(l, w);
	w->passes.second = pass(l, w);
	for (uint64_t i = 0; i < l->conf.pages; i++) /* settle */
		(void)w->pat.next(&w->pat);
	from = now_ns();
	w->passes.random = random_touches(l, w, n);
	if (l->settle > 0)
		fits_later(l, w, from);
}
