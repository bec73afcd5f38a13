/* SPDX-License-Identifier: MIT */
/*
 * proc.h - what the kernel's files in /proc say, for whoever asks.
 *
 * [plain] but fm_proc_fd, which is [fault]. No allocation, no stdio.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* [fault] "/proc/self/fd/N", by which a file is opened again. Returns buf. */
#define FM_PROC_FD 32
const char *fm_proc_fd(char buf[FM_PROC_FD], int fd);
/* [any] The path of an open file, as /proc has it. False: none to be had. */
bool fm_proc_fd_path(int fd, char *path, size_t size);

/* A line of a process's maps, proc_pid_maps(5). On btrfs and overlayfs the
 * device is not that of stat(2). The path has no end where the line did not
 * fit. */
struct fm_proc_map {
	uintptr_t start, end;
	bool write, shared;
	dev_t dev;
	ino_t ino; /* 0: no file */
	const char *path;
};

#define FM_OWN_MAPS "/proc/self/maps"

/* [any] Calls one() for each mapping, until it says true. path: FM_OWN_MAPS, or
 * of another process. buf holds a part of it at a time. 0, or -errno
 * if it cannot be opened. */
int fm_proc_maps(const char *path, char *buf, size_t size,
		 bool (*one)(const struct fm_proc_map *m, void *arg),
		 void *arg);

/* [any] The same of those whose file has this inode number: by asking for them
 * where the kernel has that (Linux 6.11, a tenth of the time among anonymous
 * ones), else as above. */
int fm_proc_maps_of(const char *path, ino_t ino, char *buf, size_t size,
		    bool (*one)(const struct fm_proc_map *m, void *arg),
		    void *arg);
/* [any] Is such a mapping at this address? False also where the kernel cannot
 * be asked. */
bool fm_proc_map_at(uintptr_t at, ino_t ino);

/* [any] Calls one() for each name in an open directory from where it stands, "."
 * and ".." too. buf, aligned to 8, holds some of them at a time. 0, or -errno:
 * not all were there. */
int fm_each_entry(int dir, char *buf, size_t size,
		  void (*one)(const char *name, void *arg), void *arg);
/* [any] The same for the threads of this process, by number. -EAGAIN: some may
 * be missing, for one has ended meanwhile. */
int fm_each_thread(char *buf, size_t size,
		   void (*one)(const char *tid, void *arg), void *arg);

/* [fault] A process's stat, proc_pid_stat(5): number `field` of it, as counted
 * there, from 4 on; and the state of its main thread ('R', 'Z', ...). path:
 * "/proc/self/stat" or its like. 0, and state 0, if that is not told. */
uint64_t fm_proc_stat(const char *path, int field, char *ret_state);

/* The same of thread `tid` of this process. */
uint64_t fm_proc_thread_stat(const char *tid, int field, char *ret_state);
/* [any] Is it in uninterruptible sleep: does it wait for a device? */
bool fm_proc_thread_waits(const char *tid);

/* Is thread `tid` of this process one that the kernel has made for a ring? It
 * ends with the process. */
bool fm_proc_is_worker(const char *tid, char *ret_state);
/* Does thread `tid` of this process go on? False: it has ended, or ends.
 * *ret_worker: as fm_proc_is_worker. */
bool fm_proc_thread_goes_on(const char *tid, bool *ret_worker);

/* The system call that thread `tid` of this process is in. False: it runs, has
 * ended, or may not be looked at. nr is -1 where it waits for something else, a
 * page say. */
struct fm_proc_call {
	long nr;
	unsigned long arg[6];
	unsigned long sp, pc;
};
bool fm_proc_syscall(const char *tid, struct fm_proc_call *ret);
