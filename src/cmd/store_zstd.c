/* SPDX-License-Identifier: MIT */
/*
 * store_zstd.c - files in zstd's seekable format, by its public text
 * (contrib/seekable_format of facebook/zstd): frames one behind the other, each
 * compressed by itself, and a table at the end that has their sizes, and where
 * it says so a checksum of each.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store_frames.h"
#include "store_helper.h"

#define MEMORY (64ull << 20) /* bytes of frames, if nobody says, */
#define PART 16 /* of all memory that there is at most */

#define SKIPPABLE 0x184d2a5eu
#define SEEKABLE 0x8f92eab1u
#define HEAD 8  /* bytes before the entries */
#define FOOT 9  /* and behind them */
#define FRAMES_MOST 0x8000000u
enum { HAS_SUMS = 0x80, RESERVED = 0x7c };

struct frame {
	uint64_t from; /* in the whole */
	uint64_t at;   /* in the file */
	uint32_t size, packed, sum;
};

static struct {
	int fd;
	bool sums;
	size_t n;
	struct frame *frame;
	uint64_t size;
	ZSTD_DCtx *unpacker[STORE_WORKERS];
} zst = { .fd = -1 };

static uint32_t le32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static int pread_all(void *buf, size_t n, uint64_t off)
{
	for (char *p = buf; n;) {
		ssize_t r = pread(zst.fd, p, n, (off_t)off);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? errno : EIO;
		p += r;
		off += (uint64_t)r;
		n -= (size_t)r;
	}
	return 0;
}

/* ---- the table ----------------------------------------------------------- */

/* Of frames that hold something: others may lie between them. 0, or what is
 * wrong. */
static const char *table_entries(const unsigned char *p, size_t n, size_t each,
				 uint64_t end)
{
	uint64_t at = 0;

	for (; n--; p += each) {
		const struct frame f = {
			.from = zst.size, .at = at, .packed = le32(p),
			.size = le32(p + 4), .sum = zst.sums ? le32(p + 8) : 0,
		};

		at += f.packed;
		zst.size += f.size;
		if (f.size)
			zst.frame[zst.n++] = f;
	}
	return at != end ? "its seek table is not of this file" :
	       !zst.n ? "holds nothing" : NULL;
}

static const char *table_read(size_t n, size_t each, uint64_t at)
{
	const size_t size = HEAD + n * each;
	unsigned char *p = malloc(size);
	const char *why = "no memory for its seek table";

	zst.frame = calloc(n ? n : 1, sizeof(*zst.frame));
	if (p && zst.frame)
		why = pread_all(p, size, at) || le32(p) != SKIPPABLE ||
		      le32(p + 4) != size - HEAD + FOOT ?
			      "its seek table is damaged" :
			      table_entries(p + HEAD, n, each, at);
	free(p);
	return why;
}

static const char *table_find(void)
{
	const off_t end = lseek(zst.fd, 0, SEEK_END);
	unsigned char foot[FOOT];
	size_t n, each;

	if (end < HEAD + FOOT ||
	    pread_all(foot, FOOT, (uint64_t)end - FOOT) ||
	    le32(foot + 5) != SEEKABLE)
		return "has no seek table: not zstd's seekable format";
	zst.sums = foot[4] & HAS_SUMS;
	n = le32(foot);
	each = zst.sums ? 12 : 8;
	if ((foot[4] & RESERVED) || n > FRAMES_MOST ||
	    (uint64_t)end < HEAD + FOOT + n * each)
		return "its seek table is damaged";
	return table_read(n, each, (uint64_t)end - HEAD - FOOT - n * each);
}

/* ---- frames -------------------------------------------------------------- */

static bool frame_unpack(unsigned worker, const struct frame *f, char *buf,
			 const char *packed)
{
	ZSTD_DCtx **with = &zst.unpacker[worker];

	if (!*with)
		*with = ZSTD_createDCtx();
	return *with &&
	       ZSTD_decompressDCtx(*with, buf, f->size, packed, f->packed) ==
		       f->size &&
	       (!zst.sums || (uint32_t)XXH64(buf, f->size, 0) == f->sum);
}

static int frame_read(unsigned worker, size_t i, char *buf, size_t n)
{
	const struct frame *f = &zst.frame[i];
	char *packed = malloc(f->packed ? f->packed : 1);
	int err = packed ? pread_all(packed, f->packed, f->at) : ENOMEM;

	(void)n;
	if (!err && !frame_unpack(worker, f, buf, packed))
		err = EIO;
	free(packed);
	return err;
}

/* The frame with this byte, which is one of the whole. */
static size_t frame_with(uint64_t off)
{
	size_t a = 0, b = zst.n;

	while (b - a > 1) {
		size_t mid = a + (b - a) / 2;

		if (zst.frame[mid].from <= off)
			a = mid;
		else
			b = mid;
	}
	return a;
}

static int zstd_read(unsigned worker, void *buf, size_t n, uint64_t off)
{
	char *to = buf;
	int err = 0;

	while (n && !err) {
		const size_t i = frame_with(off);
		const struct frame *f = &zst.frame[i];
		const size_t in = (size_t)(off - f->from);
		const size_t part = n < f->size - in ? n : f->size - in;

		err = frames_read(worker, i, f->size, to, in, part);
		to += part;
		off += part;
		n -= part;
	}
	return err;
}

/* ---- opening ------------------------------------------------------------- */

/* "FILE", "FILE?memory=SIZE" */
static bool parse_where(const char *where, char *path, size_t size,
			uint64_t *ret_memory)
{
	const char *query = strrchr(where, '?');
	const size_t n = query ? (size_t)(query - where) : strlen(where);

	if (!n || n >= size)
		return false;
	memcpy(path, where, n);
	path[n] = 0;
	*ret_memory = store_memory / PART < MEMORY ? store_memory / PART :
						     MEMORY;
	return !query ||
	       (!strncmp(query, "?memory=", 8) &&
		store_bytes(query + 8, strlen(query + 8), ret_memory));
}

static int zstd_open(const char *where, char *why, size_t size)
{
	char path[4096];
	const char *wrong;
	uint64_t memory;

	if (!parse_where(where, path, sizeof(path), &memory)) {
		snprintf(why, size, "not zstd:FILE or zstd:FILE?memory=SIZE");
		return EINVAL;
	}
	frames_begin(memory, frame_read);
	mallopt(M_MMAP_THRESHOLD, 1 << 17); /* what is freed is the kernel's */
	mallopt(M_ARENA_MAX, 2);
	zst.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (zst.fd < 0) {
		snprintf(why, size, "cannot open %s", path);
		return errno;
	}
	wrong = table_find();
	if (wrong)
		snprintf(why, size, "%s", wrong);
	return wrong ? EINVAL : 0;
}

static int64_t zstd_size(void)
{
	return (int64_t)zst.size;
}

static unsigned zstd_workers(unsigned want)
{
	return want < STORE_WORKERS ? want : STORE_WORKERS;
}

const struct store_kind store_zstd = {
	.prefix = "zstd:",
	.open = zstd_open,
	.get_size = zstd_size,
	.read = zstd_read,
	.workers = zstd_workers,
};
