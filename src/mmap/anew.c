/* SPDX-License-Identifier: MIT */
#include "anew.h"

#include <string.h>

#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "policy.h"
#include "serve/serve.h"

#define FILES 64 /* of two with the same hash the later one counts */
#define TIMES 4
#define PART 4
#define SHORT_NS ((uint64_t)50000000)
#define WINDOW ((size_t)64 << 20) /* bytes, at most */

/* Under the space lock. */
static struct anew {
	dev_t dev;
	ino_t ino;
	uint64_t from_ns; /* of the call that mapped it; 0: it is not mapped */
	/* Of the last `times`: to take it over, all in all, the longest. */
	uint64_t took_ns, mapped_ns;
	size_t longest; /* bytes */
	unsigned times;
	/* So many bytes at most are left to the kernel, for so long: */
	size_t most;
	uint64_t until_ms;
	unsigned failed; /* series in a row that were too short */
} files[FILES];

static struct anew *at(dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 20) *
		     0x9e3779b97f4a7c15ull;

	return &files[(h >> 40) % FILES];
}

static bool is(const struct anew *a, dev_t dev, ino_t ino)
{
	return a->ino == ino && a->dev == dev;
}

bool fm_anew_leave(const struct stat *st, size_t len,
		   const struct fm_policy *p)
{
	const struct anew *a = at(st->st_dev, st->st_ino);

	return is(a, st->st_dev, st->st_ino) && p->serve == FM_SERVE_AUTO &&
	       p->warm == FM_WARM_AUTO && len <= a->most &&
	       fm_now_ms() < a->until_ms;
}

static struct anew *note(const struct stat *st, size_t len, uint64_t from_ns)
{
	struct anew *a = at(st->st_dev, st->st_ino);

	if (!is(a, st->st_dev, st->st_ino))
		*a = (struct anew){ .dev = st->st_dev, .ino = st->st_ino };
	a->longest = len > a->longest ? len : a->longest;
	a->took_ns += fm_now_ns() - from_ns;
	return a;
}

void fm_anew_begins(const struct stat *st, size_t len, uint64_t from_ns)
{
	if (len <= WINDOW)
		note(st, len, from_ns)->from_ns = from_ns;
}

static void judge(struct anew *a)
{
	if (a->took_ns * PART > a->mapped_ns ||
	    a->mapped_ns < TIMES * SHORT_NS) {
		a->until_ms = fm_now_ms() + fm_pause_ms(++a->failed);
		a->most = fm_least(2 * a->longest, WINDOW);
	} else {
		a->failed = 0;
	}
	a->took_ns = a->mapped_ns = a->longest = a->times = 0;
}

static void one_more(struct anew *a)
{
	a->from_ns = 0;
	if (++a->times == TIMES)
		judge(a);
}

void fm_anew_refused(const struct stat *st, size_t len, uint64_t from_ns)
{
	if (len <= WINDOW)
		one_more(note(st, len, from_ns));
}

static void ends(struct fm_file *f)
{
	struct anew *a = at(f->dev, f->ino);

	if (!is(a, f->dev, f->ino) || !a->from_ns)
		return;
	a->mapped_ns += fm_now_ns() - a->from_ns;
	one_more(a);
}

static void forked(void)
{
	memset(files, 0, sizeof(files));
}

static struct fm_file_observer observer = { .closing = ends };

__attribute__((constructor)) static void observe(void)
{
	fm_file_observe(&observer);
}

FM_LIFE(anew, .level = FM_LIFE_RUNNING, .forked = forked)
