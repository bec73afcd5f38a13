/* SPDX-License-Identifier: MIT */
/* Any bytes as a file in zstd's seekable format: it is refused, or each part of
 * it is read or an error, and no more than was asked for. */
#include <sys/mman.h>

#include "../../src/cmd/store_frames.c"
#include "../../src/cmd/store_zstd.c"
#include "fuzz.h"

uint64_t store_memory = 64 << 20;

#define ROOM 700
#define FRAME_MOST (1 << 22) /* a sanitizer gives no more at once */

static void read_at(uint64_t off)
{
	const uint64_t left = zst.size - off;
	const size_t n = left < ROOM ? (size_t)left : ROOM;
	char buf[ROOM + 16];

	memset(buf, 0x77, sizeof(buf));
	zstd_read(off % 2, buf, n, off);
	for (size_t i = n; i < sizeof(buf); i++)
		if (buf[i] != 0x77)
			abort();
}

static void read_some(void)
{
	for (size_t i = 0; i < zst.n; i++)
		if (zst.frame[i].size > FRAME_MOST)
			return;
	for (size_t i = 0; i < zst.n && i < 64; i++) {
		const struct frame *f = &zst.frame[i];

		read_at(f->from);
		read_at(f->from + f->size / 2);
		read_at(f->from + f->size - 1);
	}
}

static void forget(void)
{
	for (size_t i = 0; i < HELD; i++)
		if (held[i].data)
			held_drop(&held[i]);
	if (bytes)
		abort();
	free(zst.frame);
	for (int i = 0; i < STORE_WORKERS; i++)
		ZSTD_freeDCtx(zst.unpacker[i]);
	close(zst.fd);
	memset(&zst, 0, sizeof(zst));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	char path[64], why[160];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d?memory=%dM", fd,
		 size % 2 ? 1 : 64);
	if (!zstd_open(path, why, sizeof(why)))
		read_some();
	forget();
	close(fd);
	return 0;
}
