/* SPDX-License-Identifier: MIT */
/*
 * policy.h - settings for a process and for a path.
 *
 * Loaded once from the environment and a policy file, immutable afterwards; a
 * reload builds a new set and swaps the pointer (old sets are kept, readers
 * hold no lock). Asked by the engine, never asks. [plain] unless noted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fm_mode { FM_MODE_ON, FM_MODE_OBSERVE, FM_MODE_OFF };
enum fm_faults { FM_FAULTS_AUTO, FM_FAULTS_SIGNAL, FM_FAULTS_THREAD };
enum fm_io_mode { FM_IO_AUTO, FM_IO_DIRECT, FM_IO_BUFFERED };
enum fm_holes { FM_HOLES_ALLOCATE, FM_HOLES_LAZY };
enum fm_summary { FM_SUMMARY_AUTO, FM_SUMMARY_YES, FM_SUMMARY_NO };
/* Who may serve a file; in each case the kernel where the engine cannot. */
enum fm_serve {
	FM_SERVE_AUTO,    /* the engine, else the kernel with our advice */
	FM_SERVE_ENGINE,  /* the engine, else the kernel alone */
	FM_SERVE_ADVISED, /* the kernel with our advice */
	FM_SERVE_KERNEL,  /* the kernel alone */
};
enum fm_warm { FM_WARM_AUTO, FM_WARM_KERNEL, FM_WARM_ENGINE };

enum fm_priority { FM_PRIORITY_LOW, FM_PRIORITY_NORMAL, FM_PRIORITY_HIGH };

/* A part of the cache. */
struct fm_cache_part {
	uint64_t bytes;
	uint32_t percent; /* of the cache, as large as it is; or 0: bytes */
};

#define FM_PIN_MINUTE UINT64_MAX

/* Settings of one path section (and the defaults for all). */
struct fm_policy {
	bool engage;             /* false: leave these files to the kernel */
	uint64_t min_size;       /* bytes; shorter mappings stay the kernel's */
	/* bytes, power of two 4 KiB..8 MiB; 0 = adaptive */
	uint32_t block_size;
	/* bytes in flight at most per stream; 0 = off */
	uint32_t map_ahead;
	enum fm_io_mode io;
	enum fm_holes holes;
	enum fm_warm warm;
	enum fm_serve serve;
	uint32_t eviction;       /* row of evictions.def */
	/* Of each file, see cache/shares.h: at most, and at least. */
	struct fm_cache_part cache_share, cache_floor;
	enum fm_priority priority;
	/* bytes at the beginning, or FM_PIN_MINUTE: what comes in the first
	 * minute */
	uint64_t pin;
	bool drop_behind;        /* what a stream has passed leaves at once */
	uint32_t wb_high, wb_low;    /* percent of cache dirty: start, stop */
	/* dirty for at most this long; 0 = never */
	uint32_t wb_interval_ms;
	/* NULL, or where the bytes of these files, which are empty, come from:
	 * io/backing.h */
	const char *source;
};

#define FM_SIZE_AUTO UINT64_MAX

/* What "cache" says. */
struct fm_cache_size {
	uint64_t bytes;   /* unless it is a percentage */
	uint32_t percent; /* of the memory that may be used; 0: fixed */
	bool automatic;   /* the share is where it begins, see budget.h */
};

/* In a folder for that, where there is one. */
#define FM_SOCKET_AUTO "auto"

/* Settings of the process. Strings live as long as the set. */
struct fm_settings {
	enum fm_mode mode;
	enum fm_faults faults;
	struct fm_cache_size cache;
	uint64_t lazy;           /* bytes, or FM_SIZE_AUTO; see budget.h */
	bool strict;             /* FASTMAP_STRICT: fallback is fatal */
	bool api;                /* files for who asks by fastmap.h */
	enum fm_summary summary; /* a line at the end: who wants it */
	int log_level;           /* 0 errors only .. 3 debug */
	uint32_t promote_ms;   /* see promotable.h; 0: never */
	bool guardian;           /* FASTMAP_GUARDIAN=0 turns it off (tests) */
	const char *stats;       /* NULL, "stderr", or a path */
	const char *metrics;     /* NULL or path, see observe/metrics_file.c */
	const char *trace;       /* NULL or path of a fault trace to record */
	/* NULL or path of a record of who serves what */
	const char *trace_serve;
	const char *source;      /* policy file used, or NULL */
	uint32_t ring_limit;     /* most concurrent device rings, 1..64 */
	bool uring;              /* FASTMAP_URING=0: pread/pwrite (tests) */
	/* FASTMAP_NULL_STORE=1: no I/O for marked files (benches) */
	uint32_t null_store;
	/* control socket: FM_SOCKET_AUTO, a path, or NULL */
	const char *socket;
	const char *heap;        /* NULL, or the folder of the heap's file */
	uint64_t heap_size, heap_near, heap_fork; /* bytes: heap_calls.h */
	const char *warm_start;  /* NULL: off, "auto", or a path */
	/* its directory; NULL: off, or there is no place for one */
	const char *warm_dir;
};

/* Read environment and policy file. Never fails: bad input is reported by one
 * line each through the log function and replaced by the default. Call once
 * from the constructor (before main, may use malloc-free code only at that
 * time: uses static storage or mmap).
 *
 * A program is known by two names, and settings may use either: the one that it
 * was started by (the last part of argv[0]: `python3`), and that of its file
 * (`python3.11`, to which that is a link). A policy file is looked for by the
 * first. */
void fm_policy_load(const char *argv0, char **envp);
/* The same for another program, whose file this is, without links. */
void fm_policy_load_for(const char *argv0, const char *exe, char **envp);

const struct fm_settings *fm_settings(void); /* [fault] */

/* The policy for an absolute, symlink-free path, or NULL when no prefix in
 * FASTMAP_PATHS and no path section covers it, or the deny list names it. The
 * pointer stays valid for the life of the process. [any] */
const struct fm_policy *fm_policy_for(const char *path);

/* True when a prefix or section covers the path and only the deny list keeps
 * it out. [any] */
bool fm_policy_denied(const char *path);

/* Settings that hold where no path section says otherwise. [fault] */
const struct fm_policy *fm_policy_default(void);

/* Does any path have a source? [any] */
bool fm_policy_sources(void);

/* True when at least one prefix or section exists, or the program may ask for
 * files that none covers (else nothing is ever managed). [any] */
bool fm_policy_any(void);
/* It may, whatever the option `api` says. */
void fm_policy_asks(void);
/* The policy for a file that the program asks for: fm_policy_for, or where
 * nothing covers the path the default. NULL: the deny list names it. [any] */
const struct fm_policy *fm_policy_for_asked(const char *path);

/* May the engine serve any file, as the settings are now? [any] */
bool fm_policy_engine(void);

/* Whatever the file, a shorter mapping is the kernel's. [any] */
uint64_t fm_policy_least_size(void);

/* [any] Read the same sources again and swap the set. Environment as it was
 * at the start. For the control loop. */
void fm_policy_reload(void);

/* XDG_RUNTIME_DIR as it was at the start, or NULL. [any] */
const char *fm_policy_runtime_dir(void);

/*
 * change.c: settings of a process that runs. By one thread at a time.
 */

/* 0; or -errno, and why the option may not have that value in a running
 * process. */
int fm_policy_judge(const char *name, const char *value, char *why,
		    size_t size);
/* From now on the option has that value, whatever the file says when it is read
 * again. 0 or -errno; -EDOM: wb-low has to be below wb-high. */
int fm_policy_override(const char *name, const char *value);
/* What it is now, where no path section says otherwise. False: no such option,
 * or one without a single value. */
bool fm_policy_value(const char *name, char *buf, size_t size);

#define FM_POLICY_VALUES 64
struct fm_policy_values {
	unsigned n;
	const char *name[FM_POLICY_VALUES];
	char value[FM_POLICY_VALUES][80];
};
/* Of all options with a single value. */
void fm_policy_values(struct fm_policy_values *ret);

/* fm_policy_reload, and the first bad line, or "". */
void fm_policy_reload_heard(char *ret_bad, size_t size);
/* [any] In the child of fork: who heard it is not here. */
void fm_policy_hear_nothing(void);

/* The policy for a file that has `old`: with what may change while the process
 * runs as it is now for this path. Returns `old` if nothing has. */
const struct fm_policy *fm_policy_renew(const struct fm_policy *old,
					const char *path);

/* Parse a file only to check it: prints each problem on stderr with
 * FILE:LINE, returns the number of problems. For `fastmap check`. */
int fm_policy_check(const char *file);

/* Parse "64M", "1G", "4096", "50%" (of `whole`). 0 or -EINVAL / -ERANGE. */
int fm_parse_size(const char *s, uint64_t whole, uint64_t *ret);
/* Bytes of it, of the memory that may be used now: 16 KiB at least. Asks the
 * kernel if it is a percentage. [any] */
uint64_t fm_cache_bytes(const struct fm_cache_size *c);

/* Memory this process may use: min(RAM, cgroup v1/v2 limits), bytes. */
uint64_t fm_memory_limit(void);
