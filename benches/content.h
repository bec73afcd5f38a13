/* SPDX-License-Identifier: MIT */
/*
 * content.h - what a bench file holds: every 8-byte word is a function of its
 * offset and of a small generation number, so that any wrong, shifted or
 * stale byte is seen by the program that reads it.
 *
 *   word(off) = hash(off) ^ generation
 *
 * A run that stores uses a generation of its own; a reader accepts every
 * generation up to the one it was told.
 */
#ifndef BENCH_CONTENT_H
#define BENCH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096u
#define PAGE_WORDS (PAGE / 8)

static inline uint64_t mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

/* One multiplication only: a page is filled or checked in 0.3 us. The low
 * bits must be good too, because the generation is read from them. */
static inline uint64_t word_at(uint64_t off)
{
	uint64_t h = (off + 0x632be59bd9b4e019u) * 0x9e3779b97f4a7c15u;

	return h ^ (h >> 29);
}

static inline bool word_good(uint64_t word, uint64_t off, uint64_t max_gen)
{
	return (word ^ word_at(off)) <= max_gen;
}

static inline void fill_words(void *buf, size_t len, uint64_t off, uint64_t gen)
{
	uint64_t *p = buf;

	for (size_t i = 0; i < len / 8; i++)
		p[i] = word_at(off + i * 8) ^ gen;
}

/* The word of a page that a one-word access touches: fixed per page, so that
 * a later check knows where to look. */
static inline unsigned touched_word(uint64_t page)
{
	return (unsigned)(mix64(page) % PAGE_WORDS);
}

#endif
