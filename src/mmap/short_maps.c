/* SPDX-License-Identifier: MIT */
#include "short_maps.h"

#include <sys/mman.h>

#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "file/file.h"

#define AGAIN 63   /* mappings, then the descriptor is looked at */
#define FDS 4      /* that a thread has in mind */
#define BUSY 1     /* no page, no length: about to be mapped */
#define LONGEST ((size_t)FM_PAGE_MASK << FM_PAGE_SHIFT)

#define ADDRESS (((uint64_t)1 << 47) - 1 - FM_PAGE_MASK)
#define NUMBER 48 /* shift */

/* Address; below, the number of pages; above, the number of the mapping, so
 * that one in the place of another is not taken for it. */
static _Atomic uint64_t slots[FM_SHORT_MAPS];
static _Atomic uint32_t used, number;
static _Atomic bool moved;      /* one that was noted is somewhere else */
static _Atomic uint32_t closed; /* how often descriptors have been */

static _Thread_local struct {
	struct fm_skipped *left;
	int fd;
	uint32_t closed, again;
} seen[FDS] __attribute__((tls_model("initial-exec")));

void fm_short_map_closed(void)
{
	atomic_fetch_add_explicit(&closed, 1, memory_order_relaxed);
}

uint32_t fm_short_map_closes(void)
{
	return atomic_load(&closed);
}

void fm_short_map_note(int fd, struct fm_skipped *l)
{
	const unsigned i = (unsigned)fd % FDS;

	seen[i].left = NULL; /* a signal handler may come between */
	seen[i].fd = fd;
	seen[i].closed = atomic_load(&closed);
	seen[i].again = AGAIN;
	seen[i].left = l;
}

/* As fm_skipped_short_before, of a file that was looked at: the entry may be
 * free again, in a child. */
static struct fm_skipped *seen_as(int fd, size_t len)
{
	const unsigned i = (unsigned)fd % FDS;
	struct fm_skipped *l = seen[i].left;

	if (!l || seen[i].fd != fd || !seen[i].again || !l->mappings ||
	    len > l->too_short || seen[i].closed != atomic_load(&closed))
		return NULL;
	seen[i].again--;
	return l;
}

static int slot_take(void)
{
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		uint64_t nothing = 0;

		if (!atomic_load_explicit(&slots[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&slots[i], &nothing, BUSY)) {
			atomic_fetch_add(&used, 1);
			return i;
		}
	}
	return -1;
}

static void slot_drop(int i, uint64_t what)
{
	if (atomic_compare_exchange_strong(&slots[i], &what, 0))
		atomic_fetch_sub(&used, 1);
}

/* The engine publishes a file, and then looks at the slots: it sees this one,
 * or we see the file. One that it sees busy will see the file. */
static void *map(int i, void *addr, size_t len, int prot, int flags, int fd,
		 off_t off)
{
	void *p = fm_sys_mmap(addr, len, prot, flags, fd, off);
	uint64_t n = atomic_fetch_add(&number, 1);
	uint64_t word = n << NUMBER | (uint64_t)(uintptr_t)p |
			(len + FM_PAGE_MASK) >> FM_PAGE_SHIFT;

	if (fm_is_err(p)) {
		slot_drop(i, BUSY);
		return NULL;
	}
	atomic_store(&slots[i], word);
	if (!fm_files_any() && !((uintptr_t)p & ~ADDRESS))
		return p;
	fm_sys_munmap(p, len);
	slot_drop(i, word);
	return NULL;
}

void *fm_short_map_mmap(void *addr, size_t len, int prot, int flags, int fd,
			off_t off)
{
	struct fm_skipped *l;
	void *p;
	int i;

	if (fm_files_any() || len > LONGEST)
		return NULL;
	l = seen_as(fd, len);
	i = l ? slot_take() : -1;
	p = i < 0 ? NULL : map(i, addr, len, prot, flags, fd, off);
	if (p)
		fm_skipped_again(l, len, (flags & MAP_TYPE) != MAP_PRIVATE,
			      prot & PROT_WRITE);
	return p;
}

/* ---- until it is unmapped ---------------------------------------------- */

static uintptr_t start_of(uint64_t word)
{
	return (uintptr_t)(word & ADDRESS);
}

static uintptr_t end_of(uint64_t word)
{
	return start_of(word) +
	       (uintptr_t)((word & FM_PAGE_MASK) << FM_PAGE_SHIFT);
}

void fm_short_map_moves(const void *addr, size_t len)
{
	const uintptr_t a = (uintptr_t)addr;

	if (!atomic_load_explicit(&used, memory_order_relaxed))
		return;
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		const uint64_t word = atomic_load(&slots[i]);

		if (start_of(word) < a + len && end_of(word) > a)
			atomic_store(&moved, true);
	}
}

/* Before: another thread may have mapped something there the moment after. */
bool fm_short_map_in(const void *addr, size_t len, uint64_t ret[FM_SHORT_MAPS])
{
	const uintptr_t a = (uintptr_t)addr;
	bool any = false;

	if (!atomic_load(&used))
		return false;
	for (int i = 0; i < FM_SHORT_MAPS; i++) {
		ret[i] = atomic_load(&slots[i]);
		if (start_of(ret[i]) < a ||
		    end_of(ret[i]) - a > fm_page_up(len))
			ret[i] = 0;
		any |= start_of(ret[i]) != 0;
	}
	return any;
}

bool fm_short_map_look(uint64_t ret[FM_SHORT_MAPS])
{
	const bool gone = atomic_exchange(&moved, false);

	return fm_short_map_in(NULL, ~FM_PAGE_MASK, ret) || gone;
}

void fm_short_map_forget(const uint64_t what[FM_SHORT_MAPS])
{
	for (int i = 0; i < FM_SHORT_MAPS; i++)
		if (start_of(what[i]))
			slot_drop(i, what[i]);
}
