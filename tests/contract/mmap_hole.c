/* SPDX-License-Identifier: MIT */
/* M92: a program finds room, gives it back and fills it piece by piece with a
 * file. Nobody else has come there meanwhile. */
/* M93: what the library maps for itself lies where no program looks for
 * room. */
/* M92h: the only room is a hole that the program has made; what it does to the
 * hole does nothing to the library, which works on. */
#include "ct.h"

#define PIECE (128ul << 10)
#define SIZE (4ul << 20)
#define FAR 0x480000000000ul
#define FAR_END 0x500000000000ul

enum { FIXED, NOREPLACE, HINT, DOWN };
static const char *const ways[] = { "fixed", "no replace", "hint",
				    "downwards" };

static char *fill(int fd, int way)
{
	static const int flags[] = { MAP_FIXED, MAP_FIXED_NOREPLACE, 0,
				     MAP_FIXED };
	char *a = mmap(NULL, SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	munmap(a, SIZE);
	for (size_t i = 0; i < SIZE; i += PIECE) {
		size_t o = way == DOWN ? SIZE - PIECE - i : i;
		char *p = mmap(a + o, PIECE, RW, MAP_SHARED | flags[way], fd,
			       (off_t)o);

		if (p != a + o) {
			say("M92 piece %zu: %s", o / PIECE,
			    ct_errno(p == MAP_FAILED));
			exit(1);
		}
		for (size_t k = 0; k < PIECE; k += PAGE)
			p[k + 1]++;
	}
	return a;
}

static int way;

static void run(void)
{
	int fd = ct_file(ways[way], SIZE);
	char *a = fill(fd, way);
	size_t wrong = 0;

	msync(a, SIZE, MS_SYNC);
	for (size_t k = 0; k < SIZE; k += PAGE)
		wrong += ct_in_file(fd, (off_t)k + 1) !=
			 (unsigned char)(ct_byte(k + 1) + 1);
	munmap(a, SIZE);
	say("M92 %s: wrong %zu", ways[way], wrong);
}

struct list {
	unsigned long at[4096];
	size_t n;
};

/* Without stdio, which maps its buffers. */
static void read_maps(struct list *l)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY);

	while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	text[n] = 0;
	l->n = 0;
	for (char *p = text; *p && l->n < 4096; p = strchr(p, '\n') + 1)
		l->at[l->n++] = strtoul(p, NULL, 16);
}

static bool has(const struct list *l, unsigned long at)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i] == at)
			return true;
	return false;
}

static void far(void)
{
	static struct list before, after;
	const size_t size = 1ul << 20;
	char *p, *room = mmap(NULL, 4 * size, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);
	int near = 0, fd = ct_file("far", size);

	read_maps(&before);
	p = mmap(room + size, size, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	for (size_t i = 0; i < size; i += PAGE)
		p[i]++;
	msync(p, size, MS_SYNC);
	usleep(200000);
	mlock(p, size); /* it is the kernel's, and advised */
	munlock(p, size);
	usleep(200000);
	read_maps(&after);
	for (size_t i = 0; i < after.n; i++) {
		unsigned long at = after.at[i];

		near += !has(&before, at) && !(at >= FAR && at < FAR_END) &&
			!(at >= (unsigned long)room &&
			  at < (unsigned long)room + 4 * size);
	}
	say("M93 near: %d", near);
}

#define HOLE (16 * PAGE)
#define WORK_MS 1500

/* Where nothing else has room for what is as large as the hole, or smaller. */
static char *only_hole(void)
{
	char *room = mmap(NULL, 3 * HOLE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (size_t len = HOLE; len >= PAGE; len /= 2)
		while (mmap(NULL, len, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0) > (void *)room)
			;
	munmap(room + HOLE, HOLE);
	return room + HOLE;
}

static void work(char *p, size_t size)
{
	for (int ms = 0; ms < WORK_MS; ms += 10) {
		for (size_t i = 0; i < size; i += PAGE)
			p[i]++;
		madvise(p, size, MADV_DONTNEED);
		usleep(10000);
	}
}

static void (*close_hole)(char *hole);

static void unmapped(char *hole)
{
	munmap(hole, HOLE);
}

static void denied(char *hole)
{
	for (size_t i = 0; i < HOLE; i += PAGE)
		mprotect(hole + i, PAGE, PROT_NONE);
}

static void replaced(char *hole)
{
	mmap(hole, HOLE, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void holed(void)
{
	const size_t size = 1ul << 20;
	int fd = ct_file("holed", size);
	char *p = ct_map(fd, size, RW, MAP_SHARED, 0), *hole = only_hole();

	p[0]++;
	mlock(p, PAGE); /* it is the kernel's from here on */
	munlock(p, PAGE);
	close_hole(hole);
	work(p, size);
	close_hole(hole);
	munmap(p, size);
	close(fd);
	say("M92h lived");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close_hole = unmapped;
	say_child("M92h unmapped", holed);
	close_hole = denied;
	say_child("M92h denied", holed);
	close_hole = replaced;
	say_child("M92h replaced", holed);
	for (way = FIXED; way <= DOWN; way++)
		say_child(ways[way], run);
	say_child("M93", far);
	far();
	way = FIXED;
	run();
	return 0;
}
