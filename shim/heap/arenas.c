/* SPDX-License-Identifier: MIT */
/*
 * arenas.c - the private jemalloc (src/private.sh, jemalloc.redirects).
 *
 * Each arena is made with memory of its own first, which is where what jemalloc
 * keeps of its extents stays: it must not be paged out, nor be missing in a
 * child. Then its extents are ours (extents.c).
 */
#include "heap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sys.h"

int heap_je_mallctl(const char *name, void *old, size_t *old_len, void *new,
		    size_t new_len);

/* Strong definition over jemalloc's weak one. */
extern const char *heap_je_malloc_conf;
const char *heap_je_malloc_conf =
	"narenas:4,background_thread:false,dss:disabled,thp:never,"
	"metadata_thp:disabled,oversize_threshold:0,"
	"dirty_decay_ms:10000,muzzy_decay_ms:0";
#define ARENAS 4 /* narenas */
/* An arena that needs more takes ever larger extents, up to that. */
#define MOST_AHEAD (64ul << 20)

enum { NOT_BEGUN, BEGINS, BEGUN, ASKED };
static _Atomic int begun;

static void arena_begin(unsigned i)
{
	char name[] = "arena.0.extent_hooks", most[] =
		"arena.0.retain_grow_limit";
	struct extent_hooks_s *hooks = heap_extents;
	size_t limit = MOST_AHEAD;

	name[6] = most[6] = (char)('0' + i);
	heap_je_mallctl("thread.arena", NULL, NULL, &i, sizeof(i));
	heap_je_mallctl(most, NULL, NULL, &limit, sizeof(limit));
	if (heap_je_mallctl(name, NULL, NULL, &hooks, sizeof(hooks)))
		heap_say("an arena stays in memory", "", 0);
}

/* The first allocation of all: there is one thread. What allocates meanwhile
 * has memory. */
static void begin_all(void)
{
	const int saved = errno;

	atomic_store(&begun, BEGINS);
	for (unsigned i = ARENAS; i-- > 0;)
		arena_begin(i);
	heap_kept_begin();
	atomic_store(&begun, BEGUN);
	errno = saved;
}

void heap_count(void)
{
	int was = BEGUN;

	atomic_compare_exchange_strong(&begun, &was, ASKED);
}

/* jemalloc's own locks are taken: by a thread of the program's, at the entry,
 * where it holds none. */
static void count_now(void)
{
	uint64_t epoch = 1;
	size_t used = 0, len = sizeof(used);
	int was = ASKED;

	if (!atomic_compare_exchange_strong(&begun, &was, BEGUN))
		return;
	if (!heap_je_mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) &&
	    !heap_je_mallctl("stats.allocated", &used, &len, NULL, 0))
		atomic_store(&fastmap_heap_calls.used, used);
}

void heap_begin(void)
{
	const int now = atomic_load_explicit(&begun, memory_order_relaxed);

	if (now == NOT_BEGUN)
		begin_all();
	else if (now == ASKED)
		count_now();
}

int heap_trim(void)
{
	char name[] = "arena.0.purge";

	for (unsigned i = 0; i < ARENAS; i++) {
		name[6] = (char)('0' + i);
		heap_je_mallctl(name, NULL, NULL, NULL, 0);
	}
	return 1;
}

/* ---- what jemalloc imports ----------------------------------------------- */

/* MALLOC_CONF and /etc/malloc.conf belong to the program's own jemalloc. */
char *heap_je_getenv(const char *name);
char *heap_je_getenv(const char *name)
{
	return NULL;
}

ssize_t heap_je_readlink(const char *path, char *buf, size_t n);
ssize_t heap_je_readlink(const char *path, char *buf, size_t n)
{
	return -1;
}

_Noreturn void heap_je_never(void);
_Noreturn void heap_je_never(void)
{
	__builtin_trap();
}

#define NEVER(name) \
	_Noreturn void heap_je_no_##name(void) \
		__attribute__((alias("heap_je_never")));
NEVER(log)
NEVER(exp)
NEVER(round)
NEVER(_Unwind_Backtrace)
NEVER(_Unwind_GetIP)
