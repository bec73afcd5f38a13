/* SPDX-License-Identifier: MIT */
/*
 * failing_fs.c - a file system that fails on command, by the FUSE protocol.
 *
 *   failing_fs DIR
 *
 * Mounts itself on DIR, says "mounted" and serves until it is unmounted. Four
 * files: `bad`, 1 MiB in memory, byte i is ct_byte(i); `holes`, the same with
 * hardly a block; `mute`, empty, whose attributes the kernel asks for each time
 * and is not told either while it is "silent"; and `control`: what is
 * written to it decides what happens to `bad` from then on: "none", "read"
 * (reads fail, EIO), "write" (writes fail, EIO), "space" (writes fail, ENOSPC),
 * "denied" (writes fail, EPERM), "big" (EFBIG), "direct" (direct ones fail,
 * EINVAL),
 * "commit" (no room for blocks, and the first fsync fails, EIO),
 * "away" (opens and reads fail, EIO), "stale" (all that is asked of it fails,
 * ESTALE), "silent" (reads are not answered until the next command), "die"
 * (nobody serves the file system any more).
 */
#include "../contract/ct.h"

#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/uio.h>

#define SIZE (1ul << 20)
#define MOST (128u << 10) /* one read or write */

enum { ROOT = 1, BAD, CONTROL, HOLES, MUTE };

static char data[SIZE], control[16] = "none";
static char in[MOST + 8192];
static int dev;

static bool fails(const char *how)
{
	return strcmp(control, how) == 0;
}

static bool has_data(uint64_t node)
{
	return node == BAD || node == HOLES;
}

/* The server no longer has it. */
static bool is_stale(uint64_t node)
{
	return node == BAD && fails("stale");
}

static void reply(uint64_t unique, int err, const void *out, size_t len)
{
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + len),
		.error = -err,
		.unique = unique,
	};
	struct iovec v[2] = { { &h, sizeof(h) }, { (void *)out, len } };

	/* ENOENT: the request was interrupted */
	if (writev(dev, v, len ? 2 : 1) < 0 && errno != ENOENT)
		ct_die("reply");
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = {
		.ino = node,
		.size = has_data(node) ? SIZE : 0,
		.blocks = node == BAD ? SIZE / 512 : 0,
		.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0666,
		.nlink = 1,
		.blksize = 4096,
	};

	return a;
}

static void do_lookup(const struct fuse_in_header *h, const char *name)
{
	struct fuse_entry_out e = { .entry_valid = 3600, .attr_valid = 3600 };

	e.nodeid = !strcmp(name, "bad")	      ? BAD
		   : !strcmp(name, "control") ? CONTROL
		   : !strcmp(name, "holes")   ? HOLES
		   : !strcmp(name, "mute")    ? MUTE
					      : 0;
	if (!e.nodeid) {
		reply(h->unique, ENOENT, NULL, 0);
		return;
	}
	if (e.nodeid == MUTE)
		e.attr_valid = 0;
	e.attr = attr_of(e.nodeid);
	reply(h->unique, 0, &e, sizeof(e));
}

static struct fuse_in_header asked[64];
static size_t n_asked;

static void do_attr(const struct fuse_in_header *h)
{
	const bool mute = h->nodeid == MUTE;
	struct fuse_attr_out a = { .attr_valid = mute ? 0 : 3600,
				   .attr = attr_of(h->nodeid) };

	if (is_stale(h->nodeid))
		reply(h->unique, ESTALE, NULL, 0);
	else if (mute && fails("silent") &&
		 n_asked < sizeof(asked) / sizeof(*asked))
		asked[n_asked++] = *h;
	else
		reply(h->unique, 0, &a, sizeof(a));
}

static struct {
	struct fuse_in_header h;
	struct fuse_read_in r;
} held[64];
static size_t n_held;

/* It is not answered now. */
static bool holds(const struct fuse_in_header *h, const struct fuse_read_in *r)
{
	if (!fails("silent") || n_held == sizeof(held) / sizeof(*held))
		return false;
	held[n_held].h = *h;
	held[n_held++].r = *r;
	return true;
}

static void do_read(const struct fuse_in_header *h,
		    const struct fuse_read_in *r)
{
	size_t n = r->size;

	if (has_data(h->nodeid) && holds(h, r))
		return;

	if (!has_data(h->nodeid) || r->offset >= SIZE)
		n = 0;
	else if (n > SIZE - r->offset)
		n = SIZE - r->offset;
	if (n && (fails("read") || fails("away")))
		reply(h->unique, EIO, NULL, 0);
	else if (n && is_stale(h->nodeid))
		reply(h->unique, ESTALE, NULL, 0);
	else
		reply(h->unique, 0, n ? data + r->offset : NULL, n);
}

static void answer_held(void)
{
	for (size_t i = 0; i < n_held; i++)
		do_read(&held[i].h, &held[i].r);
	n_held = 0;
	for (size_t i = 0; i < n_asked; i++)
		do_attr(&asked[i]);
	n_asked = 0;
}

/* errno, or 0 */
static int refuses(const struct fuse_write_in *w)
{
	return fails("write") ? EIO :
	       fails("stale") ? ESTALE :
	       fails("space") ? ENOSPC :
	       fails("denied") ? EPERM :
	       fails("big") ? EFBIG :
	       fails("direct") && (w->flags & O_DIRECT) ? EINVAL : 0;
}

static void do_write(const struct fuse_in_header *h,
		     const struct fuse_write_in *w)
{
	const char *from = (const char *)(w + 1);
	struct fuse_write_out out = { .size = w->size };

	if (h->nodeid == CONTROL) {
		snprintf(control, sizeof(control), "%.*s", (int)w->size, from);
		if (fails("die"))
			exit(0);
		if (!fails("silent"))
			answer_held();
	} else if (refuses(w)) {
		reply(h->unique, refuses(w), NULL, 0);
		return;
	} else if (w->offset + w->size <= SIZE) {
		memcpy(data + w->offset, from, w->size);
	} else {
		reply(h->unique, EFBIG, NULL, 0);
		return;
	}
	reply(h->unique, 0, &out, sizeof(out));
}

static void do_fsync(const struct fuse_in_header *h)
{
	const bool commit = h->nodeid == HOLES && fails("commit");
	const int err = commit ? EIO :
			is_stale(h->nodeid) ? ESTALE : 0;

	if (commit)
		strcpy(control, "committed");
	reply(h->unique, err, NULL, 0);
}

static void do_init(const struct fuse_in_header *h)
{
	struct fuse_init_out o = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = MOST,
		.flags = FUSE_BIG_WRITES | FUSE_ASYNC_READ,
		.max_write = MOST,
		.max_background = 16,
		.congestion_threshold = 12,
	};

	reply(h->unique, 0, &o, sizeof(o));
}

static void do_open(const struct fuse_in_header *h)
{
	/* The kernel's copy of `control` would keep writes from us. */
	struct fuse_open_out o = {
		.fh = h->nodeid,
		.open_flags = h->nodeid == CONTROL ? FOPEN_DIRECT_IO
						   : FOPEN_KEEP_CACHE,
	};

	if (is_stale(h->nodeid))
		reply(h->unique, ESTALE, NULL, 0);
	else if (h->nodeid == BAD && fails("away"))
		reply(h->unique, EIO, NULL, 0);
	else
		reply(h->unique, 0, &o, sizeof(o));
}

static void serve(const struct fuse_in_header *h)
{
	const void *arg = h + 1;
	static const struct fuse_statfs_out st = {
		.st = { .blocks = 1024, .bsize = 4096, .namelen = 255 },
	};

	switch (h->opcode) {
	case FUSE_INIT:
		do_init(h);
		break;
	case FUSE_LOOKUP:
		do_lookup(h, arg);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR: /* nothing of it can be changed */
		do_attr(h);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		do_open(h);
		break;
	case FUSE_READ:
		do_read(h, arg);
		break;
	case FUSE_WRITE:
		do_write(h, arg);
		break;
	case FUSE_FSYNC:
		do_fsync(h);
		break;
	case FUSE_FALLOCATE:
		reply(h->unique, h->nodeid == HOLES ? ENOSPC : ENOSYS, NULL, 0);
		break;
	case FUSE_STATFS:
		reply(h->unique, 0, &st, sizeof(st));
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_READDIR: /* looks empty */
	case FUSE_ACCESS:
		reply(h->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* no answer is expected */
	default:
		reply(h->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	char how[128];

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)ct_byte(i);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		return 77;
	snprintf(how, sizeof(how),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", dev,
		 getuid(), getgid());
	if (mount("failing_fs", argv[1], "fuse", MS_NOSUID | MS_NODEV, how))
		return 77;
	puts("mounted");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(dev, in, sizeof(in));

		if (n < 0 &&
		    (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n < 0)
			return errno == ENODEV ? 0 : 1;
		serve((const struct fuse_in_header *)in);
	}
}
