/* SPDX-License-Identifier: MIT */
/* Ranges that the kernel serves: adds, cuts, moves and marks in any order say
 * what a table with a row for each page says. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"

#define PAGES 256
#define ROUNDS 100000

static char *base;

/* The model: what lies at each page. */
static struct page {
	ino_t ino; /* 0: nothing */
	uint64_t pgoff;
	uint8_t prot, said;
	bool kept;
} model[PAGES];

static uint64_t rng = 88172645463325252ull;

static uint32_t random_below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 11) % n;
}

static int begin(void **state)
{
	base = mmap(NULL, PAGES * FM_PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return base == MAP_FAILED;
}

static int again(void **state)
{
	fm_krange_forget((uintptr_t)base, (uintptr_t)base + PAGES * FM_PAGE);
	memset(model, 0, sizeof(model));
	return 0;
}

static char *at(unsigned page)
{
	return base + page * FM_PAGE;
}

static void add_written(unsigned first, unsigned n, ino_t ino, uint64_t written)
{
	const struct fm_krange r = { .start = (uintptr_t)at(first),
				     .end = (uintptr_t)at(first + n),
				     .dev = 1, .ino = ino,
				     .written = written * FM_PAGE };

	fm_krange_add(&r);
}

static void add(unsigned first, unsigned n, ino_t ino, uint64_t pgoff)
{
	const struct fm_krange r = { .start = (uintptr_t)at(first),
				     .end = (uintptr_t)at(first + n),
				     .dev = 1, .ino = ino, .pgoff = pgoff,
				     .prot = PROT_READ };

	fm_krange_add(&r);
	for (unsigned k = 0; k < n; k++)
		model[first + k] = (struct page){ ino, pgoff + k, PROT_READ, 0,
						  false };
}

static void cut(unsigned first, unsigned n, bool fails)
{
	uint32_t edit = fm_krange_edit(at(first), n * FM_PAGE);

	if (edit)
		fm_krange_edit_ends(edit, at(first), n * FM_PAGE, !fails);
	if (!fails)
		memset(&model[first], 0, n * sizeof(model[0]));
}

static bool one_mapping(unsigned first, unsigned n)
{
	for (unsigned k = 1; k < n; k++)
		if (model[first + k].ino != model[first].ino ||
		    model[first + k].pgoff != model[first].pgoff + k)
			return false;
	return model[first].ino;
}

/* As the kernel does: what is there then is as its first page was. */
static void move(unsigned first, unsigned n, unsigned to, unsigned m,
		 bool fails)
{
	const bool fixed = first != to;
	struct fm_krange_move mv;
	struct page p = model[first];

	if (!one_mapping(first, n) || to + m > PAGES)
		return;
	if (first != to && first < to + m && to < first + n)
		return;
	fm_krange_move_begins(&mv, at(first), n * FM_PAGE, m * FM_PAGE,
			      fixed ? MREMAP_MAYMOVE | MREMAP_FIXED : 0,
			      at(to));
	fm_krange_move_ends(&mv, fails ? (void *)-ENOMEM : at(to));
	if (fails && fixed)
		memset(&model[to], 0, m * sizeof(p)); /* it is in doubt */
	if (fails)
		return;
	if (!fixed && m <= n) {
		memset(&model[first + m], 0, (n - m) * sizeof(p));
		return;
	}
	memset(&model[first], 0, n * sizeof(p));
	for (unsigned k = 0; k < m; k++, p.pgoff++)
		model[to + k] = p;
}

static void say(unsigned first, unsigned n, uint8_t advice)
{
	fm_krange_said(at(first), n * FM_PAGE, advice);
	for (unsigned k = 0; k < n; k++)
		model[first + k].said = advice;
}

static void protect(unsigned first, unsigned n, uint8_t prot)
{
	fm_krange_protected(at(first), n * FM_PAGE, prot);
	for (unsigned k = 0; k < n; k++)
		model[first + k].prot = prot;
}

static void keep(unsigned first, unsigned n)
{
	fm_krange_kept(at(first), n * FM_PAGE);
	for (unsigned k = 0; k < n; k++)
		model[first + k].kept = true;
}

static void check_entry(const struct fm_krange *r, unsigned *seen)
{
	unsigned first = (unsigned)((r->start - (uintptr_t)base) / FM_PAGE);
	unsigned end = (unsigned)((r->end - (uintptr_t)base) / FM_PAGE);

	assert_true(first >= *seen && first < end && end <= PAGES);
	for (unsigned k = *seen; k < first; k++)
		assert_int_equal(model[k].ino, 0);
	for (unsigned k = first; k < end; k++) {
		assert_int_equal(model[k].ino, r->ino);
		assert_int_equal(model[k].pgoff, r->pgoff + k - first);
		assert_int_equal(model[k].prot, r->prot);
		assert_int_equal(model[k].kept, r->kept);
		if (model[k].ino)
			assert_int_equal(model[k].said, r->said);
	}
	assert_int_equal(r->edit, 0);
	*seen = end;
}

static void check(void)
{
	struct fm_krange v[PAGES];
	unsigned n = fm_krange_list(NULL, v, PAGES), seen = 0;
	unsigned k = random_below(PAGES);

	assert_true(n <= PAGES);
	for (unsigned i = 0; i < n; i++)
		check_entry(&v[i], &seen);
	for (; seen < PAGES; seen++)
		assert_int_equal(model[seen].ino, 0);
	assert_int_equal(fm_krange_in(at(k), FM_PAGE), model[k].ino != 0);
}

static void turn(void)
{
	unsigned first = random_below(PAGES - 1);
	unsigned n = 1 + random_below(PAGES - first);
	unsigned to = random_below(2) ? first : random_below(PAGES);
	const bool fails = !random_below(4);

	switch (random_below(8)) {
	case 0:
	case 1:
		add(first, n, 1 + random_below(3), random_below(1000));
		break;
	case 2:
		cut(first, n, fails);
		break;
	case 3:
	case 4:
		n = 1 + n % 8;
		if (first + n <= PAGES)
			move(first, n, to, 1 + random_below(n + 4), fails);
		break;
	case 5:
		say(first, n, random_below(2) ? MADV_RANDOM : MADV_NORMAL);
		break;
	case 6:
		protect(first, n, random_below(2) ? PROT_READ : PROT_NONE);
		break;
	case 7:
		keep(first, n);
	}
}

static void it_says_what_a_row_for_each_page_says(void **state)
{
	for (unsigned k = 0; k < ROUNDS; k++) {
		turn();
		check();
	}
}

/* Between the two halves of a call nothing there is advised. */
static void what_is_marked_is_not_advised(void **state)
{
	uint32_t edit;
	struct fm_krange r;

	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	edit = fm_krange_edit(at(2), FM_PAGE);
	assert_int_not_equal(edit, 0);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM),
			 -ESTALE);
	fm_krange_edit_ends(edit, at(2), FM_PAGE, false);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM),
			 0);
	fm_krange_said(at(4), FM_PAGE, MADV_SEQUENTIAL);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_NORMAL),
			 -ESTALE);
}

/* Of huge pages the program's word stands, and ours is undone where it is. */
static void the_program_has_the_last_word(void **state)
{
	struct fm_krange r;

	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end,
					  MADV_NOHUGEPAGE), -ESTALE);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_HUGEPAGE),
			 0);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end,
					  MADV_NOHUGEPAGE), 0);
	fm_krange_said(at(4), FM_PAGE, MADV_HUGEPAGE);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end,
					  MADV_NOHUGEPAGE), -ESTALE);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_HUGEPAGE),
			 -ESTALE);
}

/* Said and noted in one: what does not last, or has failed, is not. */
static void what_lasts_is_said_with_its_note(void **state)
{
	struct fm_krange r;
	int err = 1;

	add(0, 8, 1, 0);
	assert_false(fm_krange_says(at(2), FM_PAGE, MADV_DONTNEED, &err));
	assert_false(fm_krange_says(at(20), FM_PAGE, MADV_RANDOM, &err));
	assert_true(fm_krange_says(at(2) + 1, FM_PAGE, MADV_RANDOM, &err));
	assert_int_equal(err, -EINVAL);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.said, MADV_NORMAL);
	assert_int_equal(r.end - r.start, 8 * FM_PAGE);
	assert_true(fm_krange_says(at(0), 8 * FM_PAGE, MADV_RANDOM, &err));
	assert_int_equal(err, 0);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.said, MADV_RANDOM);
	assert_true(fm_krange_says(at(0), 8 * FM_PAGE, MADV_NORMAL, &err));
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.said, MADV_NORMAL);
}

/* Page by page that would fill the table. */
static void normal_for_a_part_is_nothing_new(void **state)
{
	struct fm_krange r[4];
	int err = 1;

	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_list(NULL, r, 4), 1);
	assert_int_equal(fm_krange_advise(r->id, r->start, r->end, MADV_RANDOM),
			 0);
	assert_true(fm_krange_says(at(2), FM_PAGE, MADV_NORMAL, &err));
	assert_int_equal(err, 0);
	assert_int_equal(fm_krange_list(NULL, r, 4), 1);
	assert_true(fm_krange_says(at(4), FM_PAGE, MADV_RANDOM, &err));
	assert_int_equal(fm_krange_list(NULL, r, 4), 3);
}

/* More parts than the table holds: it is not known of each, until all is
 * said of, or it goes. */
static void more_words_than_room_are_forgotten_together(void **state)
{
	const size_t len = (2 * FM_KRANGES + 2) * FM_PAGE;
	char *room = mmap(NULL, len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fm_krange r = { .start = (uintptr_t)room, .dev = 1, .ino = 1,
			       .end = (uintptr_t)room + len }, was;
	const int said = MADV_RANDOM;
	uint32_t edit;

	fm_krange_add(&r);
	assert_int_equal(fm_krange_list(NULL, &was, 1), 1);
	for (size_t at = FM_PAGE; at < len; at += 2 * FM_PAGE)
		fm_krange_said(room + at, FM_PAGE, said);
	assert_true(fm_krange_complete());
	assert_int_equal(fm_krange_bytes(), len);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.id, was.id);
	assert_int_equal(r.said, FM_SAID_SEVERAL);
	assert_int_equal(fm_krange_advise(was.id, r.start, r.end, said),
			 -ESTALE);
	fm_krange_said(room, len, MADV_NORMAL);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.end - r.start, len);
	assert_int_equal(r.said, MADV_NORMAL);
	assert_int_equal(fm_krange_advise(was.id, r.start, r.end, said), 0);
	for (size_t at = FM_PAGE; at < len; at += 2 * FM_PAGE)
		fm_krange_said(room + at, FM_PAGE, said);
	edit = fm_krange_edit(room, len);
	munmap(room, len);
	fm_krange_edit_ends(edit, room, len, true);
	assert_false(fm_krange_any());
	assert_true(fm_krange_complete());
}

/* In any order, whatever of it we have advised: natively one mapping, too. */
static void what_is_taken_back_is_one_again(void **state)
{
	struct fm_krange r[4];
	int err;

	add(0, 64, 1, 0);
	assert_int_equal(fm_krange_list(NULL, r, 4), 1);
	assert_int_equal(fm_krange_advise(r->id, r->start, r->end, MADV_RANDOM),
			 0);
	for (unsigned i = 0; i < 64; i++)
		assert_true(fm_krange_says(at(i * 29 % 64), FM_PAGE,
					   MADV_RANDOM, &err));
	assert_int_equal(fm_krange_list(NULL, r + 1, 3), 1);
	for (unsigned i = 0; i < 64; i++)
		assert_true(fm_krange_says(at(i * 37 % 64), FM_PAGE,
					   MADV_NORMAL, &err));
	assert_int_equal(fm_krange_list(NULL, r + 1, 3), 1);
	assert_int_equal(r[1].id, r[0].id);
	assert_int_not_equal(r[1].undone, r[0].undone);
	assert_int_equal(fm_krange_advise(r->id, r->start, r->end, MADV_RANDOM),
			 0);
}

/* What is as it was said costs no change of the table; nor is anything of ours
 * left where the program has spoken. */
static void what_is_noted_is_not_noted_again(void **state)
{
	struct fm_krange r;
	uint32_t changes;
	int err;

	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM),
			 0);
	fm_krange_says(at(0), 8 * FM_PAGE, MADV_NORMAL, &err);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_false(r.advised);
	changes = fm_krange_changes();
	fm_krange_says(at(3), FM_PAGE, MADV_NORMAL, &err);
	fm_krange_says(at(0), 8 * FM_PAGE, MADV_DOFORK, &err);
	assert_int_equal(fm_krange_changes(), changes);
	fm_krange_says(at(3), FM_PAGE, MADV_DONTFORK, &err);
	assert_int_not_equal(fm_krange_changes(), changes);
	fm_krange_says(at(3), FM_PAGE, MADV_DOFORK, &err);
}

/* Has the mapping at this address the flag that smaps calls so? */
static bool has_flag(const void *addr, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long start = 0, end = 0, a, b;
	char line[512];
	bool has = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2)
			start = a, end = b;
		else if (!strncmp(line, "VmFlags:", 8) &&
			 start <= (uintptr_t)addr && (uintptr_t)addr < end)
			has = strstr(line, flag);
	fclose(f);
	return has;
}

/* A fault there reads 2 MiB, whatever else has been advised. */
static void what_is_read_here_and_there_has_no_huge_pages(void **state)
{
	struct fm_krange r, was;

	add(0, 8, 1, 0);
	if (madvise(at(0), 8 * FM_PAGE, MADV_HUGEPAGE))
		skip();
	fm_krange_said(at(0), 8 * FM_PAGE, MADV_HUGEPAGE);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM),
			 0);
	assert_true(has_flag(at(0), " rr") && has_flag(at(0), " nh"));
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_NORMAL),
			 0);
	assert_true(has_flag(at(0), " hg") && !has_flag(at(0), " rr"));
	/* The advice came first, and the program's word after it. */
	fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM);
	assert_int_equal(madvise(at(0), 8 * FM_PAGE, MADV_HUGEPAGE), 0);
	fm_krange_said(at(0), 8 * FM_PAGE, MADV_HUGEPAGE);
	assert_true(has_flag(at(0), " hg") && !has_flag(at(0), " rr"));
	was = r;
	/* Its own MADV_RANDOM is not undone with ours. */
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.id, was.id);
	assert_int_not_equal(r.undone, was.undone);
	fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM);
	madvise(at(0), 8 * FM_PAGE, MADV_RANDOM);
	fm_krange_said(at(0), 8 * FM_PAGE, MADV_RANDOM);
	fm_krange_said(at(0), 8 * FM_PAGE, MADV_HUGEPAGE);
	assert_true(has_flag(at(0), " rr"));
	madvise(at(0), 8 * FM_PAGE, MADV_NORMAL);
	madvise(at(0), 8 * FM_PAGE, MADV_NOHUGEPAGE);
}

/* It came by the call that has the address now, and is not the one that is
 * unmapped. */
static void what_is_new_survives_an_older_call(void **state)
{
	struct fm_krange r;
	uint32_t edit;

	add(0, 8, 1, 0);
	edit = fm_krange_edit(at(0), 8 * FM_PAGE);
	add(2, 2, 2, 0);
	fm_krange_edit_ends(edit, at(0), 8 * FM_PAGE, true);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	assert_int_equal(r.ino, 2);
	assert_ptr_equal((void *)r.start, at(2));
}

static void another_number_is_another_mapping(void **state)
{
	struct fm_krange r;

	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_list(NULL, &r, 1), 1);
	add(0, 8, 1, 0);
	assert_int_equal(fm_krange_advise(r.id, r.start, r.end, MADV_RANDOM),
			 -ESTALE);
}

static void it_says_when_it_is_not_complete(void **state)
{
	struct fm_krange r = { .ino = 1, .dev = 1 };
	struct fm_krange_all all;

	assert_true(fm_krange_complete());
	for (unsigned k = 0; k <= FM_KRANGES; k++) {
		r.start = (uintptr_t)base + 2 * k * FM_PAGE;
		r.end = r.start + FM_PAGE;
		fm_krange_add(&r);
	}
	assert_false(fm_krange_complete());
	assert_int_equal(fm_krange_all(NULL, &all), 0);
	assert_int_equal(all.n, FM_KRANGES);
	fm_free(all.at);
	fm_krange_forget((uintptr_t)base, r.end);
}

static _Atomic bool listed;

static void *cuts(void *arg)
{
	for (unsigned k = 0; !listed; k = (k + 3) % PAGES) {
		uint32_t edit = fm_krange_edit(at(k), FM_PAGE);

		fm_krange_edit_ends(edit, at(k), FM_PAGE, false);
	}
	return NULL;
}

#define THREADS 3
#define LISTS 20000

/* However many ranges it is in at that moment, with a file beside it. */
static void a_list_has_all_of_it_while_others_cut(void **state)
{
	const struct fm_file_id id = { 1, 2 };
	pthread_t t[THREADS];

	add(0, 8, 1, 0);
	add(8, PAGES - 8, 2, 0);
	listed = false;
	for (unsigned k = 0; k < THREADS; k++)
		assert_int_equal(pthread_create(&t[k], NULL, cuts, NULL), 0);
	for (unsigned n = 0; n < LISTS; n++) {
		struct fm_krange_all all;
		uintptr_t to = (uintptr_t)at(8);
		int err = fm_krange_all(&id, &all);

		assert_true(!err || err == -EAGAIN);
		for (unsigned k = 0; k < all.n; k++) {
			assert_ptr_equal(all.at[k].start, to);
			to = all.at[k].end;
		}
		assert_true(err ? !all.n : to == (uintptr_t)at(PAGES));
		fm_free(all.at);
	}
	listed = true;
	for (unsigned k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
}

static void *advises(void *arg)
{
	struct fm_krange r;

	while (!listed)
		if (fm_krange_list(NULL, &r, 1) &&
		    r.end - r.start > 2 * FM_PAGE)
			fm_krange_advise(r.id, r.start + FM_PAGE,
					 r.start + 2 * FM_PAGE, MADV_RANDOM);
	return NULL;
}

#define MOVES 10000

/* To the kernel, of which only one mapping grows or shrinks on its way. */
static void what_moves_is_one_until_it_has_moved(void **state)
{
	const size_t half = 8 * FM_PAGE;
	char *room = mmap(NULL, 2 * half, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct fm_krange r = { .start = (uintptr_t)room, .dev = 1,
				     .end = (uintptr_t)room + half, .ino = 1 };
	unsigned k = 0;
	pthread_t t;
	void *p;

	fm_krange_add(&r);
	listed = false;
	assert_int_equal(pthread_create(&t, NULL, advises, NULL), 0);
	do {
		const size_t was = k ? half - (~k & 1) * FM_PAGE : half;
		const size_t len = half - (k & 1) * FM_PAGE;
		char *from = room + (k & 1) * half;
		char *to = room + (~k & 1) * half;
		struct fm_krange_move m;

		fm_krange_move_begins(&m, from, was, len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, to);
		p = (void *)fm_sys5(SYS_mremap, from, was, len,
				    MREMAP_MAYMOVE | MREMAP_FIXED, to);
		fm_krange_move_ends(&m, p);
	} while (!fm_is_err(p) && ++k < MOVES);
	listed = true;
	pthread_join(t, NULL);
	assert_int_equal(k, MOVES);
	fm_krange_forget((uintptr_t)room, (uintptr_t)room + 2 * half);
	munmap(room, 2 * half);
}

static void no_more_is_copied_than_has_room(void **state)
{
	struct fm_krange r[3] = { { .ino = 0 } };

	add(0, 1, 1, 0);
	add(2, 1, 1, 0);
	add(4, 1, 1, 0);
	assert_int_equal(fm_krange_list(NULL, r, 2), 2);
	assert_int_equal(r[1].ino, 1);
	assert_int_equal(r[2].ino, 0);
}

static void *ends_in_a_call(void *arg)
{
	const struct iovec v = { at(0), FM_PAGE };

	assert_true(fm_counted_calls_enter(&v, 1));
	return NULL;
}

static void who_ends_in_a_call_is_not_waited_for(void **state)
{
	const struct iovec v = { at(0), FM_PAGE };
	pthread_t t;

	add(0, 2, 7, 0);
	assert_int_equal(pthread_create(&t, NULL, ends_in_a_call, NULL), 0);
	pthread_join(t, NULL);
	assert_true(fm_counted_calls_wait(60000));
	assert_true(fm_counted_calls_enter(&v, 1));
	assert_false(fm_counted_calls_wait(0));
	fm_counted_calls_ends();
	assert_true(fm_counted_calls_wait(0));
}

/* More calls than have a place of their own, one in the other. */
static void each_of_many_calls_is_waited_for(void **state)
{
	const struct iovec v = { at(0), FM_PAGE };
	const int many = 200;

	add(0, 2, 7, 0);
	for (int i = 0; i < many; i++)
		assert_true(fm_counted_calls_enter(&v, 1));
	for (int i = 0; i < many; i++) {
		assert_false(fm_counted_calls_wait(0));
		fm_counted_calls_ends();
	}
	assert_true(fm_counted_calls_wait(0));
}

/* Files 7 twice, 8 all holes, 9 in part, and 10 that has grown since. */
static void no_holes_are_in_use_and_each_file_is_once(void **state)
{
	assert_int_equal(fm_krange_in_use(), 0);
	add_written(0, 20, 7, 20);
	add_written(30, 20, 7, 20);
	add_written(60, 20, 8, 0);
	add_written(90, 20, 9, 5);
	add_written(120, 4, 10, 4);
	add_written(130, 6, 10, 6);
	assert_int_equal(fm_krange_bytes(), 90 * FM_PAGE);
	assert_int_equal(fm_krange_in_use(), (20 + 5 + 6) * FM_PAGE);
}

static void where_holes_are_not_known_all_is_in_use(void **state)
{
	add_written(0, 20, 7, UINT64_MAX / FM_PAGE);
	assert_int_equal(fm_krange_in_use(), 20 * FM_PAGE);
}

static void each_of_many_files_is_in_use(void **state)
{
	for (unsigned i = 0; i < PAGES; i++)
		add_written(i, 1, i + 1, 1);
	assert_int_equal(fm_krange_in_use(), PAGES * FM_PAGE);
}

FM_UNIT(krange)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			more_words_than_room_are_forgotten_together, again),
		cmocka_unit_test_setup(it_says_when_it_is_not_complete, again),
		cmocka_unit_test_setup(it_says_what_a_row_for_each_page_says,
				       again),
		cmocka_unit_test_setup(what_is_marked_is_not_advised, again),
		cmocka_unit_test_setup(the_program_has_the_last_word, again),
		cmocka_unit_test_setup(what_lasts_is_said_with_its_note, again),
		cmocka_unit_test_setup(normal_for_a_part_is_nothing_new, again),
		cmocka_unit_test_setup(what_is_taken_back_is_one_again, again),
		cmocka_unit_test_setup(what_is_noted_is_not_noted_again, again),
		cmocka_unit_test_setup(
			what_is_read_here_and_there_has_no_huge_pages, again),
		cmocka_unit_test_setup(what_is_new_survives_an_older_call,
				       again),
		cmocka_unit_test_setup(another_number_is_another_mapping,
				       again),
		cmocka_unit_test_setup(a_list_has_all_of_it_while_others_cut,
				       again),
		cmocka_unit_test_setup(what_moves_is_one_until_it_has_moved,
				       again),
		cmocka_unit_test_setup(no_more_is_copied_than_has_room, again),
		cmocka_unit_test_setup(who_ends_in_a_call_is_not_waited_for,
				       again),
		cmocka_unit_test_setup(each_of_many_calls_is_waited_for,
				       again),
		cmocka_unit_test_setup(
			no_holes_are_in_use_and_each_file_is_once, again),
		cmocka_unit_test_setup(where_holes_are_not_known_all_is_in_use,
				       again),
		cmocka_unit_test_setup(each_of_many_files_is_in_use, again),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
