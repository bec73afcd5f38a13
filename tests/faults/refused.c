/* SPDX-License-Identifier: MIT */
/*
 * refused.c - many accesses to a mapping, on a device that refuses every write,
 * with a cache that is much smaller than what they make dirty.
 *
 *   refused DIRECTORY     of a failing_ext4, with a file "bad" of 1 MiB
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (1ul << 20)

int main(int argc, char **argv)
{
	unsigned char *p, *model = malloc(SIZE);
	int wrong = 0, fd;

	if (argc < 2 || !model || chdir(argv[1]))
		return 2;
	fd = open("bad", O_RDWR);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || p == MAP_FAILED)
		return 2;
	memcpy(model, p, SIZE);
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		size_t at = (size_t)random() % SIZE;

		if (i % 3 == 0)
			p[at] = model[at] = (unsigned char)i;
		wrong += p[at] != model[at];
	}
	printf("wrong bytes: %d, at the end: %d\n", wrong,
	       memcmp(p, model, SIZE) != 0);
	return 0;
}
