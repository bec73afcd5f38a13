/* SPDX-License-Identifier: MIT */
/* M18-M22: where a mapping goes. Overlays replace exactly their pages. */
#include "ct.h"

static int f, g;

static void *at(void *addr, size_t len, int flags, int fd, off_t off)
{
	return mmap(addr, len, RW, flags, fd, off);
}

/* One letter per page: f, g: that file's pattern; 0: zero; a: else. */
static void say_pages(const char *what, char *p, size_t pages)
{
	char line[64] = { 0 };

	for (size_t i = 0; i < pages; i++) {
		char *page = p + i * PAGE;
		int c = ct_load(page);

		line[i] = c < 0 ? (c == -SIGBUS ? 'B' : 'S') :
			ct_zero(page, PAGE) ? '0' :
			ct_matches(page, PAGE, i * PAGE) ? 'f' :
			ct_matches(page, PAGE, (i + 100) * PAGE) ? 'g' : '?';
	}
	say("%s: %s", what, line);
}

static void arguments(void)
{
	char *p = ct_map(f, 8 * PAGE, RW, MAP_SHARED, 0);
	char *hint;

	say_map("M18 fixed unaligned",
		at(p + 1, PAGE, MAP_SHARED | MAP_FIXED, f, 0));
	say_map("M20 noreplace",
		at(p, PAGE, MAP_SHARED | MAP_FIXED_NOREPLACE, f, 0));
	say_map("M20 noreplace in the middle",
		at(p + 3 * PAGE, PAGE, MAP_SHARED | MAP_FIXED_NOREPLACE, g, 0));
	say_map("M20 fixed and noreplace", at(p, PAGE, MAP_SHARED | MAP_FIXED |
					     MAP_FIXED_NOREPLACE, g, 0));
	say_map("M20 anonymous noreplace", at(p + PAGE, PAGE, MAP_PRIVATE |
		MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	say_map("M21 noreplace unaligned",
		at(p + 5, PAGE, MAP_SHARED | MAP_FIXED_NOREPLACE, f, 0));
	say_pages("M20 old mapping", p, 8);
	if (munmap(p, 8 * PAGE))
		ct_die("munmap");
	hint = at(p + 1234, PAGE, MAP_SHARED, f, 0);
	say("M19 unaligned hint: rounded down %d", hint == p);
	say_map("M20 noreplace in free space", at(p + PAGE, 2 * PAGE,
		MAP_SHARED | MAP_FIXED_NOREPLACE, f, PAGE));
	say_pages("M20 both", p, 3);
	munmap(p, 3 * PAGE);
}

static void overlays(void)
{
	char *p = ct_map(f, 16 * PAGE, RW, MAP_SHARED, 0);
	char other[PAGE];
	FILE *kernel;

	for (int i = 0; i < 16; i++)
		p[i * PAGE] ^= 0x55, p[i * PAGE] ^= 0x55; /* dirty */
	at(p + 2 * PAGE, 2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	   0);
	say_pages("M22 anonymous over managed", p, 16);
	at(p + 5 * PAGE, 3 * PAGE, MAP_SHARED | MAP_FIXED, g, 5 * PAGE);
	say_pages("M22 managed over managed", p, 16);
	at(p + 3 * PAGE, 3 * PAGE, MAP_SHARED | MAP_FIXED, f, 3 * PAGE);
	say_pages("M22 managed over both", p, 16);
	at(p + 10 * PAGE, PAGE, MAP_PRIVATE | MAP_FIXED, g, 10 * PAGE);
	say_pages("M22 private over shared", p, 16);
	kernel = fopen("/proc/self/exe", "r");
	if (!kernel)
		ct_die("fopen");
	mmap(p + 12 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
	     fileno(kernel), 0);
	say("M22 executable's header over managed: %d",
	    !memcmp(p + 12 * PAGE, "\177ELF", 4));
	memset(p + 2 * PAGE, 0x77, PAGE);
	memset(p + 6 * PAGE, 0x78, PAGE);
	memset(p + 15 * PAGE, 0x79, PAGE);
	say("M22 stores: anonymous not in f: %02x", ct_in_file(f, 2 * PAGE));
	say("M22 stores: g %02x, f unchanged %d", ct_in_file(g, 6 * PAGE),
	    ct_in_file(f, 6 * PAGE) == ct_byte(6 * PAGE));
	say("M22 stores: tail of f %02x", ct_in_file(f, 15 * PAGE));
	say_rc("M22 msync of all", msync(p, 16 * PAGE, MS_SYNC));
	say_rc("M22 munmap of all", munmap(p, 16 * PAGE));
	say_load("M22 gone", p, 7 * PAGE);
	if (pread(f, other, PAGE, 0) != PAGE)
		ct_die("pread");
	say("M22 head of f: %d", ct_matches(other, PAGE, 0));
}

int main(int argc, char **argv)
{
	char page[PAGE];

	ct_begin(argc, argv);
	f = ct_file("f", 16 * PAGE);
	g = ct_file("g", 0);
	for (int i = 0; i < 16; i++) {
		for (size_t j = 0; j < PAGE; j++)
			page[j] = (char)ct_byte((uint64_t)(i + 100) * PAGE + j);
		ct_pwrite(g, page, PAGE, i * (off_t)PAGE);
	}
	arguments();
	overlays();
	return 0;
}
