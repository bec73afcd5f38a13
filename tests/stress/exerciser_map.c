/* SPDX-License-Identifier: MIT */
/* exerciser_map.c - operations on mappings, see exerciser.c. */
#include "exerciser.h"

#include <signal.h>

/* ---- mapped access ------------------------------------------------------- */

static void op_map_read(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0, first, n;

	if (!valid)
		return;
	first = rnd(valid / PAGE);
	n = min(1 + some_len(max_size) / PAGE, valid / PAGE - first);
	note("load map %d page %llu n %llu", (int)(m - maps),
	     (unsigned long long)first, (unsigned long long)n);
	for (uint64_t p = first; p < first + n; p++)
		check_page(m, p);
}

static void own_page(struct map *m, uint64_t p)
{
	if (m->own[p])
		return;
	m->own[p] = 1;
	memcpy(m->copy + p * PAGE, model + m->off + p * PAGE, PAGE);
}

static void op_map_store(void)
{
	struct map *m = some_map();
	uint64_t at, len;

	if (!m || m->readonly || size <= m->off)
		return;
	/* Not beyond the end: such bytes are gone at an unspecified time. */
	at = some_off(min(m->len, size - m->off));
	len = some_len(min(m->len, size - m->off) - at);
	note("store map %d at file %#llx len %#llx", (int)(m - maps),
	     (unsigned long long)(m->off + at), (unsigned long long)len);
	fresh(heap, len);
	memcpy(m->addr + at, heap, len);
	if (m->shared) {
		memcpy(model + m->off + at, heap, len);
		return;
	}
	for (uint64_t p = at / PAGE; p <= (at + len - 1) / PAGE; p++)
		own_page(m, p);
	memcpy(m->copy + at, heap, len);
}

static void op_beyond(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0, at;
	bool write = m && !m->readonly && rnd(2);
	int sig;

	if (!m || valid >= m->len)
		return;
	at = valid + rnd(m->len - valid);
	note("beyond the end: map %d %s at file %#llx", (int)(m - maps),
	     write ? "store" : "load", (unsigned long long)(m->off + at));
	sig = touch(m->addr + at, write);
	if (sig != SIGBUS)
		fail("access beyond the end: signal %d, want SIGBUS", sig);
}

static void op_readonly_store(void)
{
	struct map *m = some_map();
	uint64_t valid = m ? map_valid(m) : 0;
	int sig;

	if (!valid || !m->readonly)
		return;
	note("store to read-only map %d", (int)(m - maps));
	sig = touch(m->addr + rnd(valid), true);
	if (sig != SIGSEGV)
		fail("store to a read-only page: signal %d, want SIGSEGV", sig);
}

/* ---- mappings ------------------------------------------------------------ */

static void map_forget(struct map *m)
{
	free(m->own);
	free(m->copy);
	memset(m, 0, sizeof(*m));
}

static void map_model(struct map *m, char *addr, size_t len, uint64_t off,
		      bool shared)
{
	*m = (struct map){ .addr = addr, .len = len, .off = off,
			   .shared = shared };
	if (shared)
		return;
	m->own = calloc(len / PAGE, 1);
	m->copy = malloc(len);
	if (!m->own || !m->copy)
		fail("out of memory");
}

static void op_mmap(void)
{
	struct map *m = &maps[rnd(MAPS)];
	bool shared = rnd(4) != 0;
	uint64_t off = rnd(max_size / PAGE) * PAGE;
	size_t len;
	char *p;

	if (m->addr || rnd(4) == 0)
		return;
	if (rnd(3) == 0)
		off = 0;
	len = (1 + rnd((max_size - off) / PAGE)) * PAGE;
	/* Populating a private writable mapping copies pages; how many is not
	 * specified, so only shared ones are populated. */
	note("mmap %d %s off %#llx len %#zx", (int)(m - maps),
	     shared ? "shared" : "private", (unsigned long long)off, len);
	p = mmap(NULL, len - rnd(PAGE), PROT_READ | PROT_WRITE,
		 (shared ? MAP_SHARED : MAP_PRIVATE) |
		 (shared && rnd(16) == 0 ? MAP_POPULATE : 0), fd, (off_t)off);
	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	map_model(m, p, len, off, shared);
}

static void op_munmap(void)
{
	struct map *m = some_map();

	if (!m || rnd(3))
		return;
	note("munmap %d", (int)(m - maps));
	unmap_one(m);
}

/* Unmap the tail, or split: unmap the middle and keep the head. */
static void op_munmap_part(void)
{
	struct map *m = some_map();
	uint64_t keep;

	if (!m || m->len < 2 * PAGE || rnd(2))
		return;
	keep = (1 + rnd(m->len / PAGE - 1)) * PAGE;
	note("munmap %d tail from %#llx", (int)(m - maps),
	     (unsigned long long)keep);
	if (munmap(m->addr + keep, m->len - keep))
		fail("munmap: %s", strerror(errno));
	m->len = keep;
}

static void op_mremap(void)
{
	struct map *m = some_map();
	size_t len;
	char *p;

	if (!m || (!m->shared && m->len == max_size))
		return;
	len = (1 + rnd((max_size - m->off) / PAGE)) * PAGE;
	if (!m->shared && len > m->len)
		return; /* the model's copies do not grow */
	note("mremap %d %#zx to %#zx", (int)(m - maps), m->len, len);
	p = mremap(m->addr, m->len, len, MREMAP_MAYMOVE);
	if (p == MAP_FAILED && errno == EFAULT)
		/* advice has split it into several: the kernel's answer */
		return;
	if (p == MAP_FAILED)
		fail("mremap: %s", strerror(errno));
	m->addr = p;
	m->len = len;
}

static void op_mprotect(void)
{
	struct map *m = some_map();

	if (!m)
		return;
	m->readonly = !m->readonly;
	note("mprotect %d %s", (int)(m - maps), m->readonly ? "r" : "rw");
	if (mprotect(m->addr, m->len, m->readonly ? PROT_READ :
		     PROT_READ | PROT_WRITE))
		fail("mprotect: %s", strerror(errno));
}

static void op_map_over(void)
{
	struct map *m = some_map();
	uint64_t first;
	size_t n;

	if (!m || !m->shared || m->readonly)
		return;
	first = rnd(m->len / PAGE);
	n = 1 + rnd(min(64, m->len / PAGE - first));
	note("mmap fixed over map %d page %llu n %zu", (int)(m - maps),
	     (unsigned long long)first, n);
	if (mmap(m->addr + first * PAGE, n * PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd,
		 (off_t)(m->off + first * PAGE)) == MAP_FAILED)
		fail("mmap fixed: %s", strerror(errno));
}

static void op_madvise(void)
{
	static const int advice[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT,
	};
	int a = advice[rnd(7)];
	struct map *m = some_map();
	uint64_t first, n;

	if (!m)
		return;
	first = rnd(m->len / PAGE);
	n = 1 + rnd(m->len / PAGE - first);
	note("madvise %d map %d page %llu n %llu", a, (int)(m - maps),
	     (unsigned long long)first, (unsigned long long)n);
	if (madvise(m->addr + first * PAGE, n * PAGE, a))
		fail("madvise: %s", strerror(errno));
	if (a == MADV_DONTNEED && !m->shared)
		memset(m->own + first, 0, n);
}

static void op_msync(void)
{
	struct map *m = some_map();
	static const int how[] = { MS_SYNC, MS_ASYNC, MS_ASYNC, MS_INVALIDATE };
	int f = how[rnd(4)];

	if (!m)
		return;
	note("msync %d flags %d", (int)(m - maps), f);
	if (msync(m->addr, m->len, f))
		fail("msync: %s", strerror(errno));
}

void unmap_one(struct map *m)
{
	if (!m->addr)
		return;
	if (munmap(m->addr, m->len))
		fail("munmap: %s", strerror(errno));
	map_forget(m);
}

void unmap_all(void)
{
	for (int i = 0; i < MAPS; i++)
		unmap_one(&maps[i]);
}

const struct op map_ops[] = {
	{ "load", op_map_read, 60, false },
	{ "store", op_map_store, 60, false },
	{ "beyond", op_beyond, 6, true },
	{ "rostore", op_readonly_store, 3, false },
	{ "mmap", op_mmap, 12, false },
	{ "munmap", op_munmap, 6, false },
	{ "munmappart", op_munmap_part, 3, false },
	{ "mremap", op_mremap, 6, true },
	{ "mprotect", op_mprotect, 6, false },
	{ "mapover", op_map_over, 4, false },
	{ "madvise", op_madvise, 10, false },
	{ "msync", op_msync, 5, false },
	{ NULL, NULL, 0, false },
};
