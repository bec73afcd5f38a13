/* SPDX-License-Identifier: MIT */
/* V13: a shared mapping that grows page by page with its file, thousands of
 * times, as what appends to a memory map does: in place, moved, cut and grown
 * again, while the file is mapped a second time and written to beside it. */
#include "ct.h"

#include <sys/wait.h>

#define MOST (6000 * PAGE) /* address space for the second mapping */

static int fd;
static char *map;
static volatile char *whole;
static size_t size;
static unsigned moves;

static char want(size_t page)
{
	return (char)(page * 7 + page / 256 + 1);
}

static void grow(size_t by)
{
	char *m;

	if (ftruncate(fd, (off_t)(size + by)))
		ct_die("ftruncate");
	m = mremap(map, size, size + by, MREMAP_MAYMOVE);
	if (m == MAP_FAILED)
		ct_die("mremap");
	moves += m != map;
	map = m;
	for (size_t i = size / PAGE; i < (size + by) / PAGE; i++) {
		if (map[i * PAGE + 5])
			say("V13 page %zu is not new", i);
		map[i * PAGE + 5] = want(i);
	}
	size += by;
}

static void grow_often(unsigned n, size_t by)
{
	while (n--)
		grow(by);
}

/* By every way to the bytes. */
static void check(const char *what)
{
	size_t bad[3] = { 0, 0, 0 };
	char c;

	for (size_t i = 0; i < size / PAGE; i++) {
		bad[0] += map[i * PAGE + 5] != want(i);
		bad[1] += whole[i * PAGE + 5] != want(i);
		bad[2] += pread(fd, &c, 1, (off_t)(i * PAGE + 5)) != 1 ||
			  c != want(i);
	}
	say("V13 %s: %zu pages, %zu %zu %zu differ", what, size / PAGE, bad[0],
	    bad[1], bad[2]);
}

/* What is stored by one mapping is seen by the other, behind the growth too. */
static void coherent(void)
{
	size_t bad = 0;

	for (size_t i = size / PAGE - 50; i < size / PAGE; i++) {
		whole[i * PAGE + 9] = (char)i;
		bad += map[i * PAGE + 9] != (char)i;
		map[i * PAGE + 9] = (char)~i;
		bad += whole[i * PAGE + 9] != (char)~i;
	}
	say("V13 coherent: %zu differ", bad);
}

static void shrink(size_t by, bool unmap)
{
	char *end = map + size - by;

	if (unmap ? munmap(end, by) : mremap(map, size, size - by, 0) != map)
		ct_die("shrink");
	size -= by;
	if (ftruncate(fd, (off_t)size))
		ct_die("ftruncate");
	say("V13 behind the end: %s", ct_load(end) < 0 ? "signal" : "a byte");
}

/* It can grow no further where it is. */
static void block(void)
{
	mmap(map + size, PAGE, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static int child(void *arg CT_UNUSED)
{
	for (size_t i = 0; i < size / PAGE; i += 3)
		map[i * PAGE + 100]++;
	return map[size - PAGE + 5] != want(size / PAGE - 1);
}

static void child_stores(void)
{
	int status = ct_child(child, NULL);

	for (size_t i = 0; i < size / PAGE; i += 3)
		if (map[i * PAGE + 100] != 1)
			say("V13 page %zu: the child's store is not seen", i);
	say("V13 child: %d", status);
}

static void begin(void)
{
	size = 3 * PAGE;
	fd = ct_file("f", 0);
	if (ftruncate(fd, (off_t)size))
		ct_die("ftruncate");
	map = ct_map(fd, size, RW, MAP_SHARED, 0);
	whole = ct_map(fd, MOST, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 3; i++)
		map[i * PAGE + 5] = want(i);
}

static void end(void)
{
	munmap(map, size);
	munmap((void *)whole, MOST);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	begin();
	grow_often(1500, PAGE);
	check("grown");
	coherent();
	shrink(700 * PAGE, true);
	grow_often(900, PAGE);
	check("cut, and grown again");
	shrink(11 * PAGE, false);
	grow_often(300, 3 * PAGE);
	coherent();
	for (int k = 0; k < 20; k++) {
		block();
		grow_often(40, PAGE);
	}
	say("V13 moved: %s", moves >= 20 ? "yes" : "no");
	mprotect(map, 10 * PAGE, PROT_READ);
	mprotect(map, 10 * PAGE, RW);
	grow_often(50, 2 * PAGE);
	check("moved");
	say_rc("V13 msync", msync(map, size, MS_SYNC));
	child_stores();
	grow_often(100, PAGE);
	check("after the child");
	end();
	begin();
	grow_often(700, PAGE);
	say_rc("V13 mlock", mlock(map, PAGE));
	munlock(map, PAGE);
	grow_often(100, PAGE);
	coherent();
	check("handed over");
	end();
	return 0;
}
