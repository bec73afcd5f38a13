/* SPDX-License-Identifier: MIT */
/* I01, I02: mincore. Before it says ENOMEM it fills in what is mapped. */
#include "ct.h"

int main(int argc, char **argv)
{
	static unsigned char vec[1 << 20];
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	say_rc("I01 unaligned", mincore(p + 1, PAGE, vec));
	say_rc("I01 bad vector", mincore(p, PAGE, (void *)8));
	say_rc("I01 length 0", mincore(p, 0, vec));
	say_rc("I01 length 0, bad vector", mincore(p, 0, (void *)8));
	say_rc("I01 huge length", mincore(p, -1ul, vec));
	say_rc("I01 huge length, aligned", mincore(p, 1ul << 46, vec));
	memset(vec, 0xee, 32);
	say_rc("I01 length rounds up", mincore(p, PAGE + 1, vec));
	say("I01 entries written: %d %d %d", vec[0] != 0xee, vec[1] != 0xee,
	    vec[2] != 0xee);
	for (int i = 0; i < 2; i++)
		p[i * (int)PAGE] = 1;
	say_rc("I02 mincore", mincore(p, 2 * PAGE, vec));
	say("I02 resident after touch: %d %d", vec[0] & 1, vec[1] & 1);
	munmap(p + 8 * PAGE, PAGE);
	say_rc("I01 hole", mincore(p, 16 * PAGE, vec));
	say_rc("I01 unmapped", mincore(p + 8 * PAGE, PAGE, vec));
	p = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p[PAGE] = 1;
	say_rc("I02 anonymous", mincore(p, 4 * PAGE, vec));
	say("I02 anonymous: %d %d", vec[0] & 1, vec[1] & 1);
	p = ct_map(fd, 24 * PAGE, RW, MAP_SHARED, 0);
	say_rc("I01 beyond the end", mincore(p, 24 * PAGE, vec));
	say("I01 beyond the end: %d %d", vec[16] & 1, vec[23] & 1);
	return 0;
}
