/* SPDX-License-Identifier: MIT */
/*
 * fastmap.h - what a program may ask of libfastmap.
 *
 * Needs nothing at link time: the names are weak, and the functions below are
 * inline. Where the library has been preloaded (`fastmap run -- program`) or
 * linked they call it. Where it has not, or is turned off, fastmap_map, _unmap,
 * _sync and _resident are mmap, munmap, msync and mincore, and all others fail
 * with ENOSYS, which a program may ignore: none changes what memory shows.
 * Programs of every kind find it: position-independent, as compilers make them
 * by default, and not (clang: on x86-64).
 *
 * A range is the bytes [addr, addr + len), whichever way they are mapped; it
 * counts to whole pages of 4 KiB, all that it touches. Ranges may overlap, and
 * may hold memory that is no file's: nothing is done there. A length of 0 is an
 * empty range.
 *
 * Errors: as libc's, -1 and errno. EFAULT where the range itself cannot be
 * read is not promised: pass pointers that are good.
 *
 * Threads: any number may call any function at once, also for the same range.
 * Signals: no function may be called in a signal handler, except
 * fastmap_available. None is a cancellation point, except fastmap_sync.
 * Fork: tickets of the parent are over in the child.
 */
#ifndef FASTMAP_H
#define FASTMAP_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The interface that this header is of: it only grows. */
#define FASTMAP_API 1

struct fastmap_range {
	void *addr;
	size_t len; /* bytes */
};

/* What has been asked for ahead (fastmap_wait). Never negative; 0 is over. */
typedef int64_t fastmap_ticket;

/* The sums of this process, since it began unless it says now. Bytes where it
 * does not say pages. They are the engine's: of what the kernel serves from the
 * start there is no count, not of files or of pages asked for either; tickets
 * are of both. New members come at the end. */
struct fastmap_stat {
	uint64_t size;           /* bytes of this that have been filled in */
	uint64_t cache_limit;    /* that the engine may keep now; 0: there is
				    none, the kernel serves all */
	uint64_t cache_resident; /* that it keeps now */
	uint64_t dirty;          /* of that stored to and not written, now */
	uint64_t engine_files;   /* files that the engine serves now */
	uint64_t kernel_files;   /* that it served, and the kernel does now */
	uint64_t faults;         /* times that a page was not there and had
				    not been read ahead, or was stored to
				    for the first time */
	uint64_t reads;          /* requests to the device */
	uint64_t read_bytes;
	uint64_t ahead_pages;    /* pages that were read ahead, asked or not */
	uint64_t ahead_waste;    /* of these, dropped before they were used */
	uint64_t ahead_refused;  /* pages asked for that had no room */
	uint64_t evicted_pages;  /* that made room for others */
	uint64_t written_bytes;  /* to the files */
	uint64_t write_errors;
	uint64_t tickets;        /* that are not over, now */
	uint64_t answered;       /* faults, and times that what had been
				    read ahead was mapped, by a touch or
				    before one: the "faults" of the line at
				    the end of a program */
	uint64_t kernel_bytes;   /* mapped now, and served by the kernel; of
				    files that we may serve or advise */
	uint64_t kernel_asked;   /* bytes of these that prefetch has asked the
				    kernel for */
	uint64_t major_faults;   /* of the process, as the kernel counts them:
				    times that a thread waited while the
				    kernel read a page */
};

/* ---- in the library ------------------------------------------------------ */

/* gcc: by an address that the loader fills in, in every kind of program. */
#ifdef FASTMAP_LIBRARY
#define FASTMAP_WEAK __attribute__((visibility("default")))
#elif defined(__GNUC__) && !defined(__clang__)
#define FASTMAP_WEAK __attribute__((weak, noplt))
#else
#define FASTMAP_WEAK __attribute__((weak))
#endif
/* The inline function of the same name must not become that symbol. */
#ifdef FASTMAP_LIBRARY
#define FASTMAP_DECLARE(type, name, args) extern type name args FASTMAP_WEAK
#elif defined(__clang__) && defined(__x86_64__) && !defined(__PIC__)
/* clang takes the address by a number that the linker makes 0. */
#define FASTMAP_DECLARE(type, name, args)                               \
	typedef type name##_type_ args;                                 \
	static inline name##_type_ *name##_found_(void)                 \
	{                                                               \
		name##_type_ *at_;                                      \
		__asm__(".weak " #name "\n\tmovq " #name                \
			"@GOTPCREL(%%rip), %0" : "=r"(at_));            \
		return at_;                                             \
	}                                                               \
	static inline type name args __asm__("inline_" #name)
#define FASTMAP_LIB(name) fastmap_##name##_found_()
#else
#define FASTMAP_DECLARE(type, name, args)                           \
	extern type name##_call_ args __asm__(#name) FASTMAP_WEAK;  \
	static inline type name args __asm__("inline_" #name)
#define FASTMAP_LIB(name) fastmap_##name##_call_
#endif

FASTMAP_DECLARE(int, fastmap_available, (void));
FASTMAP_DECLARE(void *, fastmap_map, (void *, size_t, int, int, int, off_t));
FASTMAP_DECLARE(int, fastmap_unmap, (void *, size_t));
FASTMAP_DECLARE(int, fastmap_sync, (void *, size_t));
FASTMAP_DECLARE(fastmap_ticket, fastmap_prefetch,
		(const struct fastmap_range *, size_t, unsigned));
FASTMAP_DECLARE(int, fastmap_wait, (fastmap_ticket, int));
FASTMAP_DECLARE(int, fastmap_ticket_fd, (fastmap_ticket));
FASTMAP_DECLARE(int, fastmap_release, (const struct fastmap_range *, size_t));
FASTMAP_DECLARE(int, fastmap_pin, (const struct fastmap_range *, size_t));
FASTMAP_DECLARE(int, fastmap_unpin, (const struct fastmap_range *, size_t));
FASTMAP_DECLARE(int, fastmap_advise,
		(const struct fastmap_range *, size_t, int, size_t));
FASTMAP_DECLARE(int, fastmap_resident, (void *, size_t, unsigned char *));
FASTMAP_DECLARE(int, fastmap_stat, (struct fastmap_stat *, size_t));
FASTMAP_DECLARE(int, fastmap_why, (const void *, char *, size_t));
FASTMAP_DECLARE(int, fastmap_set, (const char *, const char *));

/* ---- for the program ----------------------------------------------------- */

#ifndef FASTMAP_LIBRARY

/* Is the library in this process, and not turned off? Then the functions below
 * are its own. In a signal handler, too. */
static inline int fastmap_available(void)
{
	return FASTMAP_LIB(available) ? FASTMAP_LIB(available)() : 0;
}

/* Strict C hides its declaration. */
extern int fastmap_mincore_(void *, size_t, unsigned char *)
	__asm__("mincore");

static inline int fastmap_missing_(void)
{
	errno = ENOSYS;
	return -1;
}

/*
 * Map a file as mmap(2) does, with the same arguments, errors and bytes; the
 * engine serves it, whatever FASTMAP_PATHS says, how long it is, and although
 * it is in the page cache. A policy file that denies this file to the engine is
 * heeded. Where the engine may not have the file or cannot run here, the kernel
 * serves it, by our advice if it may be advised: that is no error, and
 * fastmap_why tells. Not a file: as mmap.
 *
 * Returns the address, or MAP_FAILED and errno.
 */
static inline void *fastmap_map(void *addr, size_t len, int prot, int flags,
				int fd, off_t off)
{
	return FASTMAP_LIB(map) ?
		       FASTMAP_LIB(map)(addr, len, prot, flags, fd, off) :
		       mmap(addr, len, prot, flags, fd, off);
}

/* munmap(2), of whatever is mapped there. */
static inline int fastmap_unmap(void *addr, size_t len)
{
	return FASTMAP_LIB(unmap) ? FASTMAP_LIB(unmap)(addr, len) :
				     munmap(addr, len);
}

/* msync(2) with MS_SYNC: when it returns 0, what has been stored there is
 * durable. addr is a multiple of the page size (EINVAL). EIO, ENOSPC, EDQUOT,
 * or what else a device or a file system says (ESTALE): writing failed, now or
 * before. ENOMEM: something there is not mapped. */
static inline int fastmap_sync(void *addr, size_t len)
{
	return FASTMAP_LIB(sync) ? FASTMAP_LIB(sync)(addr, len) :
				    msync(addr, len, MS_SYNC);
}

/*
 * Begin to read n ranges into memory, and return at once. What is there
 * already, or under way, is not read again; as many reads are under way as keep
 * the device busy. Never more than the cache takes: what has no room is left
 * out (ahead_refused). Where the kernel serves the memory its readahead is
 * asked, for half of the free memory at most. flags: 0.
 *
 * Returns a ticket for fastmap_wait; nobody need wait for it, nor give it back.
 * It is 0, which is over, when nothing has to be read, or when 64 tickets are
 * out: the reads go on, but cannot be waited for. -1: EINVAL (flags).
 */
static inline fastmap_ticket fastmap_prefetch(const struct fastmap_range *range,
					      size_t n, unsigned flags)
{
	return FASTMAP_LIB(prefetch) ?
		       FASTMAP_LIB(prefetch)(range, n, flags) :
		       fastmap_missing_();
}

/*
 * Wait until all that a prefetch has begun has come, failed or been given up,
 * for `ms` milliseconds at most (-1: as long as it takes; 0: only look). 0: it
 * is over. -1: ETIMEDOUT; EINTR, a signal came; EINVAL, no such ticket. It
 * promises no more than that: what came may have left again.
 */
static inline int fastmap_wait(fastmap_ticket ticket, int ms)
{
	return FASTMAP_LIB(wait) ? FASTMAP_LIB(wait)(ticket, ms) :
				    fastmap_missing_();
}

/*
 * A descriptor for poll(2): readable (POLLIN) when the ticket is over. It is
 * the caller's, who closes it. A ticket that is not over has one; of one that
 * is over, such as 0, each call makes another, which is readable at once. -1:
 * EBUSY, it has one and is not over; EINVAL, no such ticket; EMFILE, ENFILE,
 * ENOMEM.
 */
static inline int fastmap_ticket_fd(fastmap_ticket ticket)
{
	return FASTMAP_LIB(ticket_fd) ? FASTMAP_LIB(ticket_fd)(ticket) :
					 fastmap_missing_();
}

/*
 * Give the memory of n ranges back: it is not needed soon. What is dirty is
 * written first, so this may wait for the device; the bytes stay those of the
 * file, and the next touch reads them again. Private pages of the program's own
 * stay. What is locked, or in use by others, stays as well, which is no error.
 * -1: EIO, ENOSPC, EDQUOT and the like: it could not be written, and stays.
 */
static inline int fastmap_release(const struct fastmap_range *range, size_t n)
{
	return FASTMAP_LIB(release) ? FASTMAP_LIB(release)(range, n) :
				       fastmap_missing_();
}

/*
 * Pages of n ranges that are in memory, or come there, leave last: when all
 * others have less than an eighth of the cache, which one line says. Until they
 * are unpinned, or nothing of their file is mapped. Counted once, however often
 * they are pinned. Who reads them first is fastmap_prefetch. A child of fork
 * has no pins.
 *
 * Where the kernel serves the memory its pages are locked when they come
 * (mlock2, MLOCK_ONFAULT), and stay in memory for good: for 7/8 of the memory
 * that the program may use at most. They go along when the file changes its
 * server; one line says so where they could not. What the program has locked
 * itself stays locked when it is unpinned.
 *
 * 0. -1, only where the kernel serves: ENOMEM, EPERM, more may not be locked
 * (RLIMIT_MEMLOCK, the 7/8), or these are more than some hundred pieces. The
 * ranges before that one are pinned.
 */
static inline int fastmap_pin(const struct fastmap_range *range, size_t n)
{
	return FASTMAP_LIB(pin) ? FASTMAP_LIB(pin)(range, n) :
				   fastmap_missing_();
}

static inline int fastmap_unpin(const struct fastmap_range *range, size_t n)
{
	return FASTMAP_LIB(unpin) ? FASTMAP_LIB(unpin)(range, n) :
				     fastmap_missing_();
}

/* How a range is going to be read. */
enum {
	FASTMAP_NORMAL,     /* see for yourself: as it begins */
	FASTMAP_RANDOM,     /* here and there: nothing is read ahead */
	FASTMAP_SEQUENTIAL, /* once, in order: what has been passed may leave */
};

/*
 * One of these, for n ranges. depth: how many bytes before a reader may be read
 * ahead, whatever the setting map-ahead says; an eighth of the cache at most.
 * Less than two pages turn reading ahead off, 0 is the library's choice. Each
 * mapping has one such advice, the last that was given to half of it or more.
 * Where the kernel serves the memory it has the pattern alone, and a file that
 * comes back from there has the library's depth. -1: EINVAL, no such pattern;
 * ENOMEM, something there is not mapped, and the rest has been advised.
 */
static inline int fastmap_advise(const struct fastmap_range *range, size_t n,
				 int pattern, size_t depth)
{
	return FASTMAP_LIB(advise) ?
		       FASTMAP_LIB(advise)(range, n, pattern, depth) :
		       fastmap_missing_();
}

/*
 * Which pages are in memory: mincore(2), where what the engine has counts, too.
 * vec has a byte for each page of the range, whose lowest bit tells. addr is a
 * multiple of the page size (EINVAL). ENOMEM: something there is not mapped.
 */
static inline int fastmap_resident(void *addr, size_t len, unsigned char *vec)
{
	return FASTMAP_LIB(resident) ?
		       FASTMAP_LIB(resident)(addr, len, vec) :
		       fastmap_mincore_(addr, len, vec);
}

/* What has been done, in numbers. size is sizeof(*ret); an older library leaves
 * members that it does not know at 0. -1: EINVAL, size is below 8. */
static inline int fastmap_stat(struct fastmap_stat *ret, size_t size)
{
	return FASTMAP_LIB(stat) ? FASTMAP_LIB(stat)(ret, size) :
				    fastmap_missing_();
}

/*
 * Who serves the memory at addr, and why, as a line for people (its words may
 * change): "the engine", "the kernel: used by another process". Ends with a
 * zero, cut to size bytes. Returns its length without that, as snprintf does:
 * size or more, it was cut. -1: ENOMEM, no file that we know is mapped there,
 * or one that a setting denies us.
 */
static inline int fastmap_why(const void *addr, char *buf, size_t size)
{
	return FASTMAP_LIB(why) ? FASTMAP_LIB(why)(addr, buf, size) :
				   fastmap_missing_();
}

/*
 * Another value for a setting of this process: the keys and values of
 * `fastmap set`, as "cache", "2G". It stays, whatever a policy file says that
 * is read again. One that has no effect before a file is served is kept till
 * then; a cache larger than there is room for is as large as that
 * (fastmap_stat). -1: ENOENT, no such key; EPERM, it cannot change while the
 * process runs; EINVAL, a bad value; ERANGE, out of range; ENOMEM. Then all is
 * as it was.
 */
static inline int fastmap_set(const char *key, const char *value)
{
	return FASTMAP_LIB(set) ? FASTMAP_LIB(set)(key, value) :
				   fastmap_missing_();
}

#endif

#ifdef __cplusplus
}
#endif

#endif
