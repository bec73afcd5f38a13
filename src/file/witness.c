/* SPDX-License-Identifier: MIT */
#include "witness.h"

#include "base/apart.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "file.h"
#include "io/io.h"
#include "tunables.h"

#define WINDOW 4096 /* size: pages: for files that grow, stores in order */
/* Slots of a page, the mark behind them. Direct writes take whole units of the
 * device; of the others, which are copies, some more may be under way. */
#define UNITS 6 /* size: slots of a page */
#define UNIT 512 /* ABI: bytes: of most devices */
#define PIECES 15 /* size: slots of a page */
#define PIECE 64 /* size: bytes */
#define SLOTS (UNITS + PIECES)
#define MARK (UNITS * UNIT + PIECES * PIECE)
#define BYTES ((size_t)WINDOW << FM_PAGE_SHIFT)

#define NEVER UINT64_MAX

static struct witness {
	struct fm_lock lock;
	char *mem;      /* a private window on the file, and a shared one */
	uint64_t first; /* its first page */
	uint64_t page;  /* that has been stored to; 0: none */
	uint64_t mark;  /* in it */
	_Atomic uint32_t used; /* bits: slots */
	uint64_t not_before_ms; /* could not be mapped; NEVER: cannot be */
	struct iovec vec[SLOTS][2];
} table[FM_MAX_FILES] = {
	[0 ... FM_MAX_FILES - 1] = { .lock = FM_LOCK(FM_RANK_WITNESS) },
};

/* ---- memory that may be gone --------------------------------------------- */

static FM_FAULT bool witness_put(void *to, const void *from, size_t n)
{
	return fm_sys_vm_copy(SYS_process_vm_writev, (void *)(uintptr_t)from,
			      to, n) == (long)n;
}

/* ---- the windows --------------------------------------------------------- */

struct job {
	const struct fm_file *file;
	char *mem;
	uint64_t first;
	long res;
};

static long map_part(const struct job *j, int fd, size_t at, int flags)
{
	const off_t off = (off_t)(j->first << FM_PAGE_SHIFT);

	flags |= MAP_FIXED | MAP_NORESERVE;
	return (long)(intptr_t)fm_sys_mmap(j->mem + at, BYTES,
					   PROT_READ | PROT_WRITE, flags, fd,
					   off);
}

/* In a process of its own. By a descriptor that is open already: to open one
 * would look like another process that does. */
static void map_both(void *arg)
{
	struct job *j = arg;
	int fd = fm_store_of(j->file)->dup(j->file);

	j->res = fd;
	if (fd < 0)
		return;
	j->res = map_part(j, fd, 0, MAP_PRIVATE);
	if (j->res > 0)
		j->res = map_part(j, fd, BYTES, MAP_SHARED);
	fm_sys_close(fd);
}

static FM_FAULT bool witness_reserve(struct witness *w)
{
	void *p = w->mem ? w->mem : fm_sys_far(2 * BYTES, PROT_NONE);

	if ((uintptr_t)p >= (uintptr_t)-4095)
		return false;
	w->mem = p;
	return true;
}

/* Want of memory, processes or descriptors passes. */
static FM_FAULT uint64_t next_try_ms(long err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EMFILE ||
			       err == -ENFILE ?
		       fm_now_ms() + fm_tune.wb_again_ms :
		       NEVER;
}

/* No child of fork has them: they name no file of its own. */
static FM_FAULT long map_windows(struct job *j)
{
	uint64_t old;
	long err;

	fm_ring_dup_begin(&old);
	err = fm_apart(map_both, j);
	fm_ring_dup_end(&old);
	if (!err && j->res <= 0)
		err = j->res;
	return err ? err : fm_sys_madvise(j->mem, 2 * BYTES, MADV_DONTFORK);
}

static FM_FAULT bool witness_window(struct witness *w, struct fm_file *f,
				    uint64_t page)
{
	struct job j = { .file = f, .first = page & ~(WINDOW / 2 - 1ull) };
	long err;

	if (w->mem && page - w->first < WINDOW)
		return true;
	if (fm_now_ms() < w->not_before_ms || !fm_ring_may_dup() ||
	    !witness_reserve(w))
		return false;
	j.mem = w->mem;
	err = map_windows(&j);
	if (err) {
		w->not_before_ms = next_try_ms(err);
		fm_sys_munmap(w->mem, 2 * BYTES);
		w->mem = NULL;
		return false;
	}
	fm_sys_madvise(w->mem, 2 * BYTES, MADV_DONTDUMP);
	fm_sys_madvise(w->mem, 2 * BYTES, MADV_RANDOM);
	w->first = j.first;
	return true;
}

static FM_FAULT char *witness_at(const struct witness *w, uint64_t page)
{
	return w->mem + ((page - w->first) << FM_PAGE_SHIFT);
}

static FM_FAULT char *mark_of(const struct witness *w)
{
	return witness_at(w, w->page) + MARK;
}

/* A program that has confined itself may be ended for the look. */
static FM_FAULT bool witness_is_there(const struct witness *w)
{
	uint64_t mark = 0;

	if (fm_sys_confined())
		return w->page;
	return w->page &&
	       fm_sys_vm_copy(SYS_process_vm_readv, &mark, mark_of(w),
			    sizeof(mark)) == sizeof(mark) &&
	       mark == w->mark;
}

/* ---- one that is near the end -------------------------------------------- */

static FM_FAULT void dismiss(struct witness *w)
{
	if (w->page)
		fm_sys_madvise(witness_at(w, w->page), FM_PAGE, MADV_DONTNEED);
	w->page = 0;
}

/* The page that has the last byte of f, which is to end at or behind `end`. */
static FM_FAULT int appoint(struct witness *w, struct fm_file *f, uint64_t end)
{
	uint64_t size = (uint64_t)fm_file_size_now(f), page;

	if (size < end)
		return -EFAULT;
	page = (size - 1) >> FM_PAGE_SHIFT;
	if (end > page << FM_PAGE_SHIFT)
		return -ERANGE;
	if (w->used)
		return -EAGAIN; /* until they have ended */
	dismiss(w);
	if (!witness_window(w, f, page))
		return -ENOSYS;
	w->page = page;
	w->mark = fm_now_ns() | 1;
	if (witness_put(mark_of(w), &w->mark, sizeof(w->mark)))
		return 0;
	w->page = 0;
	return (uint64_t)fm_file_size_now(f) < end ? -EFAULT : -EIO;
}

/* As bits: the slots that io can have. */
static FM_FAULT uint32_t slots_of(const struct fm_io *io)
{
	return (1u << (io->buffered ? SLOTS : UNITS)) - 1;
}

static FM_FAULT char *slot_at(const struct witness *w, uint32_t k)
{
	const uint32_t off = k < UNITS ? k * UNIT :
					 UNITS * UNIT + (k - UNITS) * PIECE;

	return witness_at(w, w->page) + off;
}

/* A free slot for io, a small one rather than a unit. Bytes from memory that
 * has gone fail, as the write would. */
static FM_FAULT int witness_take(struct witness *w, struct fm_io *io)
{
	const uint32_t left = slots_of(io) & ~w->used;
	uint32_t k;
	size_t n;
	char *slot;

	if (!left)
		return -EAGAIN;
	k = 31u - (uint32_t)__builtin_clz(left);
	n = fm_least(io->len, k < UNITS ? UNIT : PIECE);
	slot = slot_at(w, k);
	if (!witness_put(slot, io->buf,
			 n)) /* who has gone: the memory, or the page? */
		return witness_is_there(w) ? -EFAULT : -EAGAIN;
	w->vec[k][0] = (struct iovec){ slot, n };
	w->vec[k][1] = (struct iovec){ (char *)io->buf + n, io->len - n };
	w->used |= 1u << k;
	io->vec = w->vec[k];
	return 0;
}

FM_FAULT bool fm_witness_busy(const struct fm_io *io)
{
	return !(slots_of(io) & ~atomic_load(&table[io->file->id].used));
}

FM_FAULT int fm_witness_call(struct fm_io *io)
{
	struct witness *w = &table[io->file->id];
	uint64_t end = io->off + io->len;
	int err = 0;

	if (fm_sys_confined() ||
	    (!io->buffered && io->file->io->dio_align > UNIT))
		return -ENOSYS;
	fm_lock(&w->lock);
	if (!w->page || end > w->page << FM_PAGE_SHIFT || !witness_is_there(w))
		err = appoint(w, io->file, end);
	if (!err)
		err = witness_take(w, io);
	fm_unlock(&w->lock);
	return err;
}

FM_FAULT bool fm_witness_heard(struct fm_io *io)
{
	struct witness *w = &table[io->file->id];
	uint32_t k = (uint32_t)((io->vec - w->vec[0]) / 2);
	bool there;

	fm_lock(&w->lock);
	there = witness_is_there(w);
	w->used &= ~(1u << k);
	fm_unlock(&w->lock);
	io->vec = NULL;
	return there;
}

/* What one window has of it. Once they that have a witness in another have
 * ended. */
static FM_FAULT long store_some(struct witness *w, struct fm_file *f,
				uint64_t off, const char *buf, uint64_t len)
{
	const uint64_t page = off >> FM_PAGE_SHIFT;
	const bool far = w->mem && page - w->first >= WINDOW;
	uint64_t room;

	if (far && w->used)
		return -EAGAIN;
	if (far)
		dismiss(w);
	if (!witness_window(w, f, page))
		return -ENOSYS;
	room = ((w->first + WINDOW) << FM_PAGE_SHIFT) - off;
	return fm_sys_vm_copy(SYS_process_vm_readv,
			    witness_at(w, page) + BYTES + off % FM_PAGE,
			    (void *)(uintptr_t)buf, fm_least(len, room));
}

FM_FAULT long fm_witness_store(struct fm_file *f, uint64_t off,
			       const void *buf, uint64_t len)
{
	struct witness *w = &table[f->id];
	uint64_t done = 0;
	long n = 1;

	if (fm_sys_confined())
		return -ENOSYS;
	fm_lock(&w->lock);
	for (; done < len && n > 0; done += n > 0 ? (uint64_t)n : 0)
		n = store_some(w, f, off + done, (const char *)buf + done,
			       len - done);
	fm_unlock(&w->lock);
	return done ? (long)done : n;
}

/* ---- life ---------------------------------------------------------------- */

/* Nobody writes to it any more. */
static void witness_drop(struct fm_file *f)
{
	struct witness *w = &table[f->id];

	if (w->mem)
		fm_sys_munmap(w->mem, 2 * BYTES);
	w->mem = NULL;
	w->page = 0;
	w->used = 0;
	w->not_before_ms = 0;
}

FM_UP(file_closing, witness_drop)
FM_UP(file_hollow, witness_drop)

static void witness_reset(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct witness *w = &table[id];

		fm_lock_reset(&w->lock);
		w->mem = NULL;
		w->page = 0;
		w->used = 0;
		w->not_before_ms = 0;
	}
}

FM_LIFE(witness, .level = FM_LIFE_IO, .reset = witness_reset)
