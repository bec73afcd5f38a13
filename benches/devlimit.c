/* SPDX-License-Identifier: MIT */
/*
 * devlimit.c - what the device itself can do: O_DIRECT through one io_uring
 * at a fixed depth. The upper bound for every figure of mapload.
 *
 *   devlimit FILE rand|seq|randwrite|seqwrite|randstore|randsync DEPTH BLOCK
 *            SECONDS [poll] [mem=BYTES] [GEN]
 *
 * randstore is what a store to a random page of a file larger than memory asks
 * of the device: one read and one write. DEPTH of each are in flight. randsync
 * is the same with a cache that writes at the end: blocks are read, DEPTH at a
 * time, and then written, SYNC_DEPTH at a time and in the file's order; its
 * rate counts the time of both.
 *
 * mem: so much memory is filled in turn, as a cache would. Without it each read
 * lands where the one before has, which is in the processor's cache by then.
 *
 * "poll" spins on the completion ring instead of sleeping. Writes keep the
 * file's content valid (content.h), with generation GEN.
 */
#include "content.h"
#include "help.h"
#include "hist.h"
#include "measure.h"

#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define SYNC_DEPTH 128

struct slot {
	char *buf;
	bool write;
	uint64_t off, started;
};

struct dev {
	int fd;
	bool write, random, poll;
	unsigned ways; /* 2: a store is a read and a write */
	unsigned depth, nslots;
	bool sync;     /* write what has been read, at the end */
	uint64_t *read; /* which, if so */
	size_t nread, read_max, nwritten;
	uint64_t end;  /* of reading, ns */
	char *mem;     /* or NULL: a slot keeps its buffer */
	uint64_t mem_blocks, mem_next;
	uint64_t block, blocks, cursor, rng, gen, done, wrong, inflight;
	struct io_uring ring;
	struct slot *slots;
	struct hist hist;
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "devlimit: %s: %s\n", what, strerror(err));
	exit(1);
}

static uint64_t next_offset(struct dev *d)
{
	uint64_t b = d->cursor++ % d->blocks;

	if (d->random)
		b = mix64(d->rng += 0x9e3779b97f4a7c15u) % d->blocks;
	return b * d->block;
}

static void note_read(struct dev *d, uint64_t off)
{
	if (d->nread == d->read_max) {
		d->read_max = d->read_max ? 2 * d->read_max : 1 << 16;
		d->read = realloc(d->read, d->read_max * sizeof(*d->read));
		if (!d->read)
			fail("memory", 12);
	}
	d->read[d->nread++] = off;
}

static void submit_at(struct dev *d, struct slot *s, uint64_t off)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&d->ring);

	s->off = off;
	if (d->mem)
		s->buf = d->mem + d->mem_next++ % d->mem_blocks * d->block;
	if (s->write) {
		fill_words(s->buf, d->block, s->off, d->gen);
		io_uring_prep_write(sqe, d->fd, s->buf, (unsigned)d->block,
				    s->off);
	} else {
		io_uring_prep_read(sqe, d->fd, s->buf, (unsigned)d->block,
				   s->off);
	}
	io_uring_sqe_set_data(sqe, s);
	s->started = now_ns();
	d->inflight++;
}

static void submit(struct dev *d, struct slot *s)
{
	uint64_t off = next_offset(d);

	if (d->sync)
		note_read(d, off);
	submit_at(d, s, off);
}

static void complete(struct dev *d, struct io_uring_cqe *cqe)
{
	struct slot *s = io_uring_cqe_get_data(cqe);
	uint64_t word = *(uint64_t *)s->buf;

	if (cqe->res != (int)d->block)
		fail("transfer", cqe->res < 0 ? -cqe->res : 5);
	hist_add(&d->hist, now_ns() - s->started);
	d->wrong += !s->write && !word_good(word, s->off, d->gen);
	d->done++;
	d->inflight--;
	io_uring_cqe_seen(&d->ring, cqe);
}

static void reap(struct dev *d)
{
	struct io_uring_cqe *cqe;
	int r;

	if (d->poll) {
		io_uring_submit(&d->ring);
		while (io_uring_peek_cqe(&d->ring, &cqe))
			;
	} else {
		io_uring_submit_and_wait(&d->ring, 1);
		r = io_uring_wait_cqe(&d->ring, &cqe);
		if (r)
			fail("wait", -r);
	}
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Until nothing is in flight: `again` may submit what is done once more. */
static void drain(struct dev *d, void (*again)(struct dev *, struct slot *))
{
	struct io_uring_cqe *cqe;

	while (d->inflight) {
		reap(d);
		while (!io_uring_peek_cqe(&d->ring, &cqe)) {
			struct slot *s = io_uring_cqe_get_data(cqe);

			complete(d, cqe);
			again(d, s);
		}
	}
}

static void until_the_end(struct dev *d, struct slot *s)
{
	if (now_ns() < d->end)
		submit(d, s);
}

static void next_write(struct dev *d, struct slot *s)
{
	s->write = true;
	if (d->nwritten < d->nread)
		submit_at(d, s, d->read[d->nwritten++]);
}

/* All that was read, once more. */
static void write_back(struct dev *d)
{
	qsort(d->read, d->nread, sizeof(*d->read), ascending);
	for (unsigned i = 0; i < d->nslots; i++)
		next_write(d, &d->slots[i]);
	drain(d, next_write);
	d->done /= 2;
}

static double run(struct dev *d, double seconds)
{
	uint64_t t0 = now_ns();

	d->end = t0 + (uint64_t)(seconds * 1e9);
	for (unsigned i = 0; i < d->depth * d->ways; i++)
		submit(d, &d->slots[i]);
	drain(d, until_the_end);
	if (d->sync)
		write_back(d);
	if (d->write && fdatasync(d->fd))
		fail("fdatasync", 5);
	return (double)(now_ns() - t0) / 1e9;
}

/* Large ones in huge pages, which need fewer requests: one takes a limited
 * number of pieces. */
static void *buffer(size_t len)
{
	void *p = aligned_alloc(len < HUGE ? PAGE : HUGE, len);

	if (p && len >= HUGE)
		madvise(p, len, MADV_HUGEPAGE);
	return p ? memset(p, 0, len) : p;
}

static void open_dev(struct dev *d, const char *path)
{
	struct stat st;

	d->fd = open(path,
		     (d->write ? O_RDWR : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	if (d->fd < 0 || fstat(d->fd, &st))
		fail(path, 22);
	d->blocks = (uint64_t)st.st_size / d->block;
	d->slots = calloc(d->nslots, sizeof(*d->slots));
	for (unsigned i = 0; i < d->nslots; i++) {
		d->slots[i].buf = buffer(d->block);
		d->slots[i].write = d->write && !d->sync &&
				    (d->ways == 1 || i % 2);
	}
	if (!d->blocks || io_uring_queue_init(d->nslots, &d->ring, 0))
		fail("setup", 22);
}

int main(int argc, char **argv)
{
	static struct dev d;
	struct usage before, after, used;
	double seconds, elapsed;
	uint64_t mem = 0;
	struct stat st;

	help(argc, argv, 6,
	     "usage: devlimit FILE rand|seq|randwrite|seqwrite|randstore|"
	     "randsync DEPTH BLOCK SECONDS [poll] [mem=BYTES] [GEN]\n");
	d.ways = strstr(argv[2], "store") ? 2 : 1;
	d.sync = strstr(argv[2], "sync");
	d.write = d.ways == 2 || d.sync || strstr(argv[2], "write");
	d.random = !strncmp(argv[2], "rand", 4);
	d.depth = (unsigned)atoi(argv[3]);
	d.nslots = d.sync ? SYNC_DEPTH : d.depth * d.ways;
	d.block = parse_size(argv[4]);
	seconds = atof(argv[5]);
	for (int i = 6; i < argc; i++) {
		if (!strcmp(argv[i], "poll"))
			d.poll = true;
		else if (!strncmp(argv[i], "mem=", 4))
			mem = parse_size(argv[i] + 4);
		else
			d.gen = parse_size(argv[i]);
	}
	if (!d.depth || d.depth > 1024 || d.block < 8 || d.block % 512)
		fail("depth or block", 22);
	d.rng = now_ns();
	open_dev(&d, argv[1]);
	d.mem_blocks = mem / d.block;
	if (mem && d.mem_blocks <= d.nslots)
		fail("mem", 22);
	if (mem)
		d.mem = buffer(mem);
	fstat(d.fd, &st);
	usage_get(&before, st.st_dev);
	elapsed = run(&d, seconds);
	d.done /= d.ways;
	usage_get(&after, st.st_dev);
	printf("{\"what\":\"%s\",\"depth\":%u,\"block\":%lu,\"mem\":%lu,\"poll\":%s,"
	       "\"elapsed_s\":%.6f,\"ops\":%lu,\"rate\":%.2f,\"bytes_per_s\":%.0f,"
	       "\"wrong\":%lu",
	       argv[2], d.depth, d.block, mem, d.poll ? "true" : "false",
	       elapsed, d.done, (double)d.done / elapsed,
	       (double)(d.done * d.block) / elapsed, d.wrong);
	printf(",\"lat_ns\":{\"p50\":%lu,\"p99\":%lu,\"p999\":%lu,\"max\":%lu}",
	       hist_quantile(&d.hist, 500), hist_quantile(&d.hist, 990),
	       hist_quantile(&d.hist, 999), d.hist.max);
	used = usage_between(&before, &after);
	usage_print(&used);
	puts("}");
	return d.wrong != 0;
}
