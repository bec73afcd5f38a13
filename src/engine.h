/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what the shim may ask of the paging engine.
 *
 * This is all of src/ that the shim includes; rooms call some of it, too. An
 * int or ssize_t is 0 (or a count), or a negative errno. No function touches
 * errno, and none calls a libc name that the shim interposes. Lengths and
 * offsets are bytes. A range is the bytes [addr, addr + len), or [off, off +
 * len) of a file. "Managed": the engine serves this address range instead of
 * the kernel's file mapping.
 *
 * From where a function may be called, which each says in its own comment or in
 * that of its group:
 *   [fault]  from the fault handler, and from wherever [any] may. It has no
 *            malloc, no stdio, and no lock that application code can hold; all
 *            signals are blocked
 *   [any]    from any thread outside the fault handler, and from the program's
 *            own signal handlers
 *   [plain]  from any thread, not from a signal handler
 * A caller holds no lock of the engine, unless the function says so.
 */
#pragma once

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
#include "base/reason.h"
#include "base/sys.h"
#include "base/up.h"
#include "heap_calls.h"

struct stat;
struct fm_file;

/* ---- life ------------------------------------------------------------- */

/* Number of managed mappings that are alive. Zero means that every hook may go
 * straight to libc. Read with fm_active(). */
extern _Atomic uint32_t fm_live_maps;

/* The program has, or had, more threads than one. The shim sets it before the
 * second begins. */
extern _Atomic bool fm_threads;

/* [fault] Is anything managed? One load. */
static inline bool fm_active(void)
{
	return atomic_load_explicit(&fm_live_maps, memory_order_relaxed) != 0;
}

/* How many files does the kernel serve for now that the engine may promote
 * (file/promotable.h)? */
extern _Atomic uint32_t fm_promotable;

static inline bool fm_any_promotable(void)
{
	return atomic_load_explicit(&fm_promotable, memory_order_relaxed) != 0;
}

/* Has a hook of a call with data, or of a change of a file, to look at what it
 * is about? */
static inline bool fm_looks(void)
{
	return fm_active() || fm_any_promotable();
}

/* May an empty file have bytes that come from elsewhere (io/backing.h)? */
extern _Atomic bool fm_backings_any;
static inline bool fm_sourced(void)
{
	return atomic_load_explicit(&fm_backings_any, memory_order_relaxed);
}

struct fm_backing;
/* [any] The source behind a descriptor, O_PATH too; NULL: it is a file as any
 * other, or with -errno in *ret_err the source cannot be had. */
struct fm_backing *fm_backing_by_fd(int fd, int *ret_err);
/* [any] Bytes. */
int64_t fm_backing_size(const struct fm_backing *s);
/* [fault] Read some of it and wait. 0 at its end; -errno, and -EIO also where
 * the source gives less, or more, than it said. */
long fm_backing_read(struct fm_backing *s, void *buf, uint64_t off,
		     uint64_t len);
/* [plain] The settings have been loaded. */
void fm_backings_begin(void);
/* Where this library is, as the loader says; only the shim has it. */
extern const char *fm_library __attribute__((weak));

/* [plain] After fm_engine_init has said that no file is ours: the program may
 * ask for some by fastmap.h, all the same. False: it may not have any. */
bool fm_engine_init_asked(void);

/* [plain] Load the configuration (environment, policy files) of the program
 * that was started by that name. Called once by the shim's constructor; starts
 * no thread and keeps no descriptor. False: no file is ours. */
bool fm_engine_init(const char *argv0, char **envp);

/* [any] Write every dirty page back. Not durable: the bytes are where write(2)
 * would have put them. */
void fm_engine_flush_all(void);

/* [any] Before spawn, exec and _exit: write every dirty page back, since
 * another process may have descriptors of files that we map from then on. */
void fm_engine_flush_for_others(void);
/* [any] Before fork: write every dirty page back, and through the page cache
 * where a file has few of them, since a child that uses the mapping looks for
 * them there. */
void fm_engine_flush_for_fork(void);

/* [plain] At the normal end of the process: flush, write statistics. Faults are
 * served afterwards, too, for other destructors may still touch mapped memory.
 * Idempotent. */
void fm_engine_exit(void);
/* [any] Before exec, after the flush: demote all that is mapped, so that other
 * threads store into the files until exec ends them. If exec then fails, the
 * kernel serves the mappings. */
void fm_engine_before_exec(void);
/* [any] Before a wait for any child, those too that raise no signal when they
 * end: the program has none that is ours. */
void fm_engine_waits_for_all(void);

/* ---- the address space ------------------------------------------------ */

/* Only the address counts. libc says of read and its like that they only write
 * to their buffer, and gcc would see a read of what is not set yet. */
#if !defined(__clang__) && __has_attribute(access)
#define FM_ADDRESS_ONLY(arg) __attribute__((access(none, arg)))
#else
#define FM_ADDRESS_ONLY(arg)
#endif

/* [any] Whether the range touches managed memory. A few ns. */
FM_ADDRESS_ONLY(1)
bool fm_overlaps(const void *addr, size_t len);
/* [any] Is any of the buffers so? */
static inline bool fm_iov_any(const struct iovec *iov, int n,
			      bool (*is)(const void *addr, size_t len))
{
	for (int i = 0; i < n; i++)
		if (iov[i].iov_len && is(iov[i].iov_base, iov[i].iov_len))
			return true;
	return false;
}
/* [plain] The program is about to unmap the range. A child of fork maps its
 * parent's files when it first touches them; a file of which it unmaps
 * everything here need not be mapped for that, nor demoted by the parent. */
void fm_fork_unmaps(const void *addr, size_t len);
/* [plain] The program is about to do what may keep it from opening files as it
 * could (another user, another root): what a child of fork has not touched yet
 * is mapped now. */
void fm_fork_fill(void);
/* [plain] From now on opens may be refused of which faccessat says nothing
 * (landlock); of seccomp fm_filtered tells. */
void fm_fork_opens_less(void);
/* [any] Before the program unmaps the range: what is hot of it is noted
 * (warm/warm.h). */
void fm_warm_unmaps(const void *addr, size_t len);

/* [plain] The whole of mmap(2) for a descriptor whose file may be ours: decides
 * who serves the mapping, and maps. Returns the address or -errno cast to a
 * pointer (as the kernel does, see fm_is_err). Also used for every MAP_FIXED
 * mapping over managed memory. */
void *fm_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);

/* [plain] The same for fastmap_map: the engine's, as far as it may have the
 * file, although no path names it, and whatever would be faster. */
void *fm_mmap_asked(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off);

/* [any] mmap(2) of a small window, or of a mapping too short for the engine,
 * that is certainly the kernel's to serve; as a rule without a lock. NULL: not
 * certain, or the kernel has refused it; fm_mmap says which. See
 * mmap/kernel_windows.h. */
void *fm_mmap_window(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off);

/*
 * [any] Short mappings that the kernel serves are noted until they are unmapped
 * (mmap/short_maps.h). Before munmap fm_short_map_in tells which of them lie
 * wholly in the range (false: none), and after it fm_short_map_forget forgets
 * those. fm_short_map_moves: mremap is about to move something that lies in the
 * range, or a part of it. fm_seen_fd_closed: a descriptor has been closed, or
 * has become another file.
 */
#define FM_SHORT_MAPS 16
bool fm_short_map_in(const void *addr, size_t len, uint64_t ret[FM_SHORT_MAPS]);
void fm_short_map_forget(const uint64_t what[FM_SHORT_MAPS]);
void fm_short_map_moves(const void *addr, size_t len);
void fm_seen_fd_closed(void);

/*
 * Ranges where the kernel serves a file of ours (advise/krange.h). While there
 * is none, nothing of this takes more than a look at a counter.
 *
 * [any] Before a call that takes away what is mapped there: a mark, 0 if
 * nothing is concerned; and when it is done, whether it is gone. First of all,
 * before the call is judged by what is managed.
 */
extern _Atomic uint32_t fm_kranges;

static inline bool fm_krange_any(void)
{
	return atomic_load_explicit(&fm_kranges, memory_order_relaxed) != 0;
}

/* [any] Does one overlap the range, or can that not be told now? */
FM_ADDRESS_ONLY(1)
bool fm_krange_in(const void *addr, size_t len);
/* [any] See above. */
uint32_t fm_krange_edit(const void *addr, size_t len);
void fm_krange_edit_ends(uint32_t edit, const void *addr, size_t len,
			 bool gone);
/* What a call returns that takes away what is mapped there. `gone`: of what it
 * returns, whether it has. A file may be handed to the kernel between the mark
 * and the look at what is managed, and then has none: who finds nothing managed
 * marks again, around the system call itself. */
#define FM_TAKES_RANGE(addr, len, gone, call)                              \
	({                                                                 \
		const uint32_t edit_ =                                     \
			fm_krange_any() ? fm_krange_edit(addr, len) : 0;   \
		const __typeof__(call) r_ = (call);                        \
                                                                           \
		if (edit_)                                                 \
			fm_krange_edit_ends(edit_, addr, len, gone(r_));   \
		r_;                                                        \
	})

static inline bool fm_is_zero(int r)
{
	return !r;
}

/* [any] The same around mremap; `at`: its result, or -errno. */
struct fm_krange_move {
	void *old, *over;
	size_t len, new_len;
	uint32_t edit, over_edit;
	bool stays, shrinks;
};
void fm_krange_move_begins(struct fm_krange_move *m, void *old, size_t old_len,
			   size_t new_len, int flags, void *new_addr);
void fm_krange_move_ends(const struct fm_krange_move *m, void *at);
/* What mremap's call returns, or -errno as a pointer: marked likewise, and
 * again by who finds nothing managed. */
#define FM_MOVES_RANGE(old, old_len, new_len, flags, new_addr, call)       \
	({                                                                 \
		const bool any_ = fm_krange_any();                         \
		struct fm_krange_move move_;                               \
		void *at_;                                                 \
                                                                           \
		if (any_)                                                  \
			fm_krange_move_begins(&move_, old, old_len,        \
					      new_len, flags, new_addr);   \
		at_ = (call);                                              \
		if (any_)                                                  \
			fm_krange_move_ends(&move_, at_);                  \
		at_;                                                       \
	})

/* [any] Before a call that wants one mapping, once it is marked: ours are not
 * split by advice, nor anew until the mark goes. */
void fm_krange_one(const void *addr, size_t len);
/* [any] What the program has done there: mprotect, madvise, or what keeps it
 * the kernel's (mlock, mseal, a protection key). */
void fm_krange_protected(const void *addr, size_t len, int prot);
void fm_krange_said(const void *addr, size_t len, int advice);
/* [any] madvise of what the kernel serves alone, where its mapping remembers
 * it: said and noted in one step, between which nobody advises or takes memory
 * back. False: it is none of those, or something there is managed. *ret is 0 or
 * -errno. */
bool fm_krange_says(void *addr, size_t len, int advice, int *ret);
void fm_krange_kept(const void *addr, size_t len);
/* [any] By the program; and not any more: what fastmap_pin has locked is again.
 * MADV_DONTNEED, which has failed with EINVAL: of what is locked by fastmap_pin
 * alone it does what it would without. */
void fm_krange_locked(const void *addr, size_t len);
void fm_krange_unlocked(const void *addr, size_t len);
int fm_krange_dontneed(void *addr, size_t len);
/* [any] The thread that advises them has ended when this returns, or a hundred
 * milliseconds later: the program is about to confine all threads, or to end by
 * its last one. */
void fm_helper_end(void);
/* [any] The same for the thread that reads back what was hot. */
void fm_warm_thread_end(void);

/* [fault] */
/*
 * [any] Is managed memory among what a call is about to be given as data? Where
 * it may become managed under the call, that is noted (advise/counted_calls.h).
 */
/* [any] The rest of fm_data_in. */
bool fm_data_marked(const void *addr, size_t len);

static inline bool fm_data_in(const void *addr, size_t len)
{
	return fm_overlaps(addr, len) ||
	       (fm_any_promotable() && fm_data_marked(addr, len));
}

/* [any] Around a call with data whose end is seen, and that is not managed.
 * False: it concerns nobody, and does not end; or it is managed now. */
bool fm_counted_calls_enter(const struct iovec *iov, int n);
void fm_counted_calls_ends(void);

static inline bool fm_counted_calls_begins(const struct iovec *iov, int n)
{
	return fm_any_promotable() && fm_counted_calls_enter(iov, n);
}

/* [fault] A signal that says that memory has failed: no, it is about to be
 * ours. */
bool fm_trapped(const void *addr);

/* [any] System calls by their names. The range may mix managed memory and the
 * kernel's. 0 or -errno; fm_mremap the address, or -errno as a pointer. */
int fm_munmap(void *addr, size_t len);
int fm_msync(void *addr, size_t len, int flags);
int fm_madvise(void *addr, size_t len, int advice);
int fm_mprotect(void *addr, size_t len, int prot);
int fm_mincore(void *addr, size_t len, unsigned char *vec);
int fm_mlock(const void *addr, size_t len, unsigned flags);
int fm_munlock(const void *addr, size_t len);
int fm_mlockall(int flags);
int fm_munlockall(void);
void *fm_mremap(void *old, size_t old_len, size_t new_len, int flags,
		void *new_addr);
int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags);
/* [any] fm_madvise; what the engine serves there reads so many pages ahead at
 * most (0: as it likes). */
int fm_madvise_ahead(void *addr, size_t len, int advice, uint32_t ahead);
/* [any] prctl(PR_SET_MEMORY_MERGE, on, 0, 0, 0). 0 or -errno. */
int fm_memory_merge(unsigned long on);
/* [any] RLIMIT_FSIZE is about to become `limit` bytes: demote larger files that
 * can be stored to. */
void fm_limit_fsize(uint64_t limit);

/* ---- faults ----------------------------------------------------------- */

enum fm_fault_result {
	FM_FAULT_RETRY,   /* resolved (or somebody else did): run it again */
	FM_FAULT_BUS,     /* beyond end of file or I/O error: SIGBUS */
	FM_FAULT_SEGV,    /* protection violation: SIGSEGV */
	FM_FAULT_FOREIGN, /* not managed memory */
};

/* [fault] Serve a fault at `addr`. `write`: the access was a store. ip: of the
 * instruction; 0: not known. */
enum fm_fault_result fm_fault(void *addr, bool write, uintptr_t ip);
/* [fault] Serve a fault of another thread, of which a message has told; that
 * thread may have gone on meanwhile. `protects`: fm_uffd_protects() before the
 * message was read. tid: of that thread; 0: not known. */
enum fm_fault_result fm_fault_message(void *addr, bool write,
				      uint64_t protects, uint32_t tid);

/* [any] May any file become the engine's, as the settings are now? */
bool fm_engine_may_serve(void);

/* [fault] How faults reach us. Decided when the engine starts. */
enum fm_delivery fm_delivery(void);

/* [plain] The shim: takes SIGBUS over, and unblocks it in the calling thread. 0
 * or -errno; -EBUSY: a thread has it blocked for good, or an alternate stack
 * that is too small for it. The engine calls it once, when it starts, before it
 * registers the first range. */
FM_UPCALL(int, shim_take_signals, void);

/* [any] The shim: the calling thread maps a file of ours, which may become the
 * engine's at any time. */
FM_UPCALL(void, shim_maps, void);

/* [any] The shim, which knows without a system call: is this the process whose
 * memory this is, and nobody who borrows or has copied it? */
FM_UPCALL(bool, shim_is_me, void);

/* ---- mapped memory handed to the kernel ------------------------------- */

/*
 * [any] fm_pin makes [buf, buf + len) resident and keeps it so until fm_unpin.
 * `in`: the kernel will store into it (lifts write protection, marks dirty). A
 * thread holds at most FM_PINS ranges at once; at most FM_PIN_MAX bytes each
 * (the caller splits longer transfers), and less when the cache is small:
 * fm_pin_limit says how many bytes a thread may have pinned at once, 4096 or
 * more. Returns the number of bytes from buf that are usable (fewer when the
 * rest lies beyond the end of the file or is not accessible: the caller passes
 * the whole buffer on and lets the kernel give its answer), or -errno: -EBUSY
 * if another of its ranges keeps the pages from coming (the same file pages in
 * another mapping). Memory that is not managed counts as usable and costs
 * nothing. Where `lets` is set before, the program may drop pages of private
 * mappings under the call all the same (MADV_DONTNEED), and fm_unpin says so
 * in `lost`: what the kernel then could not use it says by EFAULT or a short
 * count, and the call goes on from there.
 */
#define FM_PINS 8
#define FM_PIN_MAX (1u << 20)
struct fm_pin {
	uint8_t n;
	bool lets, lost;
	uint16_t slot[FM_PINS];
};
#define FM_PIN_INIT { 0, false, false, { 0 } }
#define FM_PIN_LETS { 0, true, false, { 0 } }
ssize_t fm_pin(struct fm_pin *pin, const void *buf, size_t len, bool in);
void fm_unpin(struct fm_pin *pin);
size_t fm_pin_limit(void);
/* [any] Would the kernel refuse to store to the byte at p, or to read it if not
 * `in`, by the protection of a mapping of ours? Nothing is loaded. */
bool fm_pin_forbidden(const void *p, bool in);

/* ---- files ------------------------------------------------------------ */

/*
 * [any] Around a read or write of the program that is not held up, see
 * file/inflight_io.h. fm_read_enter or fm_write_enter returns a slot, which
 * fm_read_leave or fm_write_leave gives back. A slot that is not given back
 * stays taken until its thread is gone (it was cancelled); for good if the
 * thread goes on (it jumped out of a signal handler).
 */
#define FM_READS_FULL 256
#define FM_CALL_OTHER (FM_READS_FULL + 1) /* no slot, and needs none */
unsigned fm_read_slot(int fd);
unsigned fm_write_slot(int fd);
void fm_read_leave(unsigned slot);
void fm_write_leave(unsigned slot);

/* [any] No other thread can have a call in flight, or look for ours. Asks the
 * kernel nothing: a child that has confined itself may write, and no more. */
static inline bool fm_alone(void)
{
	return !fm_looks() && !atomic_load_explicit(&fm_threads,
						    memory_order_relaxed);
}

/* [any] Before a read that need not know whether its file is managed. */
static inline unsigned fm_read_enter(int fd)
{
	return fm_alone() ? FM_CALL_OTHER : fm_read_slot(fd);
}

/* [any] Before a change of a file that may turn out not to concern us: enter
 * first, then look whether the file is mapped. */
static inline unsigned fm_write_enter(int fd)
{
	return fm_alone() ? FM_CALL_OTHER : fm_write_slot(fd);
}

/* [any] After fm_read_enter: must the read look which file it is? It must when
 * any managed file has been stored to, and in a child of fork that has not
 * mapped all files of its parent yet. */
bool fm_inflight_look(void);

/* [any] Around a call that closes fd (FM_ALL_FDS: several), or makes it another
 * file. */
#define FM_ALL_FDS INT32_MIN
void fm_close_begins(int fd);
void fm_close_ends(int fd);

/* [any] The managed file behind a descriptor, or of these numbers, or NULL; it
 * comes with a reference, which fm_file_put gives back. Cheap when nothing is
 * managed; by descriptor one statx otherwise. */
struct fm_file *fm_file_by_fd(int fd);
struct fm_file *fm_file_by_stat(const struct stat *st);
void fm_file_put(struct fm_file *f);

/* [any] After a call by which another process may have told this one to go on
 * (a lock taken, a child that has ended): act on what others have done to our
 * files up to now. The thread that listens may be milliseconds behind. Costs
 * nothing while nothing is mapped, and one system call while nobody has done
 * anything. */
void fm_peers_acquire(void);

/* [any] The program confines itself to some system calls (by 1), or did not
 * after all (by -1). While it is confined, its threads do not listen for what
 * other processes do. */
void fm_hear_less(int by);
/* [any] The same for a seccomp filter of the calling thread, or of all. */
void fm_filtered(int by, enum fm_filter kind);

/* [any] Before a call that may tell another process to go on (a lock given up,
 * a message): write dirty pages back, so that whoever has opened or opens such
 * a file finds there what has been stored. While nobody has it open, this takes
 * at most a sixteenth of the time. Costs nothing while nothing is dirty. */
void fm_peers_release(void);

/* [any] Before fd's file is locked or unlocked by the program: write its dirty
 * pages back, however long that takes. */
void fm_tell_locked(int fd);

/* [any] Write the dirty pages of the range back, so that read(2) of the file
 * sees them (len 0: to the end). Not durable. 0 or -errno. */
int fm_file_flush(struct fm_file *f, off_t off, off_t len);

/* [any] The engine's part of fsync, fdatasync and syncfs on this file: write
 * all dirty pages back; the caller then syncs its own descriptor. 0, or the
 * -errno of a write-back that has failed since the last time. */
int fm_file_sync(struct fm_file *f);
/* [any] The write-back error of an open file of which nothing is mapped any
 * more: 0 or -errno, told once. fm_errseq_some: there may be one. */
int fm_errseq_take(int fd);
extern _Atomic bool fm_errseq_some;

/*
 * [any] Around a system call by which the program changes the bytes [off, off +
 * len) of the file (len 0: to the end of everything). fm_range_lock writes
 * dirty pages of the range back and locks every page of it, so that stores and
 * loads wait: 0, or -errno and nothing is locked. fm_range_unlock lets them go
 * on. `changed`: our copies are forgotten (they are read again on the next
 * touch, or at once where the caller has set `cached` and they are few).
 * `discard` (truncate down, collapse, insert): private copies of pages that lie
 * wholly beyond go, too; that of a page which is cut stays, as with the kernel.
 * Between the two calls the thread must not fault on managed pages of the
 * range, except on those that it has pinned before. Not recursive.
 * fm_range_lock_cut: what lies wholly behind `off` is about to be cut off, so
 * it is not written before. fm_range_lock_hole: a hole is made; the heap's own
 * file (heap_calls.h) has nothing there that anybody needs, so that is not
 * written either.
 */
struct fm_range {
	struct fm_file *file;
	uint64_t first, stop;  /* pages */
	uint64_t whole;        /* first page that lies in it from its start */
	uint64_t mask;         /* signals stay blocked between the calls */
	/* a long range also keeps mmap out, file/truncate_barrier.h */
	bool space;
	bool cut;
	bool cached;           /* the change went through the page cache */
};
int fm_range_lock(struct fm_file *f, off_t off, off_t len,
		  struct fm_range *ret_range);
int fm_range_lock_cut(struct fm_file *f, off_t off,
		      struct fm_range *ret_range);
int fm_range_lock_hole(struct fm_file *f, off_t off, off_t len,
		       struct fm_range *ret_range);
void fm_range_unlock(struct fm_range *r, bool changed, bool discard);

/* [any] The size of the file may have changed (truncate, fallocate, append). */
void fm_file_size_changed(struct fm_file *f);
/* [any] Around a call that makes blocks of the file another file's, too
 * (FICLONE): fm_file_shares before it, fm_file_shared after it. From then on a
 * store gets a block of its own first, or SIGBUS. 0 or -errno. */
void fm_file_shares(struct fm_file *f);
int fm_file_shared(struct fm_file *f);
/* [any] The file may have holes from now on: a store to one gets a block first,
 * or SIGBUS. */
void fm_file_has_holes(struct fm_file *f);
/* [any] The size of the file in bytes, as the engine sees it. */
off_t fm_file_size(struct fm_file *f);

/* [any] Demote the file: every mapping of it becomes the kernel's. `why` goes
 * into the log and the statistics. 0 or -errno. */
int fm_file_demote(struct fm_file *f, enum fm_server_reason why);
/* [any] Demote the files that are mapped in the address range. 0 or -errno. */
int fm_demote_range(const void *addr, size_t len, enum fm_server_reason why);
/* [any] Before a descriptor is sent to another process: demote its file if
 * either side can store to it. A descriptor in flight is in no process's table,
 * and whoever gets it may map the file without an open(2) that we would hear
 * of. A file that is not mapped yet is kernel-served later. */
void fm_file_given(int fd);
/* [any] Like fm_file_given, for the descriptors that another program inherits:
 * those of pid, which has been spawned, or our own (pid 0), when we are about
 * to execute it in a child of fork or vfork, or libc is about to run a shell
 * for us. */
enum fm_heir {
	FM_HEIR_SPAWNED,
	FM_HEIR_FORKED,
	FM_HEIR_VFORKED,
	FM_HEIR_SHELL
};
void fm_files_inherited(enum fm_heir heir, int pid);

/* The program can read and write files by io_uring or libaio. */
extern _Atomic bool fm_async;
/* [any] The program is about to make a ring of io_uring or a context of libaio:
 * see peers/async.h. */
void fm_async_begins(void);
/* [any] Where fm_async is set: the program has opened fd. */
void fm_async_opened(int fd);

/* [plain] posix_fadvise on a managed file. 0 or -errno. */
int fm_file_advise(struct fm_file *f, off_t off, off_t len, int advice);

/* ---- what the program asks by fastmap.h (src/api/) ---------------------- */

struct fastmap_range;
struct fastmap_stat;

/* [plain] As there, but for -errno. */
int64_t fm_api_prefetch(const struct fastmap_range *range, size_t n,
			unsigned flags);
int fm_api_wait(int64_t ticket, int ms);
int fm_api_ticket_fd(int64_t ticket);
int fm_api_release(const struct fastmap_range *range, size_t n);
int fm_api_pin(const struct fastmap_range *range, size_t n, bool pin);
int fm_api_advise(const struct fastmap_range *range, size_t n, int pattern,
		  size_t depth);
int fm_api_stat(struct fastmap_stat *ret, size_t size);
int fm_api_why(const void *addr, char *buf, size_t size);
int fm_api_set(const char *key, const char *value);

/* ---- processes -------------------------------------------------------- */

/*
 * [plain] Does a setting ask for a heap on a file? Then libfastmap-heap.so, if
 * it is here, is told what it may do. fm_heap_copied: a fork is over, in the
 * parent; fm_heap_lay: in the child, after fm_fork_child.
 */
bool fm_heap_wanted(void);
void fm_heap_found(struct fm_heap_calls *c);
void fm_heap_copied(void);
void fm_heap_lay(void);

/* [plain] The three pthread_atfork handlers. */
void fm_fork_prepare(void);
void fm_fork_parent(void);
void fm_fork_child(void);
/* [plain] Was nothing of ours ever in use, and is there one thread? Then a fork
 * leaves all three out. Who is told so blocks signals, asks once more, and has
 * them blocked until the fork is over. */
bool fm_fork_unused(void);
/* [plain] In the child of such a fork. */
void fm_fork_child_unused(void);

/* [any] Does a thread of the engine live, of which libc does not know? None
 * does where the process has been killed, and a child of vfork goes on in its
 * memory. */
bool fm_thread_any(void);
/* [any] The user or group ids of the program's threads have changed, by libc;
 * in a program with one thread also by a bare system call, and its
 * capabilities. Returns when the threads of the engine have them, too, or after
 * 2 s. */
void fm_creds_changed(void);

/* [any] The calling thread, one of several, has other capabilities (capset). */
void fm_creds_dropped(void);

/* [any] Is the calling thread the only one of the program's? */
bool fm_only_thread(void);
/* [any] In a program with one thread: hand over what is mapped, and end the
 * engine's threads and the guardian (process/rest.h). The kernel serves what
 * the program maps from then on. 0, or -errno: somebody is left. */
int fm_engine_rest(void);
/* [any] No thread can be made any more, nor a process that shares the memory.
 */
void fm_engine_no_threads(void);
/* [any] The calling thread, or one that it is about to make, leaves the table
 * of descriptors (vm/parted.c); and: it has not, after all. */
void fm_table_parts(void);
void fm_table_stays(void);

/* [any] Is this number a descriptor of the engine? The close family must not
 * touch it. */
bool fm_fd_is_ours(int fd);
/* [any] The engine's lowest descriptor that is not below `from`, or -1. For
 * close_range. */
int fm_fd_next(int from);
