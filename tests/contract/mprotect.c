/* SPDX-License-Identifier: MIT */
/* P01-P04: mprotect. */
#include "ct.h"

static int fd;

static void arguments(void)
{
	int ro = open(ct_path("f"), O_RDONLY);
	char *p = ct_map(ro, 8 * PAGE, PROT_READ, MAP_SHARED, 0);
	char *q = ct_map(ro, 8 * PAGE, PROT_READ, MAP_PRIVATE, 0);

	say_rc("P01 shared, read-only descriptor", mprotect(p, PAGE, RW));
	say_rc("P01 to none", mprotect(p, PAGE, PROT_NONE));
	say_rc("P01 and back to read", mprotect(p, PAGE, PROT_READ));
	say_rc("P01 private, read-only descriptor", mprotect(q, PAGE, RW));
	say_store("P01 private", q, 0);
	say("P01 not in the file: %d", ct_in_file(fd, 0) == ct_byte(0));
	say_rc("P02 unaligned", mprotect(p + 1, PAGE, PROT_READ));
	say_rc("P02 length 0", mprotect(p, 0, PROT_NONE));
	say_load("P02 after length 0", p, 0);
	say_rc("P02 bit 0x100", mprotect(p, PAGE, PROT_READ | 0x100));
	say_rc("P02 growsdown", mprotect(p, PAGE, PROT_READ | PROT_GROWSDOWN));
	say_rc("P02 grows both ways", mprotect(p, PAGE, PROT_READ |
					       PROT_GROWSDOWN | PROT_GROWSUP));
	say_rc("P02 wraps", mprotect(p, -PAGE, PROT_READ));
	munmap(p + 2 * PAGE, PAGE);
	say_rc("P02 unmapped", mprotect(p + 2 * PAGE, PAGE, PROT_READ));
	say_rc("P02 hole inside", mprotect(p, 8 * PAGE, PROT_NONE));
	say_load("P02 before the hole: changed", p, PAGE);
	say_load("P02 behind the hole: unchanged", p, 3 * PAGE);
	munmap(p, 8 * PAGE);
	munmap(q, 8 * PAGE);
	close(ro);
}

static void none_and_back(int flags, const char *kind)
{
	char *p = ct_map(fd, 8 * PAGE, RW, flags, 0);
	char what[64];

	p[PAGE] = 0x31;
	p[2 * PAGE] = 0x32;
	snprintf(what, sizeof(what), "P03 %s", kind);
	say_rc(what, mprotect(p + PAGE, 2 * PAGE, PROT_NONE));
	say_load(what, p, PAGE);
	say_store(what, p, 2 * PAGE);
	say_load(what, p, 0);
	say_load(what, p, 3 * PAGE);
	say_rc(what, mprotect(p + PAGE, 2 * PAGE, RW));
	say_load(what, p, PAGE);
	say_load(what, p, 2 * PAGE);
	say_store(what, p, 2 * PAGE);
	say_rc(what, mprotect(p, 8 * PAGE, PROT_READ));
	say_load(what, p, PAGE);
	say_store(what, p, PAGE);
	say("%s in the file: %02x %02x", what, ct_in_file(fd, PAGE),
	    ct_in_file(fd, 2 * PAGE));
	munmap(p, 8 * PAGE);
}

static void read_only(void)
{
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);
	int before = ct_in_file(fd, 5 * PAGE);

	p[4 * PAGE] = 0x51; /* dirty: writable in the page table */
	say_rc("P04 to read-only", mprotect(p, 8 * PAGE, PROT_READ));
	say_store("P04 dirty page", p, 4 * PAGE);
	say_store("P04 clean page", p, 5 * PAGE);
	(void)ct_load(p + 6 * PAGE);
	say_store("P04 read page", p, 6 * PAGE);
	msync(p, 8 * PAGE, MS_SYNC);
	say("P04 file: %02x, unchanged %d", ct_in_file(fd, 4 * PAGE),
	    ct_in_file(fd, 5 * PAGE) == before);
	say_rc("P04 back", mprotect(p + 4 * PAGE, 2 * PAGE, RW));
	say_store("P04 writable again", p, 5 * PAGE);
	say_store("P04 neighbour is not", p, 6 * PAGE);
	say("P04 file: %02x", ct_in_file(fd, 5 * PAGE));
	munmap(p, 8 * PAGE);
}

/* The handler makes the page writable, as garbage collectors do. */
static char *gc_page;
static volatile int gc_faults;

static void on_segv(int sig CT_UNUSED, siginfo_t *info, void *context CT_UNUSED)
{
	gc_faults++;
	mprotect((void *)((uintptr_t)info->si_addr & ~(PAGE - 1)), PAGE, RW);
}

static void write_barrier(void)
{
	struct sigaction sa = { .sa_sigaction = on_segv,
				.sa_flags = SA_SIGINFO };

	gc_page = ct_map(fd, 8 * PAGE, PROT_READ, MAP_SHARED, 0);
	sigaction(SIGSEGV, &sa, NULL);
	for (int i = 0; i < 64; i++)
		gc_page[i % 8 * (int)PAGE + 100 + i] = (char)i;
	say("P04 write barrier: %d faults, byte %02x", gc_faults,
	    ct_in_file(fd, 7 * PAGE + 100 + 63));
}

/* It is one mapping, also when the kernel has it (mlock). */
static void nothing_changes(int flags, const char *what)
{
	char *p = ct_map(fd, 8 * PAGE, RW, flags, 0), *q;
	size_t right = 0;

	for (size_t i = 0; i < 8; i++)
		p[i * PAGE + 7] = 'n';
	say_rc("P05", mprotect(p + 2 * PAGE, 3 * PAGE, RW));
	say_rc("P05 mlock", mlock(p, PAGE));
	munlock(p, PAGE);
	q = mremap(p, 8 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE);
	say("P05 %s moves: %d", what, q != MAP_FAILED);
	for (size_t i = 0; q != MAP_FAILED && i < 8; i++)
		right += q[i * PAGE + 7] == 'n';
	say("P05 %s: %zu", what, right);
	munmap(q != MAP_FAILED ? q : p, (q != MAP_FAILED ? 4096 : 8) * PAGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", 8 * PAGE);
	arguments();
	none_and_back(MAP_SHARED, "shared");
	none_and_back(MAP_PRIVATE, "private");
	read_only();
	write_barrier();
	nothing_changes(MAP_PRIVATE, "private");
	nothing_changes(MAP_SHARED, "shared");
	return 0;
}
