/* SPDX-License-Identifier: MIT */
/* X19: what the program has said of parts of a mapping, after it has become the
 * kernel's: in a child of fork, and by each other way. */
#include "ct.h"

#include <sys/file.h>

#define PAGES 64

static char *p;
static size_t length;
static const char *title;

static bool is_telling(const char *flag)
{
	return strcmp(flag, "sd") != 0 && strcmp(flag, "??") != 0 &&
	       strcmp(flag, "VmFlags:") != 0;
}

static void say_flags(char *line, const char *vma)
{
	char out[256] = "", *save = NULL;

	for (char *f = strtok_r(line, " \n", &save); f;
	     f = strtok_r(NULL, " \n", &save))
		if (is_telling(f) && strlen(out) < sizeof(out) - 8)
			strcat(strcat(out, " "), f);
	say("X19 %s: %s%s", title, vma, out);
}

/* Each vma of the mapping: its pages, protection, offset and flags. */
static void say_smaps(void)
{
	unsigned long a, e, off, from = (unsigned long)p, to = from + length;
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[4096], prot[8], vma[96] = "";
	bool in = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &a, &e, prot, &off) == 4) {
			in = a < to && e > from;
			snprintf(vma, sizeof(vma),
				 "%lu..%lu %s at %lu:", (a - from) / PAGE,
				 (e - from) / PAGE, prot, off / PAGE);
		} else if (in && !strncmp(line, "VmFlags:", 8)) {
			say_flags(line, vma);
		}
	}
	if (f)
		fclose(f);
}

static void advise(size_t first, size_t stop, int advice)
{
	if (madvise(p + first * PAGE, (stop - first) * PAGE, advice))
		say("X19 %s: advice %d: %s", title, advice,
		    strerrorname_np(errno));
}

/* Of the middle, of both ends, twice, and promoted. */
static void say_much(bool all)
{
	if (all)
		advise(0, PAGES, MADV_RANDOM);
	advise(8, 16, MADV_SEQUENTIAL);
	advise(12, 14, MADV_NORMAL);
	advise(20, 24, MADV_DONTDUMP);
	advise(22, 28, MADV_HUGEPAGE);
	advise(40, 48, MADV_DONTDUMP);
	advise(40, 48, MADV_DODUMP);
	advise(50, 52, MADV_NOHUGEPAGE);
	advise(51, 53, MADV_MERGEABLE);
	advise(60, PAGES, MADV_SEQUENTIAL);
	mprotect(p + 30 * PAGE, 4 * PAGE, PROT_READ);
	mprotect(p + 36 * PAGE, PAGE, PROT_NONE);
	p[9 * PAGE] = 1;
	(void)*(volatile char *)(p + 21 * PAGE);
}

static int begin(const char *what, int prot, int flags)
{
	int fd = ct_file(what, (PAGES + 8) * PAGE);

	title = what;
	length = PAGES * PAGE;
	p = ct_map(fd, length, prot, flags, 0);
	return fd;
}

static void end(int fd)
{
	munmap(p, length);
	close(fd);
}

static void look(void)
{
	say("X19 %s: %02x %d %d", title, p[9 * PAGE] & 0xff,
	    ct_matches(p + 21 * PAGE, PAGE, 21 * PAGE),
	    ct_matches(p + 63 * PAGE, PAGE, 63 * PAGE));
	say_smaps();
}

static void in_child(const char *what, int flags, bool closed)
{
	int fd = begin(what, RW, flags);

	say_much(true);
	if (closed)
		close(fd);
	say_child(what, look);
	if (flags & MAP_SHARED) {
		title = "after it, in the parent";
		look();
	}
	end(closed ? -1 : fd);
}

static void only_read(void)
{
	int fd = begin("only read", PROT_READ, MAP_SHARED), ro;

	ro = open(ct_path("only read"), O_RDONLY);
	end(fd);
	p = ct_map(ro, length, PROT_READ, MAP_SHARED, 0);
	advise(0, PAGES, MADV_RANDOM);
	(void)*(volatile char *)p;
	say_child("only read", look);
	end(ro);
}

static void grown_and_moved(void)
{
	int fd = begin("grown and moved", RW, MAP_SHARED);
	char *to = mmap(NULL, 80 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	advise(0, PAGES, MADV_RANDOM);
	advise(0, PAGES, MADV_DONTDUMP);
	p[9 * PAGE] = 1;
	p = mremap(p, length, length + 4 * PAGE, MREMAP_MAYMOVE);
	length += 4 * PAGE;
	p = mremap(p, length, length + 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to);
	length += 4 * PAGE;
	advise(3, 5, MADV_NORMAL);
	say_child(title, look);
	end(fd);
}

/* A part goes, and comes again: nothing is said of that. */
static void mapped_anew(void)
{
	int fd = begin("a part mapped anew", RW, MAP_SHARED);

	say_much(true);
	munmap(p + 8 * PAGE, 8 * PAGE);
	mmap(p + 8 * PAGE, 8 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 8 * PAGE);
	mmap(p + 22 * PAGE, PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 22 * PAGE);
	say_child(title, look);
	end(fd);
}

static void locked(void)
{
	int fd = begin("a part locked", RW, MAP_SHARED);

	say_much(true);
	if (!mlock(p + PAGE, PAGE) &&
	    !mlock2(p + 3 * PAGE, PAGE, MLOCK_ONFAULT))
		look();
	end(fd);
}

static void by_the_way(void)
{
	int fd = begin("DONTFORK", RW, MAP_SHARED);
	void *q;

	say_much(false);
	advise(4, 6, MADV_DONTFORK);
	look();
	end(fd);
	fd = begin("an executable mapping", RW, MAP_SHARED);
	say_much(false);
	q = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	look();
	munmap(q, PAGE);
	end(fd);
}

/* Who takes memory from outside (tests/stress/taker.c) may hold what a child
 * had mapped for a moment longer than the child is there. */
static int flock_in_the_end(int fd)
{
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (int k = 0; r && errno == EAGAIN && k < 5000; k++) {
		usleep(1000);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r;
}

/* The mapping is of the program's own description. */
static void description(void)
{
	int fd = begin("description", RW, MAP_SHARED), other;

	flock(fd, LOCK_EX);
	say_child(title, look);
	p[0] = 1;
	close(fd);
	other = open(ct_path("description"), O_RDWR);
	say_rc("X19 flock of what is mapped", flock(other, LOCK_EX | LOCK_NB));
	end(other);
	other = open(ct_path("description"), O_RDWR);
	say_rc("X19 flock after that", flock_in_the_end(other));
	close(other);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	in_child("shared", MAP_SHARED, false);
	in_child("shared, closed", MAP_SHARED, true);
	in_child("without reserve", MAP_SHARED | MAP_NORESERVE, false);
	in_child("private", MAP_PRIVATE, false);
	in_child("private, without reserve", MAP_PRIVATE | MAP_NORESERVE, true);
	only_read();
	grown_and_moved();
	mapped_anew();
	locked();
	by_the_way();
	description();
	return 0;
}
