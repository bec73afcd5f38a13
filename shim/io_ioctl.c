/* SPDX-License-Identifier: MIT */
/*
 * io_ioctl.c - ioctl with its argument in managed memory.
 *
 * A file system fills the argument under locks that a load, a store to a hole
 * or write-back of the same file needs: nobody can bring a page in meanwhile,
 * whether the kernel asks for it (thread delivery: neither would ever go on) or
 * says EFAULT. So it is given ordinary memory, and what it wrote is copied
 * after it. That takes knowing how much this is:
 *  - requests whose argument has one size, here in a table: numbers without a
 *    size in them, and those of file systems where it is known to be right;
 *  - those that say in the argument how many records follow: FIEMAP and its
 *    kind;
 *  - any other of a file or directory, and of a device or socket whose number
 *    says nothing: the kernel gets the mapping, for good;
 *  - of a device or socket whose number has a size: pinned, since drivers may
 *    keep the address.
 * What it points to: io_pointed.c.
 */
#include "guard.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "io_copy.h"

FM_NEXT(ioctl)

int fm_pass_ioctl(const struct fm_ioctl *c, void *arg)
{
	return FM_PASS_VIA(c->raw, ioctl, SYS_ioctl, c->fd, c->req, arg);
}

static const enum fm_server_reason why = FM_WHY_IOCTL;

/* ---- one size ---------------------------------------------------------- */

#define KERNEL_TERMIOS 36 /* not libc's */
#define IN_NUMBER 0       /* the size is in it, and right */
#define IFREQ sizeof(struct ifreq)

/* What the kernel only reads may lie in read-only memory, and is left alone. */
enum { READS, FILLS };

static const struct fixed {
	uint32_t req;
	uint8_t size, fills;
} fixed[] = {
	/* They say long, and mean int. */
	{ FS_IOC_GETFLAGS, 4, FILLS }, { FS_IOC_SETFLAGS, 4, READS },
	{ FS_IOC_GETVERSION, 4, FILLS }, { FS_IOC_SETVERSION, 4, READS },
	{ FS_IOC_FSGETXATTR, IN_NUMBER, FILLS },
	{ FS_IOC_FSSETXATTR, IN_NUMBER, READS },
	{ FS_IOC_GETFSLABEL, IN_NUMBER, FILLS },
	{ FS_IOC_SETFSLABEL, IN_NUMBER, READS },
	{ FITRIM, IN_NUMBER, FILLS },
	{ _IOR(0x15, 0, char[17]), IN_NUMBER, FILLS },  /* FS_IOC_GETFSUUID */
	{ _IOR(0x15, 1, char[129]), IN_NUMBER, FILLS }, /* ...GETFSSYSFSPATH */
	{ FIGETBSZ, 4, FILLS }, { FIBMAP, 4, FILLS }, { FIONREAD, 4, FILLS },
	{ FIONBIO, 4, READS }, { FIOASYNC, 4, READS }, { FIOQSIZE, 8, FILLS },
	{ FIOSETOWN, 4, READS }, { FIOGETOWN, 4, FILLS },
	{ SIOCSPGRP, 4, READS }, { SIOCGPGRP, 4, FILLS },
	{ SIOCATMARK, 4, FILLS }, { TIOCOUTQ, 4, FILLS },
	{ TIOCGPGRP, 4, FILLS }, { TIOCSPGRP, 4, READS },
	{ TIOCGSID, 4, FILLS }, { TIOCGWINSZ, 8, FILLS },
	{ TIOCSWINSZ, 8, READS }, { TCGETS, KERNEL_TERMIOS, FILLS },
	{ TCSETS, KERNEL_TERMIOS, READS }, { TCSETSW, KERNEL_TERMIOS, READS },
	{ TCSETSF, KERNEL_TERMIOS, READS }, { SIOCGIFINDEX, IFREQ, FILLS },
	{ SIOCGIFNAME, IFREQ, FILLS }, { SIOCGIFFLAGS, IFREQ, FILLS },
	{ SIOCGIFADDR, IFREQ, FILLS }, { SIOCGIFMTU, IFREQ, FILLS },
	{ SIOCGIFHWADDR, IFREQ, FILLS }, { BLKGETSIZE, 8, FILLS },
	{ BLKGETSIZE64, 8, FILLS }, { BLKSSZGET, 4, FILLS },
	{ BLKPBSZGET, 4, FILLS }, { BLKBSZGET, 4, FILLS },
	{ BLKROGET, 4, FILLS }, { BLKIOMIN, 4, FILLS }, { BLKIOOPT, 4, FILLS },
	{ BLKALIGNOFF, 4, FILLS }, { BLKROTATIONAL, 2, FILLS },
	{ BLKDISCARD, 16, READS }, { BLKZEROOUT, 16, READS },
};

static const struct fixed *fixed_of(unsigned long req)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (fixed[i].req == req)
			return &fixed[i];
	return NULL;
}

/* How it ends with a copy in its place. What cannot be used is left to the
 * kernel. */
static int copied(const struct fm_ioctl *c, void *arg, const struct fixed *f)
{
	const size_t size = f->size ? f->size : _IOC_SIZE(c->req);
	const int out = f->fills ? FM_COPY_OUT : 0;
	struct fm_object b;
	void *mem = fm_object(&b, arg, size, FM_COPY_IN | out);
	int r = fm_pass_ioctl(c, mem);

	if (!fm_object_end(&b, r >= 0 && out ? size : 0))
		return (int)fm_result(-EFAULT);
	return r;
}

/* ---- a header, and records --------------------------------------------- */

static const struct shape {
	uint32_t req;
	uint16_t head, record;
	uint16_t asked, got; /* where the header says how many: 32 bits each */
} shapes[] = {
	{ (uint32_t)FS_IOC_FIEMAP, sizeof(struct fiemap),
	  sizeof(struct fiemap_extent),
	  offsetof(struct fiemap, fm_extent_count),
	  offsetof(struct fiemap, fm_mapped_extents) },
	{ (uint32_t)FS_IOC_GETFSMAP, sizeof(struct fsmap_head),
	  sizeof(struct fsmap), offsetof(struct fsmap_head, fmh_count),
	  offsetof(struct fsmap_head, fmh_entries) },
};
#define HEAD_MAX 256
_Static_assert(sizeof(struct fsmap_head) <= HEAD_MAX, "headers fit");

static const struct shape *shape_of(unsigned long req)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].req == req)
			return &shapes[i];
	return NULL;
}

struct records {
	const struct fm_ioctl *call;
	const struct shape *shape;
	void *arg; /* the program's */
	char head[HEAD_MAX];
	uint32_t room, got; /* records of one call */
	int err;
};

static uint32_t io_ioctl_number(const char *head, uint16_t at)
{
	uint32_t n;

	memcpy(&n, head + at, sizeof(n));
	return n;
}

/* Returns the bytes that were filled. Fewer records may have room than are
 * asked for. */
static ssize_t call_records(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	struct records *s = rw->arg;
	const struct shape *h = s->shape;
	const uint32_t asked = io_ioctl_number(s->head, h->asked);
	char *mem = iov->iov_base;
	uint32_t n;
	ssize_t r;

	if (mem == s->arg) { /* for the kernel's answer: it cannot be used */
		s->room = asked;
		return fm_pass_ioctl(s->call, mem);
	}
	s->room = (uint32_t)((iov->iov_len - h->head) / h->record);
	memcpy(mem, s->head, h->head);
	memcpy(mem + h->asked, &s->room, sizeof(s->room));
	r = fm_pass_ioctl(s->call, mem);
	s->got = io_ioctl_number(mem, h->got);
	memcpy(mem + h->asked, &asked, sizeof(asked));
	s->err = r < 0 ? errno : 0; /* which the header may explain */
	n = s->err ? 0 : s->got < s->room ? s->got : s->room;
	return h->head + (ssize_t)n * h->record;
}

/* More than may be copied: the kernel fills the program's memory itself. */
static int records_native(struct records *s, size_t len)
{
	fm_demote_range(s->arg, len, why);
	return fm_pass_ioctl(s->call, s->arg);
}

static int with_records(const struct fm_ioctl *c, const struct shape *h,
			void *arg)
{
	struct records s = { .call = c, .shape = h, .arg = arg };
	struct iovec iov = { arg, h->head };
	struct fm_object b;
	struct fm_rw rw = { .fd = c->fd,
			    .in = true,
			    .atomic = true,
			    .iov = &iov,
			    .cnt = 1,
			    .off = FM_HERE,
			    .arg = &s,
			    .call = call_records };
	const void *head = fm_object(&b, arg, h->head, FM_COPY_IN);
	const int saved = errno;
	ssize_t r;

	if (head == arg && fm_data_in(arg, h->head))
		return fm_pass_ioctl(c, arg);
	memcpy(s.head, head, h->head);
	fm_object_end(&b, 0);
	iov.iov_len += (size_t)io_ioctl_number(s.head, h->asked) * h->record;
	if (iov.iov_len > FM_BOUNCE_MAX)
		iov.iov_len = FM_BOUNCE_MAX;
	r = fm_transfer(&rw);
	if (r < 0)
		return -1;
	errno = s.err ? s.err : saved;
	if (!s.err && s.got >= s.room &&
	    s.room < io_ioctl_number(s.head, h->asked))
		return records_native(&s, iov.iov_len);
	return s.err ? -1 : 0;
}

/* Targets in place of records; the source is read, the targets' results are
 * filled. */
static int deduplicated(const struct fm_ioctl *c, void *arg)
{
	struct file_dedupe_range head;
	struct fm_object b;
	size_t size = sizeof(head);
	void *mem = fm_object(&b, arg, size, FM_COPY_IN);
	int r;

	if (mem == arg)
		return fm_pass_ioctl(c, arg);
	memcpy(&head, mem, size);
	fm_object_end(&b, 0);
	size += head.dest_count * sizeof(struct file_dedupe_range_info);
	mem = fm_object(&b, arg, size, FM_COPY_IN | FM_COPY_OUT);
	if (mem != arg) /* another thread may have made it larger */
		memcpy(mem, &head, sizeof(head));
	r = mem == arg ? fm_pass_ioctl(c, arg) :
			 fm_ioctl_clone(c, mem);
	if (!fm_object_end(&b, r >= 0 ? size : 0))
		return (int)fm_result(-EFAULT);
	return r;
}

/* ---- the rest ---------------------------------------------------------- */

static bool io_ioctl_is_file(int fd)
{
	struct stat st;

	return fm_sys_stat_notimes(fd, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static int pinned(const struct fm_ioctl *c, void *arg)
{
	struct fm_pin pin = FM_PIN_INIT;
	const size_t len = _IOC_SIZE(c->req);
	int r;

	if (fm_pin(&pin, arg, len, true) <= 0) {
		fm_unpin(&pin); /* memory that may only be read */
		pin = (struct fm_pin)FM_PIN_INIT;
		fm_pin(&pin, arg, len, false);
	}
	r = fm_pass_ioctl(c, arg);
	fm_unpin(&pin);
	return r;
}

FM_SLOW int ioctl_slow(const struct fm_ioctl *c, void *arg)
{
	const struct shape *shape = shape_of(c->req);
	const struct fixed *f = fixed_of(c->req);

	if (shape)
		return with_records(c, shape, arg);
	if (f)
		return copied(c, arg, f);
	if (_IOC_SIZE(c->req) && !io_ioctl_is_file(c->fd))
		return pinned(c, arg);
	fm_demote_range(arg, 1, why);
	return fm_pass_ioctl(c, arg);
}

/* A file that may not be changed any more, or only grow, refuses stores, or
 * writes of what has been stored before, each file system in its own way: the
 * kernel knows. */
static void leave_for_flags(int fd, unsigned long req)
{
	struct fm_file *f = NULL;

	if (!fm_idle() && (req == FS_IOC_SETFLAGS || req == FS_IOC_FSSETXATTR))
		f = fm_file_by_fd(fd);
	if (!f)
		return;
	fm_file_demote(f, FM_WHY_FLAGS);
	fm_file_put(f);
}

int fm_do_ioctl(bool raw, int fd, unsigned long req, void *arg)
{
	const struct fm_ioctl c = { raw, fd, req };
	struct fm_pin pin = FM_PIN_INIT;
	int r;

	if (req == FIDEDUPERANGE && fm_touches(arg, 1))
		return deduplicated(&c, arg);
	if (!fm_idle() && fm_ioctl_is_clone(req))
		return fm_ioctl_clone(&c, arg);
	if (fm_looks() && fm_ioctl_is_space(req))
		return fm_ioctl_space(&c, arg);
	/* What has been stored has blocks. */
	if (fm_looks() && req == FS_IOC_FIEMAP && fm_see(fd, 0, 0) < 0)
		return -1;
	leave_for_flags(fd, req);
	if (fm_looks() && !fixed_of(req))
		fm_ioctl_pointed(req, arg, &pin);
	r = fm_touches(arg, 1) ? ioctl_slow(&c, arg) : fm_pass_ioctl(&c, arg);
	fm_unpin(&pin);
	return r;
}

FM_HOOK int ioctl(int fd, unsigned long req, ...)
{
	return fm_do_ioctl(false, fd, req, FM_VARARG(req, void *));
}
