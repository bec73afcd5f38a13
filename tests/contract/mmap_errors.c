/* SPDX-License-Identifier: MIT */
/* M01-M18: what mmap refuses, and with which errno, on a file of a managed
 * path. Afterwards nothing that failed may be left behind. */
#include "ct.h"

#include <sys/syscall.h>

#define TRY(id, len, prot, flags, fd, off) do {				\
	void *p_ = mmap(NULL, len, prot, flags, fd, off);		\
									\
	say_map(id, p_);						\
	if (p_ != MAP_FAILED && munmap(p_, len))			\
		say(id ": munmap: %s", strerrorname_np(errno));		\
} while (0)

static int rw, ro, wo, ap, path_fd, dir;

static void open_all(void)
{
	rw = ct_file("f", 4 * PAGE);
	ro = open(ct_path("f"), O_RDONLY);
	wo = open(ct_path("f"), O_WRONLY);
	ap = open(ct_path("f"), O_RDWR | O_APPEND);
	path_fd = open(ct_path("f"), O_PATH);
	dir = open(ct_dir, O_RDONLY | O_DIRECTORY);
	if (ro < 0 || wo < 0 || ap < 0 || path_fd < 0 || dir < 0)
		ct_die("open");
}

static void flags_and_sizes(void)
{
	TRY("M01 length 0", 0, PROT_READ, MAP_SHARED, rw, 0);
	TRY("M02 offset 1", PAGE, PROT_READ, MAP_SHARED, rw, 1);
	TRY("M03 neither shared nor private", PAGE, PROT_READ, 0, rw, 0);
	TRY("M03 fixed only", PAGE, PROT_READ, MAP_NORESERVE, rw, 0);
	TRY("M04 shared validate", PAGE, RW, MAP_SHARED_VALIDATE, rw, 0);
	TRY("M04 type 4", PAGE, RW, 4, rw, 0);
	TRY("M04 type 8", PAGE, RW, 8, rw, 0);
	TRY("M05 validate + unknown", PAGE, RW, MAP_SHARED_VALIDATE | 1 << 24,
	    rw, 0);
	TRY("M06 shared + unknown", PAGE, RW, MAP_SHARED | 1 << 24, rw, 0);
	TRY("M07 sync validate", PAGE, RW, MAP_SHARED_VALIDATE | MAP_SYNC, rw,
	    0);
	TRY("M07 sync shared", PAGE, RW, MAP_SHARED | MAP_SYNC, rw, 0);
	TRY("M15 length 2^47", 1ul << 47, PROT_READ, MAP_SHARED, rw, 0);
	TRY("M15 length -4095", -4095ul, PROT_READ, MAP_SHARED, rw, 0);
	TRY("M15 length -1", -1ul, PROT_READ, MAP_SHARED, rw, 0);
	TRY("M16 offset overflow", 2 * PAGE, PROT_READ, MAP_SHARED, rw,
	    (off_t)0x7ffffffffffff000);
	TRY("M16 negative offset", PAGE, PROT_READ, MAP_SHARED, rw,
	    -(off_t)PAGE);
	TRY("M16 huge offset", PAGE, PROT_READ, MAP_SHARED, rw, (off_t)1 << 43);
	TRY("M17 offset beyond the end", PAGE, RW, MAP_SHARED, rw, 16 * PAGE);
}

static void descriptors(void)
{
	int pipe_fd[2], random = open("/dev/urandom", O_RDONLY);

	TRY("M08 write-only shared none", PAGE, PROT_NONE, MAP_SHARED, wo, 0);
	TRY("M08 write-only shared read", PAGE, PROT_READ, MAP_SHARED, wo, 0);
	TRY("M08 write-only shared write", PAGE, PROT_WRITE, MAP_SHARED, wo, 0);
	TRY("M08 write-only private read", PAGE, PROT_READ, MAP_PRIVATE, wo, 0);
	TRY("M09 read-only shared write", PAGE, RW, MAP_SHARED, ro, 0);
	TRY("M09 read-only validate write", PAGE, RW, MAP_SHARED_VALIDATE, ro,
	    0);
	TRY("M09 read-only shared read", PAGE, PROT_READ, MAP_SHARED, ro, 0);
	TRY("M10 read-only private write", PAGE, RW, MAP_PRIVATE, ro, 0);
	TRY("M11 append shared write", PAGE, RW, MAP_SHARED, ap, 0);
	TRY("M12 path descriptor", PAGE, PROT_READ, MAP_SHARED, path_fd, 0);
	TRY("M13 -1", PAGE, PROT_READ, MAP_SHARED, -1, 0);
	TRY("M13 999", PAGE, PROT_READ, MAP_PRIVATE, 999, 0);
	TRY("M14 directory", PAGE, PROT_READ, MAP_SHARED, dir, 0);
	TRY("M14 character device", PAGE, PROT_READ, MAP_SHARED, random, 0);
	if (pipe(pipe_fd))
		ct_die("pipe");
	TRY("M14 pipe, read end", PAGE, PROT_READ, MAP_SHARED, pipe_fd[0], 0);
	TRY("M14 pipe, write end", PAGE, PROT_READ, MAP_SHARED, pipe_fd[1], 0);
	TRY("M04 anonymous type 3", PAGE, RW,
	    MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1, 0);
	TRY("M13 anonymous with a file", PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS,
	    rw, 0);
}

static void kinds_of_flags(void)
{
	TRY("M24 growsdown", PAGE, RW, MAP_PRIVATE | MAP_GROWSDOWN, rw, 0);
	TRY("M24 growsdown shared", PAGE, RW, MAP_SHARED | MAP_GROWSDOWN, rw,
	    0);
	TRY("M24 hugetlb", PAGE, RW, MAP_SHARED | MAP_HUGETLB, rw, 0);
	TRY("M25 stack", PAGE, RW, MAP_SHARED | MAP_STACK, rw, 0);
	TRY("M25 denywrite", PAGE, RW, MAP_SHARED | MAP_DENYWRITE, rw, 0);
	TRY("M25 executable", PAGE, RW, MAP_SHARED | MAP_EXECUTABLE, rw, 0);
	TRY("M25 nonblock", PAGE, RW, MAP_SHARED | MAP_NONBLOCK, rw, 0);
	TRY("M25 uninitialized", PAGE, RW, MAP_SHARED | 0x4000000, rw, 0);
	TRY("M25 noreserve", PAGE, RW, MAP_SHARED | MAP_NORESERVE, rw, 0);
	TRY("M25 locked", PAGE, RW, MAP_SHARED | MAP_LOCKED, rw, 0);
}

/* A file of its own: one that was mapped in odd ways may stay the kernel's. */
static void still_works(void)
{
	int fd = ct_file("g", 4 * PAGE);
	char *p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	char *low = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_32BIT, rw, 0);

	say("M25 32bit: %s, below 2 GiB: %d", ct_errno(low == MAP_FAILED),
	    (uintptr_t)low < 1ul << 31);
	say("M25 32bit content: %d",
	    low != MAP_FAILED && ct_matches(low, PAGE, 0));
	say("M31 never zero: %d", p != NULL);
	say("M01 content: %d", ct_matches(p, 4 * PAGE, 0));
	p = ct_map(rw, 4 * PAGE, RW, MAP_SHARED, 0);
	say("M01 content of the other: %d", ct_matches(p, 4 * PAGE, 0));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	open_all();
	flags_and_sizes();
	descriptors();
	kinds_of_flags();
	still_works();
	return 0;
}
