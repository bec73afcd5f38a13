/* SPDX-License-Identifier: MIT */
#include "store_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store_helper.h"

#define KEPT_MAGIC "fastmap-kept 1\n"
#define KEPT_HEAD 4096u
#define BLOCK 32768u /* bytes; a fetch has whole ones */
#define WAYS 8u	     /* places where a block may be, if not all have one */
#define RUN_MOST 2097152u /* bytes of a fetch */

struct kept_head {
	char magic[16];
	uint64_t identity, size, slots;
};

struct kept_entry {
	uint64_t block; /* and 1; 0: none */
	uint64_t sum;
};

static struct {
	int fd;
	uint64_t identity, size, slots, blocks;
	uint64_t data; /* where the first block lies */
	kept_fetch_fn *fetch;
	char *run[STORE_WORKERS]; /* RUN_MOST + 2 BLOCK */
	char *block[STORE_WORKERS];
} kept = { .fd = -1 };

static bool kept_pread(void *buf, size_t n, uint64_t off)
{
	return pread(kept.fd, buf, n, (off_t)off) == (ssize_t)n;
}

static bool kept_pwrite(const void *buf, size_t n, uint64_t off)
{
	return pwrite(kept.fd, buf, n, (off_t)off) == (ssize_t)n;
}

/* ---- one block ----------------------------------------------------------- */

static size_t block_length(uint64_t block)
{
	const uint64_t left = kept.size - block * BLOCK;

	return left < BLOCK ? (size_t)left : BLOCK;
}

static uint64_t block_sum(uint64_t block, const char *data)
{
	return XXH64(data, block_length(block),
		     XXH64(&block, sizeof(block), kept.identity));
}

/* The places of a block: one, or WAYS that follow each other. */
static uint64_t block_places(uint64_t block, unsigned *ret_n)
{
	const bool all = kept.slots >= kept.blocks;

	*ret_n = all ? 1 : WAYS;
	return all ? block :
		     XXH64(&block, sizeof(block), 0) % (kept.slots / WAYS) *
			     WAYS;
}

static bool entries_read(uint64_t first, unsigned n, struct kept_entry *e)
{
	return kept_pread(e, n * sizeof(*e), KEPT_HEAD + first * sizeof(*e));
}

static bool entry_write(uint64_t slot, const struct kept_entry *e)
{
	return kept_pwrite(e, sizeof(*e), KEPT_HEAD + slot * sizeof(*e));
}

static bool slot_read(uint64_t slot, uint64_t block, uint64_t sum, char *data)
{
	const struct kept_entry none = { 0, 0 };

	if (kept_pread(data, block_length(block), kept.data + slot * BLOCK) &&
	    block_sum(block, data) == sum)
		return true;
	entry_write(slot, &none);
	return false;
}

/* What is said of the places that a block may have. */
struct kept_places {
	struct kept_entry e[WAYS];
	uint64_t first;
	unsigned n;
};

static bool block_look(uint64_t block, struct kept_places *ret)
{
	ret->first = block_places(block, &ret->n);
	return entries_read(ret->first, ret->n, ret->e);
}

static bool block_read(uint64_t block, char *data)
{
	struct kept_places p;

	if (!block_look(block, &p))
		return false;
	for (unsigned i = 0; i < p.n; i++)
		if (p.e[i].block == block + 1)
			return slot_read(p.first + i, block, p.e[i].sum, data);
	return false;
}

/* A free one, else any: which is the oldest nobody has to know. */
static uint64_t block_slot(uint64_t block, uint64_t sum)
{
	struct kept_places p;

	if (!block_look(block, &p))
		return p.first;
	for (unsigned i = 0; i < p.n; i++)
		if (!p.e[i].block || p.e[i].block == block + 1)
			return p.first + i;
	return p.first + (sum >> 32) % p.n;
}

/* Where there is no room it is not kept. */
static void block_write(uint64_t block, const char *data)
{
	const struct kept_entry none = { 0, 0 };
	const struct kept_entry e = { block + 1, block_sum(block, data) };
	const uint64_t slot = block_slot(block, e.sum);

	if (!kept_pwrite(data, block_length(block),
			 kept.data + slot * BLOCK) ||
	    !entry_write(slot, &e))
		entry_write(slot, &none);
}

/* ---- reads --------------------------------------------------------------- */

/* What [off, off + n) and a block, or a run from `from` on, have in common. */
static void copy_common(char *buf, uint64_t off, size_t n, const char *data,
			uint64_t from, size_t length)
{
	const uint64_t a = off > from ? off : from;
	const uint64_t end = off + n, run_end = from + length;
	const uint64_t b = end < run_end ? end : run_end;

	if (a < b)
		memcpy(buf + (a - off), data + (a - from), b - a);
}

/* Blocks [first, last): they are fetched at once, and kept. */
static int run_fetch(unsigned w, char *buf, size_t n, uint64_t off,
		     uint64_t first, uint64_t last)
{
	const uint64_t from = first * BLOCK;
	const size_t length = (size_t)(last - 1 - first) * BLOCK +
			      block_length(last - 1);
	const int err = kept.fetch(w, kept.run[w], length, from);

	if (err)
		return err;
	for (uint64_t b = first; b < last; b++)
		block_write(b, kept.run[w] + (b - first) * BLOCK);
	copy_common(buf, off, n, kept.run[w], from, length);
	return 0;
}

static bool room_for(unsigned w)
{
	if (!kept.run[w])
		kept.run[w] = malloc(RUN_MOST + 2 * BLOCK);
	if (!kept.block[w])
		kept.block[w] = malloc(BLOCK);
	return kept.run[w] && kept.block[w];
}

int kept_read(unsigned w, void *buf, size_t n, uint64_t off)
{
	const uint64_t end = (off + n + BLOCK - 1) / BLOCK;
	uint64_t missing = off / BLOCK;
	int err = 0;

	if (!room_for(w) || n > RUN_MOST)
		return kept.fetch(w, buf, n, off);
	for (uint64_t b = off / BLOCK; b < end && !err; b++) {
		if (!block_read(b, kept.block[w]))
			continue;
		copy_common(buf, off, n, kept.block[w], b * BLOCK,
			    block_length(b));
		if (missing < b)
			err = run_fetch(w, buf, n, off, missing, b);
		missing = b + 1;
	}
	if (!err && missing < end)
		err = run_fetch(w, buf, n, off, missing, end);
	return err;
}

/* ---- the file ------------------------------------------------------------ */

static bool kept_says(const char *path, const char *what)
{
	fprintf(stderr, "fastmap: cache %s: %s: read without it\n", path, what);
	if (kept.fd >= 0)
		close(kept.fd);
	kept.fd = -1;
	return false;
}

static void kept_layout(uint64_t most)
{
	kept.blocks = (kept.size + BLOCK - 1) / BLOCK;
	kept.slots = most / BLOCK / WAYS * WAYS;
	if (!most || kept.slots >= kept.blocks)
		kept.slots = kept.blocks;
	kept.data = KEPT_HEAD + kept.slots * sizeof(struct kept_entry);
	kept.data = (kept.data + BLOCK - 1) / BLOCK * BLOCK;
}

/* What another source left goes. Who still reads that one finds no match, and
 * writes more: the magic has to be there at any time. */
static bool head_renew(const struct kept_head *want)
{
	struct kept_head now = { 0 };

	if (kept_pread(&now, sizeof(now), 0) &&
	    !memcmp(&now, want, sizeof(now)))
		return true;
	return (lseek(kept.fd, 0, SEEK_END) <= (off_t)KEPT_HEAD ||
		!ftruncate(kept.fd, KEPT_HEAD)) &&
	       kept_pwrite(want, sizeof(*want), 0);
}

/* A file that has something else is nobody's to overwrite. */
static bool head_ours(void)
{
	char magic[sizeof(KEPT_MAGIC)] = { 0 };
	struct stat st;

	if (fstat(kept.fd, &st) || !S_ISREG(st.st_mode))
		return false;
	return !st.st_size || (kept_pread(magic, sizeof(KEPT_MAGIC) - 1, 0) &&
			       !strcmp(magic, KEPT_MAGIC));
}

bool kept_open(const char *path, uint64_t identity, uint64_t size,
	       uint64_t most, kept_fetch_fn *fetch)
{
	struct kept_head want = { .magic = KEPT_MAGIC };
	bool good;

	kept.identity = want.identity = identity;
	kept.size = want.size = size;
	kept.fetch = fetch;
	kept_layout(most);
	want.slots = kept.slots;
	if (most && most < WAYS * BLOCK)
		return kept_says(path, "is too small for anything");
	kept.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (kept.fd < 0)
		return kept_says(path, strerror(errno));
	flock(kept.fd, LOCK_EX);
	good = head_ours();
	if (!good || !head_renew(&want))
		return kept_says(path, good ? strerror(errno) :
					      "holds something else");
	flock(kept.fd, LOCK_UN);
	return true;
}
