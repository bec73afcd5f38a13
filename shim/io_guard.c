/* SPDX-License-Identifier: MIT */
/*
 * io_guard.c - managed memory handed to the kernel: pins, pieces, bounces.
 *
 * Where a call cannot block for ever (regular files) the buffer is pinned: no
 * copy, but limited by the size of the cache; what exceeds that is done in
 * pieces if nobody can tell. Everywhere else it is bounced through private
 * memory, for a pin held while a socket sleeps would keep other threads from
 * the page, and so does a file that is itself managed, since a write to it
 * may have to drop the very page that it is written from.
 *
 * Private pages the program may drop while a slow device lets it wait. What the
 * kernel then could not use is the next piece.
 */
#include "guard.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PIECE_IOV 64
#define SPLIT_MIN 65536               /* pin no smaller pieces of a whole */
#define BOUNCE_PIECE ((size_t)1 << 20) /* of what may be split */

struct cursor {
	const struct iovec *iov;
	int left;    /* elements from iov on */
	size_t skip; /* bytes of iov[0] already done */
};

/* One guarded system call. */
struct piece {
	struct iovec iov[PIECE_IOV];
	int cnt;
	size_t len;
	size_t usable; /* of a bounced inbound piece */
	bool beyond;   /* of the end of the file that it is read from */
	struct fm_pin pin;
	bool held;
	uint64_t mask;
	int cancel;
	void *bounce;
	char small[4096] __attribute__((aligned(4096))); /* for O_DIRECT */
};

/* ---- counting --------------------------------------------------------- */

bool fm_iov_touches(const struct iovec *iov, int cnt)
{
	return fm_iov_any(iov, cnt, fm_data_in);
}

static bool io_guard_is_ours(const struct iovec *iov, int cnt)
{
	return fm_iov_any(iov, cnt, fm_overlaps);
}

static size_t iov_total(const struct iovec *iov, int cnt)
{
	size_t total = 0;

	for (int i = 0; i < cnt; i++)
		if (__builtin_add_overflow(total, iov[i].iov_len, &total))
			return FM_RW_MAX;
	return fm_least(total, FM_RW_MAX);
}

/* Bytes from p that fit into `room` bytes of whole pages. */
static size_t io_guard_fit(const void *p, size_t len, size_t room)
{
	const size_t head = (uintptr_t)p & 4095;

	return room > head ? fm_least(len, room - head) : 0;
}

static size_t io_guard_pages_of(const void *p, size_t len)
{
	return (((uintptr_t)p & 4095) + len + 4095) & ~(size_t)4095;
}

/* Of [p, p+len), how much from p the kernel could use; loads what is missing.
 * Nothing stays pinned. */
size_t fm_usable(const void *p, size_t len, bool in)
{
	const size_t limit = fm_pin_limit();
	size_t done = 0;

	while (done < len) {
		const char *at = (const char *)p + done;
		struct fm_pin pin = FM_PIN_LETS;
		size_t want = io_guard_fit(at, len - done, limit);
		ssize_t got = fm_pin(&pin, at, want, in);

		fm_unpin(&pin);
		/* No pin to be had: the copy that follows faults by itself. */
		if (got < 0)
			got = (ssize_t)want;
		done += (size_t)got;
		if ((size_t)got < want)
			break;
	}
	return done;
}

static void io_guard_advance(struct cursor *c, size_t n)
{
	while (c->left > 0 && n >= c->iov->iov_len - c->skip) {
		n -= c->iov->iov_len - c->skip;
		c->iov++;
		c->left--;
		c->skip = 0;
	}
	c->skip += n;
}

static struct iovec io_guard_at(const struct cursor *c)
{
	return (struct iovec){ (char *)c->iov->iov_base + c->skip,
			       c->iov->iov_len - c->skip };
}

/* ---- pinned pieces ----------------------------------------------------- */

/* The longest prefix that can be pinned at once, at most `max` bytes. */
static void pin_plan(struct piece *p, struct cursor c, size_t max)
{
	size_t room = fm_pin_limit();
	int pins = FM_PINS;

	p->cnt = 0;
	p->len = 0;
	while (c.left > 0 && p->cnt < PIECE_IOV && p->len < max) {
		struct iovec v = io_guard_at(&c);
		size_t want = fm_least(v.iov_len, max - p->len), take = want;

		if (want && fm_overlaps(v.iov_base, want)) {
			take = pins-- ? io_guard_fit(v.iov_base, want, room)
				      : 0;
			if (take == 0)
				break;
			room -= io_guard_pages_of(v.iov_base, take);
		}
		v.iov_len = take;
		p->iov[p->cnt++] = v;
		p->len += take;
		if (take < want)
			break;
		io_guard_advance(&c, take);
	}
}

/* A thread with pins is neither cancelled nor does a handler of the program
 * jump out of it: the pages would stay as they are for good. */
static void piece_hold(struct piece *p)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &p->cancel);
	fm_block_signals(&p->mask);
	fm_holds++;
	p->held = true;
}

static void piece_unpin(struct piece *p)
{
	fm_unpin(&p->pin);
	if (!p->held)
		return;
	p->held = false;
	fm_holds--;
	pthread_setcancelstate(p->cancel, NULL);
	fm_restore_signals(&p->mask); /* a handler may jump */
}

/* May the kernel stop where the program has dropped a page? It finds all of
 * them where threads serve its own faults. */
static bool may_stop(const struct fm_rw *rw)
{
	return fm_delivery() == FM_DELIVERY_THREAD || rw->in || !rw->atomic;
}

/* Pins as much as one system call may use. Splitting is worth while only in
 * large pieces. */
static bool piece_pin(struct piece *p, const struct fm_rw *rw, struct cursor c,
		      size_t left)
{
	if (!rw->pin || p->beyond)
		return false;
	pin_plan(p, c, left);
	if (p->len < left && (rw->atomic || p->len < SPLIT_MIN))
		return false;
	piece_hold(p);
	p->pin.lets = may_stop(rw);
	for (int i = 0; i < p->cnt; i++) {
		const struct iovec *v = &p->iov[i];
		ssize_t got = fm_pin(&p->pin, v->iov_base, v->iov_len, rw->in);

		/* Nothing at the front: the transfer ends here, see
		 * piece_run. */
		if (got < 0 || (!got && !i && v->iov_len)) {
			piece_unpin(p);
			return false;
		}
	}
	return true;
}

/* ---- bounced pieces ---------------------------------------------------- */

/* entry.S: returns how much is left where memory could not be used. */
size_t fm_copy_try(void *to, const void *from, size_t n);

/* False: what was usable is not any more, the file has been cut meanwhile. */
static bool copy_out(struct cursor c, char *mem, size_t len)
{
	while (len) {
		struct iovec v = io_guard_at(&c);
		size_t n = fm_least(v.iov_len, len);

		if (fm_copy_try(mem, v.iov_base, n))
			return false;
		mem += n;
		len -= n;
		io_guard_advance(&c, n);
	}
	return true;
}

/* What lies behind our mapping may be nobody's. Returns how much was stored. */
static size_t store(char *to, char *from, size_t n)
{
	size_t done = 0, got, step;

	if (!n || fm_overlaps(to + n - 1, 1))
		return n - fm_copy_try(to, from, n);
	for (; done < n; done += got) {
		step = fm_least(4096 - ((uintptr_t)(to + done) & 4095),
				n - done);
		if (fm_overlaps(to + done, 1))
			got = step - fm_copy_try(to + done, from + done, step);
		else
			got = fm_user_write(to + done, from + done, step) ? step
									  : 0;
		if (got < step)
			return done + got;
	}
	return done;
}

/* Returns how much could be stored. */
static size_t copy_in(struct cursor c, char *mem, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct iovec v = io_guard_at(&c);
		size_t n = fm_least(v.iov_len, len - done);
		size_t ok = fm_usable(v.iov_base, n, true);

		ok = store(v.iov_base, mem + done, ok);
		done += ok;
		if (ok < n)
			break;
		io_guard_advance(&c, n);
	}
	return done;
}

/* Are they there, and may they be stored to? They are not made dirty. */
static bool ends_usable(const struct iovec *v, size_t len)
{
	const char *first = v->iov_base, *last = first + len - 1;

	return fm_usable(last, 1, false) == 1 &&
	       !fm_pin_forbidden(first, true) && !fm_pin_forbidden(last, true);
}

/* How much of it, from the front, may be stored to? None of it is touched. */
static size_t not_forbidden(const struct iovec *v, size_t len)
{
	size_t n = 0;

	while (n < len) {
		const char *at = (const char *)v->iov_base + n;

		if (fm_pin_forbidden(at, true))
			return n;
		n += 4096 - ((uintptr_t)at & 4095);
	}
	return len;
}

/*
 * How much of the next `max` bytes the kernel could use. A regular file fills
 * (or empties) them all, so all are looked at, but not beyond its end; of a
 * receive that may bring a few bytes only the ends of the buffers: else pages
 * would be loaded and dirtied for nothing, or be a private mapping's own. What
 * is received may be received once only: where the ends are not usable, all is
 * looked at.
 */
static size_t usable_prefix(const struct fm_rw *rw, struct cursor c, size_t max,
			    bool beyond)
{
	const bool ends = rw->in && !rw->loop;
	size_t done = 0;

	while (c.left > 0 && done < max) {
		struct iovec v = io_guard_at(&c);
		size_t want = fm_least(v.iov_len, max - done), got = want;

		if (beyond)
			got = not_forbidden(&v, want);
		else if (want && !(ends && ends_usable(&v, want)))
			got = fm_usable(v.iov_base, want, rw->in);
		done += got;
		if (got < want)
			break;
		io_guard_advance(&c, want);
	}
	return done;
}

static void piece_drop(void *arg)
{
	struct piece *p = arg;

	piece_unpin(p);
	if (p->bounce && p->bounce != p->small)
		fm_sys_munmap(p->bounce, p->len);
}

/*
 * Private memory in place of the next bytes. False: leave it to the kernel,
 * which finds nothing to use at the front (EFAULT), or half of a datagram to
 * send.
 */
static bool piece_bounce(struct piece *p, const struct fm_rw *rw,
			 struct cursor c, size_t left)
{
	size_t max = fm_least(left, rw->atomic ? FM_BOUNCE_MAX : BOUNCE_PIECE);

	p->usable = usable_prefix(rw, c, max, p->beyond);
	p->len = p->usable;
	if (p->len < max && rw->atomic && !rw->loop) {
		if (!rw->in)
			return false;
		p->len = max; /* what arrives may be shorter */
	}
	if (p->usable == 0)
		return false;
	/* What is unmapped stays as it is for whom the kernel passes it on
	 * to. */
	p->bounce = p->len <= sizeof(p->small) && !rw->keeps ?
			    p->small : fm_sys_anon(p->len);
	if (!p->bounce)
		return false;
	if (!rw->in && !copy_out(c, p->bounce, p->len)) {
		piece_drop(p);
		p->bounce = NULL;
		return piece_bounce(p, rw, c, left); /* shorter now */
	}
	p->iov[0] = (struct iovec){ p->bounce, p->len };
	p->cnt = 1;
	return true;
}

/* What was received goes to the program; less than all of a datagram is the
 * EFAULT that the kernel would have seen. */
static ssize_t deliver(struct piece *p, const struct fm_rw *rw,
		       struct cursor c, ssize_t r)
{
	size_t got = fm_least((size_t)r, p->len);
	size_t done = copy_in(c, p->bounce, fm_least(got, p->usable));

	if (done == got)
		return r;
	if (done && !(rw->atomic && !rw->loop))
		return (ssize_t)done;
	errno = EFAULT;
	return -1;
}

/* ---- the loop ---------------------------------------------------------- */

/* Cancellation may unwind out of a blocked call: the copy must not stay
 * behind. */
static ssize_t piece_call(const struct fm_rw *rw, struct piece *p,
			  const struct iovec *iov, int cnt, off_t off)
{
	ssize_t r;

	pthread_cleanup_push(piece_drop, p);
	if (rw->file)
		r = fm_change_call(rw, iov, cnt, iov_total(iov, cnt), off);
	else
		r = rw->call(rw, iov, cnt, off);
	pthread_cleanup_pop(0);
	return r;
}

/* The rest of the buffers as they are. */
static ssize_t piece_as_is(const struct fm_rw *rw, struct piece *p,
			   const struct cursor *c, off_t off)
{
	struct iovec rest = io_guard_at(c);

	if (c->skip)
		return piece_call(rw, p, &rest, 1, off);
	return piece_call(rw, p, c->iov, c->left, off);
}

/* Does the file end before what comes after `done` bytes? */
static bool is_beyond(const struct fm_rw *rw, size_t done)
{
	return rw->sized && (off_t)done >= rw->until;
}

/* What is not read is not stored to: up to the end of the file. */
static size_t before_end(const struct fm_rw *rw, size_t done, size_t left)
{
	return rw->sized && !is_beyond(rw, done) ?
		       fm_least(left, (size_t)rw->until - done) :
		       left;
}

/* Has the call come to pages that the program has dropped? Not pinned any
 * more. */
static bool piece_stopped(const struct fm_rw *rw, const struct piece *p,
			  ssize_t *r)
{
	if (!p->pin.lost || *r == (ssize_t)p->len ||
	    (*r < 0 && errno != EFAULT))
		return false;
	if (rw->mend)
		rw->mend(rw);
	if (*r < 0)
		*r = 0;
	return true;
}

static ssize_t piece_run(const struct fm_rw *rw, const struct cursor *c,
			 size_t left, size_t done, bool *ret_more)
{
	const off_t off =
		rw->off == FM_HERE ? FM_HERE : rw->off + (off_t)done;

	struct piece p;
	ssize_t r;
	int saved;

	p.pin = (struct fm_pin)FM_PIN_INIT;
	p.held = false;
	p.bounce = NULL;
	p.beyond = is_beyond(rw, done);
	*ret_more = false;
	if (!piece_pin(&p, rw, *c, left) && !piece_bounce(&p, rw, *c, left)) {
		/* The transfer ends here. stdio would go on with what its
		 * buffer takes, by instructions: SIGBUS. */
		if (done && !p.usable)
			return 0;
		r = piece_as_is(rw, &p, c, off);
		*ret_more = rw->loop && r == (ssize_t)left;
		return r;
	}
	r = piece_call(rw, &p, p.iov, p.cnt, off);
	if (r > 0 && p.bounce && rw->in)
		r = deliver(&p, rw, *c, r);
	saved = errno;
	piece_drop(&p);
	errno = saved;
	*ret_more = piece_stopped(rw, &p, &r) ||
		    (rw->loop && r == (ssize_t)p.len);
	return r;
}

/* Later failures only end the transfer, as in the kernel. */
static ssize_t run_pieces(const struct fm_rw *rw)
{
	struct cursor c = { rw->iov, rw->cnt, 0 };
	const size_t total = iov_total(rw->iov, rw->cnt);
	const int saved = errno;
	size_t done = 0;
	bool more;

	do {
		const size_t left = before_end(rw, done, total - done);
		ssize_t r = piece_run(rw, &c, left, done, &more);

		if (r < 0) {
			if (!done)
				return r;
			errno = saved;
			break;
		}
		done += (size_t)r;
		if (!more || (rw->atomic && is_beyond(rw, done)))
			break;
		errno = saved;
		io_guard_advance(&c, (size_t)r);
	} while (done < total);
	return (ssize_t)done;
}

bool fm_is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return fm_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) ==
		       0 &&
	       type == SOCK_STREAM;
}

/* Where a regular file ends, from where it is read on; with O_DIRECT that is
 * read by blocks. */
static void note_until(struct fm_rw *rw, off_t size, bool direct)
{
	off_t at = rw->off;

	if (at == FM_HERE)
		at = fm_sys3(SYS_lseek, rw->fd, 0, SEEK_CUR);
	rw->sized = at >= 0;
	rw->until = size - at;
	if (direct)
		rw->until = (rw->until + 4095) & ~(off_t)4095;
}

/* What may be split? Regular files: positional transfers; others share the
 * position with other threads, or append. Streams: writes; a read takes what
 * is there and must not wait for more. */
static void classify(struct fm_rw *rw)
{
	long fl = fm_sys2(SYS_fcntl, rw->fd, F_GETFL);
	struct stat st;

	rw->loop = rw->pin = rw->sized = false;
	rw->atomic = true;
	if (fl < 0 || fm_sys_stat_notimes(rw->fd, &st) < 0)
		return;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		rw->loop = true;
		/* Not those of /proc and /sys, where a read can wait. */
		rw->pin = !rw->file && (S_ISBLK(st.st_mode) || st.st_size);
		rw->atomic = rw->off == FM_HERE || (fl & O_APPEND);
		if (rw->in && S_ISREG(st.st_mode))
			note_until(rw, st.st_size, fl & O_DIRECT);
	} else if (S_ISFIFO(st.st_mode) && !(fl & O_DIRECT)) {
		rw->loop = !rw->in;
		rw->atomic = !rw->in &&
			     iov_total(rw->iov, rw->cnt) <= PIPE_BUF;
	} else if (S_ISSOCK(st.st_mode) && fm_is_stream(rw->fd)) {
		rw->loop = !rw->in;
		rw->atomic = false;
	}
}

/* Where it is not, but may become so under the call, that is counted. */
static bool touches_ours(const struct fm_rw *rw, bool *passing)
{
	*passing = false;
	if (io_guard_is_ours(rw->iov, rw->cnt))
		return true;
	*passing = fm_counted_calls_begins(rw->iov, rw->cnt);
	return !*passing && io_guard_is_ours(rw->iov, rw->cnt);
}

ssize_t fm_transfer(struct fm_rw *rw)
{
	bool passing = false;
	ssize_t r;

	if (!fm_holds && touches_ours(rw, &passing))
		return run_pieces(rw);
	r = rw->call(rw, rw->iov, rw->cnt, rw->off);
	if (passing)
		fm_counted_calls_ends();
	return r;
}

/* The call, with the buffers and the file guarded. */
static ssize_t io_guard_guarded(struct fm_rw *rw, bool touches)
{
	if (touches) {
		classify(rw);
		return run_pieces(rw);
	}
	if (!rw->file)
		return rw->call(rw, rw->iov, rw->cnt, rw->off);
	return fm_change_call(rw, rw->iov, rw->cnt,
			      iov_total(rw->iov, rw->cnt), rw->off);
}

/* A read of what nobody stores to needs no look at what it is. */
static ssize_t rw_in(struct fm_rw *rw, bool touches)
{
	unsigned slot = fm_read_enter(rw->fd);
	ssize_t r;

	rw->file = touches || slot == FM_READS_FULL || fm_inflight_look() ?
			   fm_file_by_fd(rw->fd) : NULL;
	if (rw->file)
		fm_read_leave(slot);
	r = io_guard_guarded(rw, touches);
	if (rw->file)
		fm_file_put(rw->file);
	else
		fm_read_leave(slot);
	return r;
}

static ssize_t rw_out(struct fm_rw *rw, bool touches)
{
	unsigned slot = fm_write_enter(rw->fd);
	ssize_t r;

	rw->file = fm_file_by_fd(rw->fd);
	if (rw->file) /* the pages that it changes will be held */
		fm_write_leave(slot);
	r = io_guard_guarded(rw, touches);
	if (rw->file)
		fm_file_put(rw->file);
	else
		fm_write_leave(slot);
	return r;
}

ssize_t fm_rw(struct fm_rw *rw)
{
	bool touches, passing;
	ssize_t r;

	if (fm_holds)
		return rw->call(rw, rw->iov, rw->cnt, rw->off);
	/* A cancellation point here, and none while the file is held. */
	if (!rw->raw)
		pthread_testcancel();
	if (!rw->in)
		fm_ipc_before();
	touches = touches_ours(rw, &passing);
	r = rw->in ? rw_in(rw, touches) : rw_out(rw, touches);
	if (passing)
		fm_counted_calls_ends();
	return rw->in ? fm_ipc_after(r) : r;
}
