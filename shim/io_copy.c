/* SPDX-License-Identifier: MIT */
/*
 * io_copy.c - the kernel copies between descriptors: sendfile,
 * copy_file_range, splice, and the reflink ioctls.
 *
 * A managed source is written back first. A managed target is held while a
 * regular file is copied into it; data from a pipe or socket may never come,
 * so there the target goes to the kernel instead.
 */
#include "guard.h"
#include "io_backing.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "io_copy.h"

FM_NEXT(sendfile)
FM_NEXT(copy_file_range)
FM_NEXT(splice)

struct copy {
	int in, out;
	off_t *in_off, *out_off;
	size_t len;
	unsigned flags;
	bool raw;
	ssize_t (*call)(const struct copy *c);
	bool refers; /* it may be done by reference */
};

static off_t io_copy_position(int fd, const off_t *off)
{
	off_t pos = off ? *off : fm_sys3(SYS_lseek, fd, 0, SEEK_CUR);

	return pos < 0 ? 0 : pos;
}

/* Size of a regular file, -1 for anything else. */
static off_t regular_size(int fd)
{
	struct stat st;

	if (fm_sys_stat_notimes(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return st.st_size;
}

/* Around what may make the blocks of a file another's, too. */
static struct fm_file *shares(int fd)
{
	struct fm_file *f = fm_file_by_fd(fd);

	if (f)
		fm_file_shares(f);
	return f;
}

static void shared(struct fm_file *f)
{
	const int saved = errno;

	if (!f)
		return;
	fm_file_shared(f);
	fm_file_put(f);
	errno = saved;
}

/* Another thread may move a shared position: then the whole file. */
static int see_source(const struct copy *c)
{
	if (!c->in_off)
		return fm_see(c->in, 0, 0);
	if (*c->in_off < 0)
		return 0;
	return fm_see(c->in, *c->in_off,
		      (off_t)(c->len < INT64_MAX ? c->len : 0));
}

static ssize_t into_managed(const struct copy *c, struct fm_file *f, off_t size)
{
	off_t left = size - io_copy_position(c->in, c->in_off);
	struct fm_change ch;
	ssize_t r = -1;

	if (left <= 0) /* the source may grow meanwhile */
		left = 1;
	if ((size_t)left > c->len)
		left = (off_t)c->len;
	fm_file_has_holes(f); /* where it is done by reference */
	fm_file_shares(f);
	fm_change_file(&ch, f);
	fm_change_serial(&ch);
	if (fm_change_lock(&ch, io_copy_position(c->out, c->out_off), left) ==
	    0) {
		struct copy whole = *c;

		whole.len = (size_t)left; /* never beyond what is held */
		r = c->call(&whole);
	}
	fm_change_end(&ch, r > 0, false);
	return r;
}

static ssize_t copy_seen(const struct copy *c)
{
	struct fm_file *f;
	unsigned slot;
	off_t size;
	ssize_t r;

	if (c->len && see_source(c) < 0)
		return -1;
	slot = fm_write_enter(c->out);
	f = c->len ? fm_file_by_fd(c->out) : NULL;
	r = f ? 0 : c->call(c);
	fm_write_leave(slot);
	if (!f)
		return r;
	size = regular_size(c->in);
	if (size >= 0)
		r = into_managed(c, f, size);
	else
		r = fm_result(fm_file_demote(f, FM_WHY_SPLICE));
	fm_file_put(f);
	return size >= 0 || r < 0 ? r : c->call(c);
}

/* It reads the source as read does, often for long. */
static ssize_t copy(const struct copy *c)
{
	struct fm_file *source;
	unsigned slot;
	ssize_t r;

	if (!c->raw)
		pthread_testcancel();
	fm_ipc_before();
	slot = fm_read_enter(c->in);
	source = c->refers ? shares(c->in) : NULL;
	r = copy_seen(c);
	shared(source);
	fm_read_leave(slot);
	return r;
}

/* Nothing is mapped: the kernel judges the offsets. False: something is. */
static bool copy_noted(const struct copy *c, ssize_t *ret)
{
	unsigned in, out;

	if (!fm_note_write(c->out, &out))
		return false;
	in = fm_read_enter(c->in);
	*ret = c->call(c);
	fm_read_leave(in);
	fm_write_leave(out);
	return true;
}

static ssize_t call_sendfile(const struct copy *c)
{
	return FM_PASS_VIA(c->raw, sendfile, SYS_sendfile, c->out, c->in,
			   c->in_off, c->len);
}

static ssize_t call_copy_file_range(const struct copy *c)
{
	return FM_PASS_VIA(c->raw, copy_file_range, SYS_copy_file_range, c->in,
			   c->in_off, c->out, c->out_off, c->len, c->flags);
}

static ssize_t call_splice(const struct copy *c)
{
	return FM_PASS_VIA(c->raw, splice, SYS_splice, c->in, c->in_off, c->out,
		       c->out_off, c->len, c->flags);
}

/* One of the two offsets, read once. */
struct offset {
	off_t *user, value;
};

static off_t *offset_read(struct offset *o, off_t *user)
{
	o->user = NULL;
	if (!user || !fm_user_read(&o->value, user, sizeof(o->value)))
		return user ? FM_NOWHERE : NULL;
	o->user = user;
	return &o->value;
}

static bool offset_write(const struct offset *o)
{
	return !o->user || fm_user_write(o->user, &o->value, sizeof(o->value));
}

FM_SLOW ssize_t io_copy_guarded(struct copy c)
{
	struct offset in, out;
	ssize_t r;
	int saved;

	if (copy_noted(&c, &r))
		return r;
	c.in_off = offset_read(&in, c.in_off);
	c.out_off = offset_read(&out, c.out_off);
	if (c.in_off == FM_NOWHERE || c.out_off == FM_NOWHERE)
		return c.call(&c);
	r = copy(&c);
	saved = errno;
	if (r >= 0 && (!offset_write(&in) || !offset_write(&out)))
		return fm_result(-EFAULT);
	errno = saved;
	return r;
}

ssize_t fm_do_sendfile(bool raw, int out, int in, off_t *off, size_t len)
{
	if (fm_may_be_sourced() && fm_backing_copies(in))
		return -1;
	if (fm_idle())
		return FM_PASS_VIA(raw, sendfile, SYS_sendfile, out, in, off,
				   len);
	return io_copy_guarded((struct copy){ in, out, off, NULL, len, 0, raw,
					      call_sendfile, false });
}

ssize_t fm_do_copy_file_range(bool raw, int in, off64_t *in_off, int out,
			      off64_t *out_off, size_t len, unsigned flags)
{
	if (fm_may_be_sourced() && fm_backing_copies(in))
		return -1;
	if (fm_idle())
		return FM_PASS_VIA(raw, copy_file_range, SYS_copy_file_range,
				   in, in_off, out, out_off, len, flags);
	return io_copy_guarded((struct copy){ in, out, in_off, out_off, len,
					      flags, raw, call_copy_file_range,
					      true });
}

ssize_t fm_do_splice(bool raw, int in, off64_t *in_off, int out,
		     off64_t *out_off, size_t len, unsigned flags)
{
	if (fm_may_be_sourced() && fm_backing_copies(in))
		return -1;
	if (fm_idle())
		return FM_PASS_VIA(raw, splice, SYS_splice, in, in_off, out,
				   out_off, len, flags);
	return io_copy_guarded((struct copy){ in, out, in_off, out_off, len,
					      flags, raw, call_splice, false });
}

/* ---- reflinks ----------------------------------------------------------- */

/* The whole of the source. */
static const struct file_clone_range all;

static int clone_seen(const struct fm_ioctl *call, void *arg, int src,
		      const struct file_clone_range *range)
{
	const off_t len = (off_t)range->src_length;
	struct fm_change c;
	unsigned slot;
	bool ours;
	int r = 0;

	if (fm_see(src, (off_t)range->src_offset, len) < 0)
		return -1;
	slot = fm_write_enter(call->fd);
	ours = fm_change_fd(&c, call->fd);
	if (!ours)
		r = fm_pass_ioctl(call, arg);
	fm_write_leave(slot);
	if (!ours)
		return r;
	fm_file_has_holes(c.file); /* it may, then */
	fm_change_serial(&c);
	r = fm_change_lock(&c, (off_t)range->dest_offset, len);
	if (r == 0)
		r = fm_pass_ioctl(call, arg);
	fm_change_end(&c, r == 0, false);
	return r;
}

static int clone_into(const struct fm_ioctl *c, void *arg, int src,
		      const struct file_clone_range *range)
{
	struct fm_file *from = shares(src), *to = shares(c->fd);
	int r = clone_seen(c, arg, src, range);

	shared(from);
	shared(to);
	return r;
}

/* Deduplication changes no byte, but compares what is in the files. */
static int dedupe(const struct fm_ioctl *c, struct file_dedupe_range *user)
{
	struct fm_file *from = shares(c->fd);
	struct file_dedupe_range d;
	struct file_dedupe_range_info info;
	void *arg = user;
	int r = 0;

	if (fm_user_read(&d, user, sizeof(d)))
		r = fm_see(c->fd, (off_t)d.src_offset, (off_t)d.src_length);
	else
		arg = FM_NOWHERE;
	for (int i = 0; arg == user && i < d.dest_count && r >= 0; i++) {
		struct fm_file *to;

		if (!fm_user_read(&info, &user->info[i], sizeof(info)))
			break;
		to = shares((int)info.dest_fd);
		if (to)
			fm_file_put(to); /* and it is seen now */
		r = fm_see((int)info.dest_fd, 0, 0);
	}
	if (r >= 0)
		r = fm_pass_ioctl(c, arg);
	shared(from);
	return r;
}

bool fm_ioctl_is_clone(unsigned long req)
{
	return req == FICLONE || req == FICLONERANGE || req == FIDEDUPERANGE;
}

int fm_ioctl_clone(const struct fm_ioctl *c, void *arg)
{
	struct file_clone_range r;

	if (c->req == FICLONE)
		return clone_into(c, arg, (int)(long)arg, &all);
	if (!arg)
		return fm_pass_ioctl(c, arg);
	if (c->req == FIDEDUPERANGE)
		return dedupe(c, arg);
	if (!fm_user_read(&r, arg, sizeof(r)))
		return fm_pass_ioctl(c, FM_NOWHERE);
	return clone_into(c, &r, (int)r.src_fd, &r);
}
