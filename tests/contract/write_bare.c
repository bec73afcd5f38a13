/* SPDX-License-Identifier: MIT */
/* C84: a file is mapped for reading and written by write(2), over and over;
 * then the mapping is opened for stores, in the middle of that, and closed
 * again. It shows what was written at once; no store is lost; what may not be
 * stored to is not. */
#include "ct.h"

#include <setjmp.h>
#include <signal.h>

#define PAGES 1280 /* 5 MiB: room for 2 MiB frames */
#include "heads.h"
#define N ((size_t)PAGES * PAGE)

static unsigned char model[N];
static char *map;
static int fd, bad;

static void open_map(const char *name)
{
	fd = ct_file(name, N);
	for (size_t i = 0; i < N; i++)
		model[i] = ct_byte(i);
	map = ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	bad = 0;
}

static void compare(const char *what, size_t from, size_t to)
{
	for (size_t at = from / PAGE * PAGE; at < to && at < N; at += PAGE)
		if (memcmp(map + at, model + at, PAGE) && bad++ < 5)
			say("C84 %s: page %zu differs", what, at / PAGE);
}

static void write_some(int n)
{
	unsigned char buf[3 * PAGE];

	while (n--) {
		size_t off = rnd() % (N - sizeof(buf));
		size_t len = 1 + rnd() % sizeof(buf);

		if (rnd() % 2) {
			off = off / PAGE * PAGE;
			len = PAGE;
		}
		for (size_t i = 0; i < len; i++)
			buf[i] = (unsigned char)rnd();
		ct_pwrite(fd, buf, len, (off_t)off);
		memcpy(model + off, buf, len);
		compare("written", off, off + len);
	}
}

static void store_some(size_t from, size_t to, int n)
{
	while (n--) {
		size_t at = from + rnd() % (to - from);

		map[at] = (char)(model[at] = (unsigned char)rnd());
	}
}

static void in_file(const char *what)
{
	static unsigned char buf[N];

	if (pread(fd, buf, N, 0) != (ssize_t)N)
		ct_die("pread");
	say("C84 %s: the file %s", what,
	    memcmp(buf, model, N) ? "differs" : "has everything");
}

static sigjmp_buf back;

static void denied(int sig)
{
	siglongjmp(back, sig);
}

static void refused(const char *what, size_t page)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*(volatile char *)(map + page * PAGE) = 1;
	say("C84 %s: a store gets signal %d", what, sig);
}

/* Protected, allowed, protected: of all of it, of a part. */
static void turns(void)
{
	const size_t part = 100 * PAGE, end = 700 * PAGE;

	signal(SIGSEGV, denied);
	compare("first", 0, N);
	write_some(900);
	refused("written", 5);
	write_some(100);
	for (int k = 0; k < 6; k++) {
		size_t lo = k % 2 ? part : 0, hi = k % 2 ? end : N;

		if (mprotect(map + lo, hi - lo, RW))
			ct_die("mprotect");
		store_some(lo, hi, 400);
		write_some(50);
		store_some(lo, hi, 400);
		in_file("allowed");
		if (mprotect(map + lo, hi - lo, PROT_READ))
			ct_die("mprotect");
		write_some(400);
		in_file("again");
	}
	refused("at the end", 300);
	compare("last", 0, N);
	say("C84 turns: %d pages differ", bad);
	signal(SIGSEGV, SIG_DFL);
}

/* ---- several threads ---------------------------------------------------- */

static _Atomic long unseen;

#define RUN 16

static void *toggler(void *arg CT_UNUSED)
{
	for (uint64_t v = 1; !stop; v++) {
		size_t p = v * 17 % (PAGES / RUN) * RUN;

		if (mprotect(map + p * PAGE, RUN * PAGE, RW))
			ct_die("mprotect");
		for (size_t k = p; k < p + RUN; k += 1 + v % 5) {
			page(map, k)[LAST] = v;
			atomic_store(&kept[k], v);
		}
		if (mprotect(map + p * PAGE, RUN * PAGE, PROT_READ))
			ct_die("mprotect");
	}
	return NULL;
}

static void *looker(void *arg CT_UNUSED)
{
	for (size_t k = 0; !stop; k++) {
		size_t p = k * 13 % PAGES;
		uint64_t w = written[p], s = kept[p];

		old += page(map, p)[0] < w;
		unseen += page(map, p)[LAST] < s;
	}
	return NULL;
}

static void together(void)
{
	void *(*const run[])(void *) = { head_writer, head_writer, toggler,
					 looker };
	int lost;

	open_map("threads");
	heads_map = map;
	heads_begin(fd);
	lost = heads_run(run, 4, ct_rounds(250000, 900000));
	say("C84 threads: %ld old, %ld stores unseen, %d lost", (long)old,
	    (long)unseen, lost);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	open_map("turns");
	turns();
	together();
	return 0;
}
