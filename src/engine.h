/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what the shim may ask of the paging engine.
 *
 * This is all of src/ that the shim includes; rooms call some of it, too. Every
 * function returns 0 (or a count) or a negative errno; none touches errno, none
 * calls a libc name that the shim interposes. Addresses and lengths are bytes.
 * "Managed" means: the engine serves this address range instead of the kernel's
 * file mapping.
 *
 * Signal safety is stated per function:
 *   [fault]  callable from the fault handler (no malloc, no stdio, no lock
 *            that application code can hold, all signals blocked)
 *   [any]    callable from any thread outside the fault handler, and from the
 *            program's own signal handlers
 *   [plain]  any thread, not from a signal handler
 */
#ifndef FM_ENGINE_H
#define FM_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The ground that engine and shim stand on. */
#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"

struct stat;
struct fm_file;

/* ---- life ------------------------------------------------------------- */

/* Number of managed mappings ever published and still alive. Zero means that
 * every hook may go straight to libc. Read with fm_active(). */
extern _Atomic uint32_t fm_live_maps;

/* The program has, or had, more threads than one. The shim says so before. */
extern _Atomic bool fm_threads;

static inline bool fm_active(void)
{
	return atomic_load_explicit(&fm_live_maps, memory_order_relaxed) != 0;
}

/* [plain] Load configuration (environment, policy files) of the program of that
 * short name. Called once by the shim's constructor; starts no thread and opens
 * no descriptor. False: no file is ours. */
bool fm_engine_init(const char *progname, char **envp);

/* [any] Write every dirty block back (not durable, like the page cache). */
void fm_engine_flush_all(void);

/* [any] The same before fork, spawn, exec and _exit: from then on another
 * process may have descriptors of files that we map. */
void fm_engine_flush_for_others(void);
/* [any] Before fork: the same, and what is not much stays in the page cache,
 * where a child that uses the mapping looks for it. */
void fm_engine_flush_for_fork(void);

/* [plain] Normal end of the process: flush, write statistics. The fault path
 * stays alive, other destructors may still touch mapped memory. Idempotent. */
void fm_engine_exit(void);
/* [any] Another program takes the place of this one, which has flushed: the
 * kernel serves what is mapped, if that fails. */
void fm_engine_before_exec(void);

/* ---- the address space ------------------------------------------------ */

/* [any] Whether [addr, addr+len) touches managed memory. A few ns. */
bool fm_overlaps(const void *addr, size_t len);
/* [plain] The program is about to unmap the range. In a child of fork a file of
 * which it has nothing else is not put in place for that, and nobody has to
 * hand it over. */
void fm_fork_unmaps(const void *addr, size_t len);

/* [plain] The whole of mmap(2) for a file descriptor that may be ours:
 * decides, maps, adopts. Returns the address or -errno cast to a pointer
 * (kernel convention, see fm_is_err). Also used for every MAP_FIXED mapping
 * over managed memory. */
void *fm_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);

/* [any] mmap(2) of a small window, or of one too short for the engine, that
 * surely is the kernel's to serve, as a rule without a lock; NULL: not known to
 * be one, or refused. See kernel_windows.h. */
void *fm_mmap_window(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off);

/* [any] Short mappings are noted until they are unmapped (short_maps.h): those
 * in the range, before, and forgotten after. And a descriptor is closed, or
 * becomes another file. */
#define FM_SHORT_MAPS 16
bool fm_short_map_in(const void *addr, size_t len, uint64_t ret[FM_SHORT_MAPS]);
void fm_short_map_forget(const uint64_t what[FM_SHORT_MAPS]);
/* What is in the range, or a part, is about to be elsewhere (mremap). */
void fm_short_map_moves(const void *addr, size_t len);
void fm_short_map_closed(void);

static inline bool fm_is_err(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)-4095;
}

/* [any] These take ranges that may mix managed and kernel memory and behave
 * like the system call of the same name (return 0 or -errno). */
int fm_munmap(void *addr, size_t len);
int fm_msync(void *addr, size_t len, int flags);
int fm_madvise(void *addr, size_t len, int advice);
int fm_mprotect(void *addr, size_t len, int prot);
int fm_mincore(void *addr, size_t len, unsigned char *vec);
int fm_mlock(const void *addr, size_t len, unsigned flags);
int fm_munlock(const void *addr, size_t len);
/* RLIMIT_FSIZE is about to become this. */
void fm_limit_fsize(uint64_t limit);
int fm_mlockall(int flags);
int fm_munlockall(void);
/* prctl(PR_SET_MEMORY_MERGE, on, 0, 0, 0). */
int fm_memory_merge(unsigned long on);
void *fm_mremap(void *old, size_t old_len, size_t new_len, int flags,
		void *new_addr);
int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags);

/* ---- faults ----------------------------------------------------------- */

enum fm_fault_result {
	FM_FAULT_RETRY,   /* resolved (or somebody else did): run it again */
	FM_FAULT_BUS,     /* beyond end of file or I/O error: SIGBUS */
	FM_FAULT_SEGV,    /* protection violation: SIGSEGV */
	FM_FAULT_FOREIGN, /* not managed memory */
};

/* [fault] Resolve a fault at `addr`. `write`: the access was a store. */
enum fm_fault_result fm_fault(void *addr, bool write);
/* [fault] The same for a message about somebody else's access, which may have
 * gone on meanwhile. `protects`: fm_uffd_protects() before the message was
 * read. */
enum fm_fault_result fm_fault_message(void *addr, bool write,
				      uint64_t protects);

/* Delivery of faults, decided when the engine starts. */
enum fm_delivery { FM_DELIVERY_SIGNAL, FM_DELIVERY_THREAD };
enum fm_delivery fm_delivery(void);

/* The shim registers how to take over SIGBUS (called once, when the engine
 * starts with signal delivery, before the first range is registered), and how
 * to unblock it in the calling thread. Returns 0 or -errno. */
extern int (*fm_hook_take_signals)(void);

/* Set by the shim, which knows without a system call: is this the process whose
 * memory this is, and nobody who borrows or has copied it? */
extern bool (*fm_hook_is_me)(void);

/* ---- mapped memory handed to the kernel ------------------------------- */

/*
 * [any] Make [buf, buf+len) resident and keep it so until fm_unpin. `in`: the
 * kernel will store into it (lifts write protection, marks dirty). A thread
 * holds at most FM_PINS ranges at once; at most FM_PIN_MAX bytes each (the
 * caller splits longer transfers), and less when the cache is small: use
 * fm_pin_limit(). Returns the number of bytes from buf that are usable
 * (shorter when the rest lies beyond the end of file or is not accessible:
 * the caller passes the whole buffer on and lets the kernel give its answer),
 * or -errno: -EBUSY if another of its ranges keeps the pages from coming (the
 * same file pages in another mapping). Memory that is not managed counts as
 * usable and costs nothing.
 */
#define FM_PINS 8
#define FM_PIN_MAX (1u << 20)
struct fm_pin {
	uint8_t n;
	uint16_t slot[FM_PINS];
};
#define FM_PIN_INIT { 0, { 0 } }
ssize_t fm_pin(struct fm_pin *pin, const void *buf, size_t len, bool in);
void fm_unpin(struct fm_pin *pin);
/* Bytes that one thread may have pinned at once; >= 4 KiB. */
size_t fm_pin_limit(void);

/* ---- who serves a mapping ---------------------------------------------- */

/* Why the kernel does (file/server.h has the text of each and what helps). */
enum fm_server_reason {
	/* ... from the start, or when it is mapped again: */
	FM_WHY_NONE,
	FM_WHY_DENIED,
	FM_WHY_NOT_ENGAGED,
	FM_WHY_OBSERVED,
	FM_WHY_SHORT,
	FM_WHY_EXECUTABLE,
	FM_WHY_KIND,
	FM_WHY_CACHED,
	FM_WHY_WINDOW,
	FM_WHY_NO_CACHE,
	FM_WHY_NO_MEMORY,
	FM_WHY_LOCKED,
	FM_WHY_FSIZE,
	FM_WHY_RECORD_LOCKS,
	FM_WHY_SHARED,
	FM_WHY_WEARY,
	FM_WHY_RESIDUE,
	FM_WHY_HANDED,
	FM_WHY_NO_ENGINE,
	FM_WHY_NO_OPEN,
	FM_WHY_ASYNC,
	FM_WHY_OTHERS,
	/* ... from now on, what we served: */
	FM_WHY_PEER,
	FM_WHY_PEER_WROTE,
	FM_WHY_PEER_NATIVE,
	FM_WHY_SENT,
	FM_WHY_INHERITED,
	FM_WHY_ASYNC_OPEN,
	FM_WHY_AIO,
	FM_WHY_SPLICE,
	FM_WHY_LIMIT,
	FM_WHY_CACHE_GONE,
	FM_WHY_FITS,
	FM_WHY_BEYOND,
	FM_WHY_UNREADABLE,
	FM_WHY_PINNED,
	FM_WHY_CHANGED,
	FM_WHY_KERNEL_MAPS,
	FM_WHY_FORK,
	FM_WHY_ENDS,
	FM_WHY_EXEC,
	FM_WHY_MADVISE,
	FM_WHY_MLOCK,
	FM_WHY_MLOCKALL,
	FM_WHY_MERGE,
	FM_WHY_MREMAP,
	FM_WHY_MREMAP_PIECES,
	FM_WHY_REMAP,
	FM_WHY_PKEYS,
	FM_WHY_MSEAL,
	FM_WHY_IOCTL,
	FM_WHY_FUTEX,
	FM_WHY_SEMAPHORE,
	FM_WHY_MUTEX,
	FM_WHY_CONDITION,
	FM_WHY_RWLOCK,
	FM_WHY_BARRIER,
	FM_WHYS
};

/* ---- files ------------------------------------------------------------ */

/*
 * [any] Around a read or write of the program that is not held up, see
 * file/inflight_io.h. Enter returns a slot, which is to be left. One that is
 * not is taken back when its thread is gone (cancelled), not if that goes on (a
 * jump out of a signal handler).
 */
#define FM_READS_FULL 256
#define FM_CALL_OTHER (FM_READS_FULL + 1) /* no slot, and needs none */
unsigned fm_read_slot(int fd);
unsigned fm_write_slot(int fd);
void fm_read_leave(unsigned slot);
void fm_write_leave(unsigned slot);

/* No other thread has a call in flight, nor finds ours; and nothing is asked of
 * the kernel: a child that has confined itself may write, and no more. */
static inline bool fm_alone(void)
{
	return !fm_active() && !atomic_load_explicit(&fm_threads,
						     memory_order_relaxed);
}

static inline unsigned fm_read_enter(int fd)
{
	return fm_alone() ? FM_CALL_OTHER : fm_read_slot(fd);
}

/* Of a change that may turn out not to concern us: enter first, then look
 * whether the file is mapped. */
static inline unsigned fm_write_enter(int fd)
{
	return fm_alone() ? FM_CALL_OTHER : fm_write_slot(fd);
}

/* [any] After fm_read_enter: may the file be one with stores, or one that this
 * child of fork has not put in place yet? */
bool fm_inflight_look(void);

/* [any] Around a call that closes fd, or makes it another file. */
#define FM_ALL_FDS INT32_MIN
void fm_close_begins(int fd);
void fm_close_ends(int fd);

/* [any] The managed file behind a descriptor, with a reference, or NULL.
 * Cheap when nothing is managed; one fstat otherwise. */
struct fm_file *fm_file_by_fd(int fd);
struct fm_file *fm_file_by_stat(const struct stat *st);
void fm_file_put(struct fm_file *f);

/* [any] Heed what other processes have done to mapped files up to now: called
 * where one may have let this process go on (a lock taken, a child that has
 * ended), for the thread that listens may be milliseconds behind. Nothing while
 * nothing is mapped, a system call while nobody has done anything. */
void fm_peers_acquire(void);

/* by 1: from now on not any more in the program's threads, which are confined
 * to some system calls. By -1: they are not after all. */
void fm_hear_less(int by);

/* [any] The other way round, before a call that lets another process go on (a
 * lock given up, a message): who opens a file that we store to, or has opened
 * it, finds there what has been stored. As long as nobody has opened it, only
 * while that takes no more than a sixteenth of the time. Nothing while nothing
 * is dirty. */
void fm_peers_release(void);

/* [any] The same for the file of a descriptor that is about to be locked or
 * unlocked, however long it takes. */
void fm_tell_locked(int fd);

/* [any] Write dirty blocks of [off, off+len) back so that read(2) of the file
 * sees them (len 0: to the end). Not durable. 0 or -errno. */
int fm_file_flush(struct fm_file *f, off_t off, off_t len);

/* [any] The engine's part of fsync/fdatasync/syncfs on this file: write all
 * dirty blocks back; the caller then syncs its own descriptor. Reports a
 * write-back error. */
int fm_file_sync(struct fm_file *f);
/* [any] A write-back error of an open file of which nothing is mapped any more,
 * said once: 0 or -errno. There may be one. */
int fm_errseq_take(int fd);
extern _Atomic bool fm_errseq_some;

/*
 * [any] Before the program changes file bytes [off, off+len) by a system call
 * (len 0: to the end of everything): flush what is dirty there and hold every
 * block of the range so that stores and loads wait. After it: release, and
 * with `changed` forget our copies (they are read again on the next touch, or
 * at once where the caller has set `cached` and they are few). `discard`
 * (truncate down, collapse, insert): private copies of pages that lie wholly
 * beyond go too; that of a page which is cut stays, as with the kernel. Do not
 * fault on managed pages of this range between the two calls except through
 * fm_pin taken BEFORE lock. Not recursive.
 */
struct fm_range {
	struct fm_file *file;
	uint64_t first, stop;  /* pages */
	uint64_t whole;        /* first page that lies in it from its start */
	uint64_t mask;         /* signals stay blocked between the calls */
	/* a long range also keeps mmap out, truncate_barrier.h */
	bool space;
	bool cached;           /* the change went through the page cache */
};
int fm_range_lock(struct fm_file *f, off_t off, off_t len,
		  struct fm_range *ret_range);
void fm_range_unlock(struct fm_range *r, bool changed, bool discard);

/* [any] Tell the engine that the size may have changed (after truncate,
 * fallocate, append). */
void fm_file_size_changed(struct fm_file *f);
/* [any] Its blocks are about to be another file's, too, and have become so:
 * stores get new ones first, or SIGBUS. */
void fm_file_shares(struct fm_file *f);
int fm_file_shared(struct fm_file *f);
/* It may have holes from now on: stores to them get room, or SIGBUS. */
void fm_file_has_holes(struct fm_file *f);
/* [any] Current size of the file as the engine sees it, bytes. */
off_t fm_file_size(struct fm_file *f);

/* [any] Hand every mapping of the file to the kernel. `why` is a static
 * string that goes into the statistics. 0 or -errno. */
int fm_file_demote(struct fm_file *f, enum fm_server_reason why);
/* [any] Before a descriptor is sent to another process. It is in no table of
 * descriptors until it is received, and whoever has it may map the file without
 * an open(2) that we would hear of. A file that neither side can store to
 * stays. Also before anything is mapped: it is left to the kernel later. */
void fm_file_given(int fd);
/* [any] The same for descriptors that another program gets by inheritance:
 * pid's, which has been spawned, or our own (0), when we are about to execute
 * it in a child of fork or of vfork, or libc is about to run a shell for us. */
enum fm_heir {
	FM_HEIR_SPAWNED,
	FM_HEIR_FORKED,
	FM_HEIR_VFORKED,
	FM_HEIR_SHELL
};
void fm_files_inherited(enum fm_heir heir, int pid);
/* [any] The same for the files under an address range. */
int fm_demote_range(const void *addr, size_t len, enum fm_server_reason why);

/* The program can read and write files by io_uring or libaio. */
extern _Atomic bool fm_async;
/* [any] It is about to make a ring or a context for that: see async.h. */
void fm_async_begins(void);
/* [any] With fm_async: it has opened this. */
void fm_async_opened(int fd);

/* [plain] posix_fadvise on a managed file. */
int fm_file_advise(struct fm_file *f, off_t off, off_t len, int advice);

/* ---- processes -------------------------------------------------------- */

/* [plain] pthread_atfork handlers. */
void fm_fork_prepare(void);
void fm_fork_parent(void);
void fm_fork_child(void);

/* [any] Is there a thread of ours, which libc does not know of? None is left
 * when the process has been killed, for a child of vfork that still has its
 * memory. */
bool fm_thread_any(void);
/* [any] The program's threads have got other numbers, by libc; in a program
 * with one thread also by the bare system call, and its capabilities. Returns
 * when all of ours have them too; errno is kept. */
void fm_creds_changed(void);

/* [any] The calling thread of several has by capset(2) other capabilities. */
void fm_creds_dropped(void);

/* [any] Is this descriptor number one of the engine's own? The close family
 * must not touch it. */
bool fm_fd_is_ours(int fd);
/* [any] The engine's least descriptor number that is not below `from`, or -1.
 * For close_range. */
int fm_fd_next(int from);

#endif
