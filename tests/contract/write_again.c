/* SPDX-License-Identifier: MIT */
/* C43: pages that are mapped and present are written by write(2), a few at a
 * time: every mapping shows what the file has, at once, a private copy stays,
 * and no store beside the written bytes is lost. */
#include "ct.h"

#include <sys/uio.h>

#define PAGES 160
#include "heads.h"

#define N (PAGES * PAGE)
#define SHIFT 5 /* pages: where the second mapping begins */
#define OWN 7   /* every seventh page has a private copy */

static unsigned char model[N + 64 * PAGE], own[N];
static size_t size = N - 1000;
static bool is_own[PAGES];
static char *seen, *stored, *private;
static int bad;

/* ---- one thread, everything compared ----------------------------------- */

static void compare(const char *what, const char *map, size_t from, size_t to,
		    size_t base)
{
	size_t end = (size + PAGE - 1) / PAGE * PAGE;

	if (from < base)
		from = base;
	if (to > end)
		to = end;
	if (to > N)
		to = N;
	for (size_t at = from; at < to; at += PAGE) {
		const unsigned char *want = model + at;

		if (map == private && is_own[at / PAGE])
			want = own + at;
		if (memcmp(map + at - base, want, PAGE) && bad++ < 5)
			say("C43 %s: page %zu differs", what, at / PAGE);
	}
}

static void compare_all(size_t off, size_t len)
{
	size_t from = off / PAGE * PAGE, to = off + len + PAGE;

	from = from < PAGE ? 0 : from - PAGE;
	compare("shared", seen, from, to, 0);
	compare("second", stored, from, to, SHIFT * PAGE);
	compare("private", private, from, to, 0);
}

static void write_some(int fd, int direct, const unsigned char *buf, size_t off,
		       size_t len)
{
	size_t half = len / 3;
	struct iovec v[2] = { { (void *)buf, half },
			      { (void *)(buf + half), len - half } };
	ssize_t r;

	switch (rnd() % 4) {
	case 0:
		r = pwrite(fd, buf, len, (off_t)off);
		break;
	case 1:
		lseek(fd, (off_t)off, SEEK_SET);
		r = writev(fd, v, 2);
		break;
	case 2:
		lseek(fd, (off_t)off, SEEK_SET);
		r = write(fd, buf, len);
		break;
	default:
		r = direct >= 0 && (off | len) % PAGE == 0 ?
			    pwrite(direct, buf, len, (off_t)off) :
			    pwritev(fd, v, 2, (off_t)off);
	}
	if (r != (ssize_t)len)
		ct_die("write");
	memcpy(model + off, buf, len);
	if (size < off + len)
		size = off + len;
}

static void one(int fd, int direct, unsigned char *buf)
{
	size_t off = rnd() % size, len = 1 + rnd() % (8 * PAGE);

	if (rnd() % 8 == 0)
		len = 60 * PAGE + rnd() % (20 * PAGE);
	if (rnd() % 4 == 0) {
		off = off / PAGE * PAGE;
		len = (len + PAGE - 1) / PAGE * PAGE;
	}
	if (off + len > N)
		len = N - off;
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)rnd();
	write_some(fd, direct, buf, off, len);
	compare_all(off, len);
}

/* A store through a mapping, and the end of the file, now and then. */
static void between(int fd)
{
	size_t at = SHIFT * PAGE + rnd() % (N / 2), to;

	stored[at - SHIFT * PAGE] = (char)(model[at] = (unsigned char)rnd());
	if (rnd() % 16)
		return;
	to = N * 3 / 4 + rnd() % (N / 4);
	if (ftruncate(fd, (off_t)to))
		ct_die("ftruncate");
	if (to < size)
		memset(model + to, 0, size - to);
	/* private copies that are cut off are gone */
	for (size_t p = (to + PAGE - 1) / PAGE; p < PAGES; p++)
		is_own[p] = false;
	size = to;
}

static void own_pages(void)
{
	for (size_t p = 0; p * PAGE < size; p += OWN) {
		private[p * PAGE + 1] = 3;
		is_own[p] = true;
		memcpy(own + p * PAGE, private + p * PAGE, PAGE);
	}
}

static void alone(void)
{
	int fd = ct_file("alone", size);
	int direct = open(ct_path("alone"), O_RDWR | O_DIRECT);
	static unsigned char buf[N] __attribute__((aligned(4096)));

	for (size_t i = 0; i < size; i++)
		model[i] = ct_byte(i);
	seen = ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	stored = ct_map(fd, N - SHIFT * PAGE, RW, MAP_SHARED, SHIFT * PAGE);
	private = ct_map(fd, N, RW, MAP_PRIVATE, 0);
	own_pages();
	compare_all(0, N);
	for (int k = 0; k < 300; k++) {
		one(fd, direct, buf);
		between(fd);
		if (k % 16 == 15)
			own_pages();
	}
	compare_all(0, N);
	say("C43 alone: %d pages differ", bad);
}

/* ---- several threads ----------------------------------------------------- */

static _Atomic long torn;

static void *storer(void *arg CT_UNUSED)
{
	for (uint64_t v = 1; !stop; v++) {
		size_t p = v * 17 % PAGES;

		page(stored, p)[LAST] = v;
		atomic_store(&kept[p], v);
	}
	return NULL;
}

static void *looker(void *arg CT_UNUSED)
{
	for (size_t k = 0; !stop; k++) {
		size_t p = k * 13 % PAGES;
		uint64_t w = written[p], s = kept[p];

		old += page(seen, p)[0] < w || page(stored, p)[0] < w;
		torn += page(seen, p)[LAST] < s;
	}
	return NULL;
}

static void together(bool one_map)
{
	void *(*const run[])(void *) = { head_writer, head_writer, storer,
					 looker };
	int fd = ct_file(one_map ? "one" : "two", N), lost;

	heads_begin(fd);
	stored = ct_map(fd, N, RW, MAP_SHARED, 0);
	seen = one_map ? stored : ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	heads_map = seen;
	torn = 0;
	lost = heads_run(run, 4, ct_rounds(200000, 700000));
	say("C43 %s: %ld old, %ld stores unseen, %d lost",
	    one_map ? "one mapping" : "two", (long)old, (long)torn, lost);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	alone();
	together(true);
	together(false);
	return 0;
}
