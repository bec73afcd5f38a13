/* SPDX-License-Identifier: MIT */
/*
 * calls.h - fm_do_NAME(raw, ...) of entered.def's hooks, and what else is
 * behind hooks that libc's syscall() enters, too.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FM_DO(number, type, fn, params, ...) type fm_do_##fn FM_DO_RAW params;
#define FM_DO_RAW(...) (bool raw, __VA_ARGS__)
#define HOOKED FM_DO
#define HOOKED_IO FM_DO
#include "entered.def"

/* The hook itself; P(x) is x. */
#define FM_DO_HOOK(number, type, fn, params, ...)    \
	FM_HOOK type fn params                       \
	{                                            \
		return fm_do_##fn(false, __VA_ARGS__); \
	}
#define FM_DO_ALIAS(fn, other)                       \
	FM_HOOK __typeof__(fn) other __attribute__((alias(#fn)));
/* The entry; P(x) is a pointer. */
#define FM_DO_CASE(number, type, fn, params, ...)    \
	case __NR_##number:                          \
		return (long)fm_do_##fn(true, __VA_ARGS__);
#define FM_ENTER_CASE(number, ...)                   \
	case __NR_##number:                          \
		return (long)(__VA_ARGS__);

/* mm.c */
void *fm_do_mremap(bool raw, void *old, size_t old_len, size_t new_len,
		   int flags, void *new_addr);
void *fm_do_map_asked(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off);
int fm_do_munlockall(bool raw);

/* parted.c: before a call with flags of which `which` takes descriptors from
 * those who share them. Returns the flags that it needs; fm_table_stays is to
 * be called where it fails if the engine was told. */
int fm_part_files(int flags, int which, bool *ret_told);
extern _Atomic bool fm_files_shared; /* with another process */

/* io_size.c */
void fm_do_sync(bool raw);

/* io_ioctl.c */
int fm_do_ioctl(bool raw, int fd, unsigned long req, void *arg);

/* io_open.c; `at`: openat was called */
int fm_do_open(bool raw, bool at, int dirfd, const char *path, int flags,
	       mode_t mode);

/* proc.c */
int fm_do_prctl(bool raw, int option, const unsigned long a[4]);

/* io_args.c: a limit that may concern us is about to be set. */
struct rlimit;
void fm_note_limit(pid_t pid, int what, const struct rlimit *set);
