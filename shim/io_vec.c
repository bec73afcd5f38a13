/* SPDX-License-Identifier: MIT */
/* io_vec.c - readv, writev and their positional forms; vmsplice. */
#include "guard.h"
#include "io_backing.h"

#include <fcntl.h>

FM_NEXT(readv)
FM_NEXT(writev)
FM_NEXT(preadv)
FM_NEXT(pwritev)
FM_NEXT(preadv2)
FM_NEXT(pwritev2)
FM_NEXT(vmsplice)
FM_NEXT(process_vm_readv)
FM_NEXT(process_vm_writev)

static ssize_t call_readv(const struct fm_rw *rw, const struct iovec *iov,
			  int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, readv, SYS_readv, rw->fd, iov, cnt);
}

static ssize_t call_writev(const struct fm_rw *rw, const struct iovec *iov,
			   int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, writev, SYS_writev, rw->fd, iov, cnt);
}

/* The kernel takes the offset in two halves; libc's wrappers know. */
static ssize_t call_preadv(const struct fm_rw *rw, const struct iovec *iov,
			   int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, preadv, SYS_preadv, rw->fd, iov, cnt, off);
}

static ssize_t call_pwritev(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, pwritev, SYS_pwritev, rw->fd, iov, cnt,
			   off);
}

/* Not FM_PASS: the system call has one argument more than the function. */
static ssize_t call_preadv2(const struct fm_rw *rw, const struct iovec *iov,
			    int cnt, off_t off)
{
	if (!rw->raw && FM_FOUND(preadv2))
		return FM_FOUND(preadv2)(rw->fd, iov, cnt, off, rw->flags);
	return fm_result(fm_syscall(SYS_preadv2, rw->fd, iov, cnt, off, 0,
				    rw->flags));
}

static ssize_t call_pwritev2(const struct fm_rw *rw, const struct iovec *iov,
			     int cnt, off_t off)
{
	if (!rw->raw && FM_FOUND(pwritev2))
		return FM_FOUND(pwritev2)(rw->fd, iov, cnt, off, rw->flags);
	return fm_result(fm_syscall(SYS_pwritev2, rw->fd, iov, cnt, off, 0,
				    rw->flags));
}

static ssize_t call_vmsplice(const struct fm_rw *rw, const struct iovec *iov,
			     int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, vmsplice, SYS_vmsplice, rw->fd, iov,
			   (size_t)cnt, (unsigned)rw->flags);
}

/* The array is read once; the kernel says what is wrong with the rest. */
FM_SLOW ssize_t io_vec_guarded(struct fm_rw *rw, const struct iovec *iov,
			       int cnt)
{
	struct fm_vec v;
	ssize_t r = fm_vec_read(&v, iov, (size_t)cnt);

	if (r == -EFAULT)
		return rw->call(rw, FM_NOWHERE, cnt, rw->off);
	if (r < 0)
		return fm_result(r);
	rw->iov = v.iov;
	rw->cnt = cnt;
	r = rw->call == call_vmsplice ? fm_transfer(rw) : fm_rw(rw);
	fm_vec_free(&v, (size_t)cnt);
	return r;
}

/* Arguments that the kernel refuses are left to it. */
static bool odd(const struct iovec *iov, int cnt)
{
	return cnt <= 0 || cnt > IOV_MAX || (uintptr_t)iov < 4096;
}

/* `at`: its offset is one. What flags ask for, such as not to wait, is done if
 * it can be. */
static ssize_t io_vec_any(struct fm_rw rw, const struct iovec *iov, int cnt,
			  bool at)
{
	unsigned slot;
	ssize_t r;

	if (rw.in && at && fm_may_be_sourced() &&
	    fm_backing_reads(rw.fd, iov, cnt, rw.off, &r))
		return r;
	if (fm_idle() || odd(iov, cnt) || !at)
		return rw.call(&rw, iov, cnt, rw.off);
	if (!(rw.in ? fm_note_read(rw.fd, &slot) :
		      fm_note_write(rw.fd, &slot)))
		return io_vec_guarded(&rw, iov, cnt);
	r = rw.call(&rw, iov, cnt, rw.off);
	if (!rw.in) {
		fm_write_leave(slot);
		return r;
	}
	fm_read_leave(slot);
	return rw.off == FM_HERE ? fm_ipc_after(r) : r;
}

#define CALL(name, reads, ...)                                             \
	(struct fm_rw) { .fd = fd, .raw = raw, .in = reads,                \
			 .call = call_##name, __VA_ARGS__ }

ssize_t fm_do_readv(bool raw, int fd, const struct iovec *iov, int cnt)
{
	return io_vec_any(CALL(readv, true, .off = FM_HERE), iov, cnt, true);
}

ssize_t fm_do_writev(bool raw, int fd, const struct iovec *iov, int cnt)
{
	return io_vec_any(CALL(writev, false, .off = FM_HERE), iov, cnt, true);
}

ssize_t fm_do_preadv(bool raw, int fd, const struct iovec *iov, int cnt,
		     off_t off)
{
	return io_vec_any(CALL(preadv, true, .off = off), iov, cnt, off >= 0);
}

ssize_t fm_do_pwritev(bool raw, int fd, const struct iovec *iov, int cnt,
		      off_t off)
{
	return io_vec_any(CALL(pwritev, false, .off = off), iov, cnt, off >= 0);
}

/* Offset -1 means the descriptor's position. */
ssize_t fm_do_preadv2(bool raw, int fd, const struct iovec *iov, int cnt,
		      off_t off, int flags)
{
	return io_vec_any(CALL(preadv2, true, .off = off, .flags = flags), iov,
			  cnt, off >= FM_HERE);
}

ssize_t fm_do_pwritev2(bool raw, int fd, const struct iovec *iov, int cnt,
		       off_t off, int flags)
{
	return io_vec_any(CALL(pwritev2, false, .off = off, .flags = flags),
			  iov, cnt, off >= FM_HERE);
}

/* The pipe keeps references to pages: to those of a copy, which a later store
 * to the mapping does not change. */
ssize_t fm_do_vmsplice(bool raw, int fd, const struct iovec *iov, size_t cnt,
		       unsigned flags)
{
	long fl;

	fm_ipc_before();
	if (!fm_looks() || cnt > IOV_MAX || odd(iov, (int)cnt))
		return fm_ipc_after(FM_PASS_VIA(raw, vmsplice, SYS_vmsplice, fd,
						iov, cnt, flags));
	fl = fm_sys2(SYS_fcntl, fd, F_GETFL);
	return io_vec_guarded(
		&CALL(vmsplice, fl >= 0 && (fl & O_ACCMODE) == O_RDONLY,
		      .flags = (int)flags, .keeps = true),
		iov, (int)cnt);
}

/* ---- process_vm_readv and writev --------------------------------------- */

struct vm_side {
	const struct iovec *iov;
	size_t left, skip;
};

static struct iovec vm_next(struct vm_side *s)
{
	while (s->left && s->skip == s->iov->iov_len) {
		s->iov++;
		s->left--;
		s->skip = 0;
	}
	if (!s->left)
		return (struct iovec){ NULL, 0 };
	return (struct iovec){ (char *)s->iov->iov_base + s->skip,
			       s->iov->iov_len - s->skip };
}

struct vm_call {
	pid_t pid;
	bool raw, write, self;
	struct vm_side local, remote;
};

/* Both sides cannot be held at once, as they are the same pages in two
 * mappings. */
static ssize_t vm_twice(const struct vm_call *v, struct iovec from,
			struct iovec to)
{
	struct fm_pin pin = FM_PIN_INIT;
	char mem[1024];
	struct iovec m = { mem, sizeof(mem) };
	ssize_t n;

	if (m.iov_len > from.iov_len)
		m.iov_len = from.iov_len;
	from.iov_len = m.iov_len;
	fm_pin(&pin, from.iov_base, from.iov_len, false);
	n = FM_PASS_VIA(v->raw, process_vm_readv, SYS_process_vm_readv, v->pid,
			&m, 1ul, &from, 1ul, 0ul);
	fm_unpin(&pin);
	if (n <= 0)
		return n;
	to.iov_len = m.iov_len = (size_t)n;
	fm_pin(&pin, to.iov_base, to.iov_len, true);
	n = FM_PASS_VIA(v->raw, process_vm_writev, SYS_process_vm_writev,
			v->pid, &m, 1ul, &to, 1ul, 0ul);
	fm_unpin(&pin);
	return n;
}

static ssize_t vm_piece(struct vm_call *v, struct iovec l, struct iovec r)
{
	const size_t limit = fm_pin_limit() / 2;
	const size_t most = limit > 8192 ? limit - 4096 : 1024;
	struct fm_pin pin = FM_PIN_LETS;
	ssize_t n;

	if (l.iov_len > r.iov_len)
		l.iov_len = r.iov_len;
	if (l.iov_len > most)
		l.iov_len = most;
	r.iov_len = l.iov_len;
	fm_pin(&pin, l.iov_base, l.iov_len, !v->write);
	if (v->self &&
	    fm_pin(&pin, r.iov_base, r.iov_len, v->write) == -EBUSY) {
		fm_unpin(&pin);
		return v->write ? vm_twice(v, l, r) : vm_twice(v, r, l);
	}
	n = v->write ? FM_PASS_VIA(v->raw, process_vm_writev,
				   SYS_process_vm_writev, v->pid, &l, 1ul, &r,
				   1ul, 0ul)
		     : FM_PASS_VIA(v->raw, process_vm_readv,
				   SYS_process_vm_readv, v->pid, &l, 1ul, &r,
				   1ul, 0ul);
	fm_unpin(&pin);
	if (pin.lost && (n >= 0 || errno == EFAULT))
		return n < 0 ? 0 : n; /* and the rest */
	return n == (ssize_t)l.iov_len || n < 0 ? n : -n - 2; /* short */
}

/* Not atomic in the kernel either. */
static ssize_t vm_run(struct vm_call *v)
{
	const int saved = errno;
	ssize_t done = 0;

	for (;;) {
		struct iovec l = vm_next(&v->local), r = vm_next(&v->remote);
		ssize_t n;

		if (!l.iov_len || !r.iov_len)
			return done;
		n = vm_piece(v, l, r);
		if (n < -1) /* short: the last piece */
			return done + (-n - 2);
		if (n < 0) {
			if (!done)
				return -1;
			errno = saved;
			return done;
		}
		v->local.skip += (size_t)n;
		v->remote.skip += (size_t)n;
		done += n;
	}
}

static ssize_t vm_call(bool raw, pid_t pid, bool write, const struct iovec *l,
		       unsigned long ln, const struct iovec *r,
		       unsigned long rn, unsigned long flags)
{
	return write ? FM_PASS_VIA(raw, process_vm_writev,
				   SYS_process_vm_writev, pid, l, ln, r, rn,
				   flags) :
		       FM_PASS_VIA(raw, process_vm_readv, SYS_process_vm_readv,
				   pid, l, ln, r, rn, flags);
}

static ssize_t vm_copied(bool raw, pid_t pid, bool write, const struct iovec *l,
			 size_t ln, const struct iovec *r, size_t rn)
{
	const bool self = pid == fm_sys_getpid();
	struct vm_call v = {
		pid, raw, write, self, { l, ln, 0 }, { r, rn, 0 }
	};

	if (fm_iov_touches(l, (int)ln) || (self && fm_iov_touches(r, (int)rn)))
		return vm_run(&v);
	return vm_call(raw, pid, write, l, ln, r, rn, 0);
}

FM_SLOW ssize_t vm_guarded(bool raw, pid_t pid, bool write,
			   const struct iovec *l, size_t ln,
			   const struct iovec *r, size_t rn)
{
	struct fm_vec vl, vr;
	ssize_t ret;
	int el = fm_vec_read(&vl, l, ln), er = fm_vec_read(&vr, r, rn);

	if (!el && !er)
		ret = vm_copied(raw, pid, write, vl.iov, ln, vr.iov, rn);
	else if (el == -ENOMEM || er == -ENOMEM)
		ret = fm_result(-ENOMEM);
	else
		ret = vm_call(raw, pid, write, el ? FM_NOWHERE : vl.iov, ln,
			      er ? FM_NOWHERE : vr.iov, rn, 0);
	fm_vec_free(&vl, ln);
	fm_vec_free(&vr, rn);
	return ret;
}

static ssize_t vm_any(bool raw, pid_t pid, bool write, const struct iovec *l,
		      unsigned long ln, const struct iovec *r,
		      unsigned long rn, unsigned long flags)
{
	if (!fm_looks() || flags || !l || !r || ln > IOV_MAX || rn > IOV_MAX)
		return vm_call(raw, pid, write, l, ln, r, rn, flags);
	return vm_guarded(raw, pid, write, l, ln, r, rn);
}

ssize_t fm_do_process_vm_readv(bool raw, pid_t pid, const struct iovec *l,
			       unsigned long ln, const struct iovec *r,
			       unsigned long rn, unsigned long flags)
{
	return vm_any(raw, pid, false, l, ln, r, rn, flags);
}

ssize_t fm_do_process_vm_writev(bool raw, pid_t pid, const struct iovec *l,
				unsigned long ln, const struct iovec *r,
				unsigned long rn, unsigned long flags)
{
	return vm_any(raw, pid, true, l, ln, r, rn, flags);
}
