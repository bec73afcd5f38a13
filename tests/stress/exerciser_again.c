/* SPDX-License-Identifier: MIT */
/* exerciser_again.c - ranges that are unmapped and mapped again, and files
 * mapped piece by piece, see exerciser.c. */
#include "exerciser.h"

/* The whole map, or here and there a page of it. */
static void check_map(struct map *m)
{
	uint64_t n = map_valid(m) / PAGE, step = rnd(3) ? 1 + rnd(40) : 1;

	for (uint64_t p = n ? rnd(min(n, step)) : 0; p < n; p += step)
		check_page(m, p);
}

static void store_some(struct map *m)
{
	uint64_t end = size > m->off ? min(m->len, size - m->off) : 0;

	for (uint64_t n = rnd(6); end && n; n--) {
		uint64_t at = some_off(end), len = min(1 + rnd(9000), end - at);

		fresh(heap, len);
		memcpy(m->addr + at, heap, len);
		memcpy(model + m->off + at, heap, len);
	}
}

static char *map_shared(uint64_t off, size_t len, bool readonly)
{
	char *p = mmap(NULL, len, readonly ? PROT_READ : PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, (off_t)off);

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return p;
}

static void unmap_others(const struct map *but)
{
	for (int i = 0; i < MAPS; i++)
		if (&maps[i] != but)
			unmap_one(&maps[i]);
}

/* Change the file while nothing, or little, of it is mapped. */
static void change_file(void)
{
	static const char *const names[] = {
		"write", "dwrite", "truncate", "fallocate", "collapse",
		"copyrange", "append", "pread", "dread", "reopen", "fsync",
	};
	const char *name = names[rnd(sizeof(names) / sizeof(*names))];

	for (const struct op *o = file_ops; o->name; o++)
		if (!strcmp(o->name, name) && !skipped(o))
			o->run();
}

/* What the engine keeps of an unmapped range must not outlive a change. */
static void op_again(void)
{
	struct map *m = some_map();

	if (!m || !m->shared)
		return;
	if (rnd(4))
		unmap_others(m);
	for (uint64_t rounds = 1 + rnd(4); rounds; rounds--) {
		bool readonly = rnd(2);

		note("unmap and map again %d %s", (int)(m - maps),
		     readonly ? "r" : "rw");
		if (munmap(m->addr, m->len))
			fail("munmap: %s", strerror(errno));
		m->addr = NULL; /* no operation on the file may use it */
		while (rnd(2))
			change_file();
		note("map again %d %s", (int)(m - maps), readonly ? "r" : "rw");
		m->addr = map_shared(m->off, m->len, readonly);
		m->readonly = readonly;
		check_map(m);
		if (!readonly)
			store_some(m);
	}
}

/* Mapped in small pieces, each of them for a moment. */
static void op_windows(void)
{
	for (uint64_t n = 1 + rnd(24); n; n--) {
		struct map w = { .shared = true, .readonly = rnd(2) };

		w.off = rnd(max_size / PAGE) * PAGE;
		w.len = min(1 + rnd(32), (max_size - w.off) / PAGE) * PAGE;
		note("window off %#llx len %#zx %s", (unsigned long long)w.off,
		     w.len, w.readonly ? "r" : "rw");
		w.addr = map_shared(w.off, w.len, w.readonly);
		check_map(&w);
		if (!w.readonly)
			store_some(&w);
		check_map(&w);
		if (munmap(w.addr, w.len))
			fail("munmap: %s", strerror(errno));
	}
}

const struct op again_ops[] = {
	{ "again", op_again, 4, false },
	{ "windows", op_windows, 2, false },
	{ NULL, NULL, 0, false },
};
