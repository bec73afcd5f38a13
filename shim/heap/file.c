/* SPDX-License-Identifier: MIT */
/*
 * file.c - the file of the heap: without a name, as long as the heap may
 * become, mapped once as a whole. Blocks are asked for before anything can be
 * stored to them: a full device is then NULL from malloc, not a SIGBUS.
 */
#include "heap.h"

#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/sys.h"

#include "fastmap.h"

#define ROOM_PART 256 /* ABI: ext4: a block of its tree tells of 340 pieces */
#define ROOM_LEAST (64u << 10) /* size: bytes that stay free besides */
#define ASIDE 900 /* a descriptor's number: below RLIMIT_NOFILE, mostly */

static void copy(bool held);
static void lay(void);

struct fm_heap_calls fastmap_heap_calls = {
	.version = FM_HEAP_CALLS,
	.copy = copy,
	.copied = heap_copy_end,
	.lay = lay,
	.used = UINT64_MAX,
	.count = heap_count,
};
static struct fm_heap_calls *const calls = &fastmap_heap_calls;

/* Under `lock`, but for what is read of a file that is there. */
static _Atomic int lock;
static int fd = -1;
static char *_Atomic start;
static size_t length, top;
static bool refused;

static void file_lock(void)
{
	while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
		fm_sys0(SYS_sched_yield);
}

static void file_unlock(void)
{
	atomic_store_explicit(&lock, 0, memory_order_release);
}

/* ---- begin --------------------------------------------------------------- */

/* A name, for file systems that know no file without. */
static int file_named(const char *dir)
{
	char path[4200];
	size_t n = strlen(dir);
	long i = fm_sys_getpid(), r = -ENAMETOOLONG;

	if (n > 4096)
		return (int)r;
	memcpy(path, dir, n);
	memcpy(path + n, "/.fastmap-heap-", 15);
	n += 15;
	for (; i; i /= 10)
		path[n++] = (char)('0' + i % 10);
	path[n] = 0;
	r = fm_sys4(SYS_openat, AT_FDCWD, path,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r >= 0)
		fm_sys1(SYS_unlink, path);
	return (int)r;
}

/* Not among the program's, which may close what it does not know. */
static int file_aside(int file)
{
	long high = fm_sys3(SYS_fcntl, file, F_DUPFD_CLOEXEC, ASIDE);

	if (high < 0)
		return file;
	fm_sys_close(file);
	return (int)high;
}

static int file_make(off_t len)
{
	int new = (int)fm_sys4(SYS_openat, AT_FDCWD, calls->dir,
			       O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	int err;

	if (new == -EOPNOTSUPP || new == -EISDIR || new == -ENOENT)
		new = file_named(calls->dir);
	if (new < 0)
		return new;
	err = (int)fm_sys2(SYS_ftruncate, new, len);
	if (err) {
		fm_sys_close(new);
		return err;
	}
	return file_aside(new);
}

/* By the engine, whatever its paths say; by the kernel where it may not. */
static int file_map(void *at, int file)
{
	void *p = fastmap_map(at, length, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE |
			      (at ? MAP_FIXED : 0), file, 0);

	if (p == MAP_FAILED)
		return -errno;
	start = p;
	return 0;
}

static void file_made(int file)
{
	struct stat st;

	fm_sys_fstat(file, &st);
	calls->dev = st.st_dev;
	calls->ino = st.st_ino;
	fd = file;
	atomic_store(&calls->made, true);
}

/* It may have, all the same. */
static bool file_is_there(void)
{
	struct stat st;

	return fd >= 0 && !fm_sys_fstat(fd, &st) && st.st_dev == calls->dev &&
	       st.st_ino == calls->ino;
}

static int file_begin(void)
{
	int new, err;

	length = calls->size & ~(HEAP_PAGE - 1);
	new = file_make((off_t)length);
	if (new < 0)
		return new;
	file_made(new);
	err = file_map(NULL, new);
	if (err) {
		atomic_store(&calls->made, false);
		fm_sys_close(new);
		fd = -1;
	}
	return err;
}

static bool file_ready(void)
{
	int err;

	if (fd >= 0 || refused)
		return fd >= 0;
	err = file_begin();
	if (err) {
		refused = true;
		heap_say("no more memory: there is no file in ", calls->dir,
			 err);
	}
	return !err;
}

/* ---- room ---------------------------------------------------------------- */

bool heap_file_has(const void *p)
{
	char *a = atomic_load(&start);

	return a && (const char *)p >= a && (const char *)p < a + length;
}

/* A store to a block that was asked for may take another, of those that tell
 * where the blocks are (ext4, where the kernel serves): one for 340 at most.
 * So ROOM_PART of the heap stays free on the device, and ROOM_LEAST. */
static bool leaves_some(size_t len)
{
	const uint64_t all = atomic_load(&calls->in_file) + len;
	struct statfs fs;

	return fm_sys2(SYS_fstatfs, fd, &fs) || !fs.f_blocks ||
	       (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >=
		       all / ROOM_PART + ROOM_LEAST;
}

static long file_allocate(int how, size_t at, size_t len)
{
	long r;

	do
		r = fm_sys4(SYS_fallocate, fd, how, at, len);
	while (r == -EINTR);
	return r;
}

static int file_room(size_t at, size_t len)
{
	long r;

	if (!file_is_there())
		return -EBADF;
	r = file_allocate(0, at, len);
	if (!r && !leaves_some(len)) {
		file_allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
			      len);
		return -ENOSPC;
	}
	/* A file system without it: then the device must not become full. */
	return r == -EOPNOTSUPP ? 0 : (int)r;
}

static void say_full(int err)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		heap_say("no more memory: no room in ", calls->dir, err);
}

int heap_file_fill(void *p, size_t len)
{
	int err = file_room((size_t)((char *)p - start), len);

	if (err)
		say_full(err);
	else
		atomic_fetch_add(&calls->in_file, len);
	return err;
}

static bool fits(size_t at, size_t len)
{
	return at <= length && len <= length - at &&
	       at + len + atomic_load(&calls->in_memory) <= calls->size;
}

static void *take(size_t len, size_t align)
{
	static _Atomic bool said;
	size_t at;

	if (!file_ready())
		return NULL;
	at = top + (-(uintptr_t)(start + top) & (align - 1));
	if (!fits(at, len)) {
		if (!atomic_exchange(&said, true))
			heap_say("no more memory: heap-size is reached", "", 0);
		return NULL;
	}
	if (heap_file_fill(start + at, len))
		return NULL;
	top = at + len;
	return start + at;
}

void *heap_file_take(size_t len, size_t align)
{
	void *p;

	file_lock();
	p = take(len, align);
	file_unlock();
	return p;
}

/* Through libfastmap, which drops the pages that it has. */
int heap_file_punch(void *p, size_t len)
{
	off_t at = (char *)p - start;

	if (!file_is_there())
		return -EBADF;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
		      (off_t)len))
		return -errno;
	atomic_fetch_sub(&calls->in_file, len);
	return 0;
}

/* ---- a copy, for a child ------------------------------------------------- */

static int copy_fd = -1;
static int copy_err;

static bool alone(void)
{
	extern char __libc_single_threaded __attribute__((weak));

	return &__libc_single_threaded && __libc_single_threaded;
}

/* As much as may be copied; blocks of its own are shared where the file system
 * can. */
static int copy_may(void)
{
	if (!file_is_there()) {
		heap_say("fork refused: the program has closed the file", "",
			 0);
		return -ENOMEM;
	}
	if (atomic_load(&calls->in_file) > calls->fork_limit) {
		heap_say("fork refused: the heap in the file is larger than "
			 "heap-fork; vfork and posix_spawn copy nothing", "",
			 0);
		return -ENOMEM;
	}
	if (!calls->served(start, length) && !alone()) {
		heap_say("fork refused: the kernel serves the heap, and other "
			 "threads would store to it", "", 0);
		return -ENOMEM;
	}
	return 0;
}

static int copy_room(void)
{
	off_t at = 0, end;
	long err = 0;

	while (!err && (at = fm_sys3(SYS_lseek, fd, at, SEEK_DATA)) >= 0 &&
	       (size_t)at < top) {
		end = fm_sys3(SYS_lseek, fd, at, SEEK_HOLE);
		err = fm_sys4(SYS_fallocate, copy_fd, 0, at, end - at);
		if (err == -EOPNOTSUPP)
			return 0;
		at = end;
	}
	return (int)err;
}

int heap_copy_begin(void)
{
	int err;

	if (fd < 0)
		return 0;
	err = copy_may();
	if (err)
		return err;
	copy_fd = file_make((off_t)length);
	err = copy_fd < 0 ? copy_fd : copy_room();
	if (err) {
		heap_copy_end();
		heap_say("fork refused: no room for a copy in ", calls->dir,
			 err);
		err = -ENOMEM;
	}
	return err;
}

void heap_copy_end(void)
{
	if (copy_fd >= 0)
		fm_sys_close(copy_fd);
	copy_fd = -1;
}

static int copy_range(off_t at, size_t len)
{
	off_t to = at;
	long r = 1;

	while (len && r > 0) {
		r = fm_sys6(SYS_copy_file_range, fd, (long)&at, copy_fd,
			    (long)&to, (long)len, 0);
		len -= r > 0 ? (size_t)r : 0;
	}
	return r < 0 ? (int)r : 0;
}

static int copy_data(void)
{
	off_t at = 0, end;
	int err = 0;

	while (!err && (at = fm_sys3(SYS_lseek, fd, at, SEEK_DATA)) >= 0 &&
	       (size_t)at < top) {
		end = fm_sys3(SYS_lseek, fd, at, SEEK_HOLE);
		err = end < 0 ? (int)end : copy_range(at, (size_t)(end - at));
		at = end;
	}
	return err ? err : at < 0 && at != -ENXIO ? (int)at : 0;
}

#ifndef FICLONE
#define FICLONE 0x40049409 /* ABI: linux/fs.h */
#endif

/* Who forks otherwise than by fork() has not begun one. */
static void copy(bool held)
{
	copy_err = 0;
	if (copy_fd < 0)
		copy_err = heap_copy_begin();
	if (!copy_err && !held && !alone())
		copy_err = -EAGAIN;
	if (!copy_err && fm_sys3(SYS_ioctl, copy_fd, FICLONE, fd))
		copy_err = copy_data();
}

static _Noreturn void child_ends(int err)
{
	heap_say("this child of fork has no copy of the heap, and ends", "",
		 err);
	for (;;)
		fm_sys1(SYS_exit_group, 127);
}

static void lay(void)
{
	int err = copy_err;

	atomic_store(&lock, 0);
	if (fd < 0)
		return;
	fm_sys_close(fd);
	file_made(copy_fd);
	copy_fd = -1;
	if (!err)
		err = file_map(start, fd);
	if (err)
		child_ends(err);
}
