/* SPDX-License-Identifier: MIT */
/* M32: files that the kernel refuses to map writable. */
/* not engaged: memory files are no managed path */
#include "ct.h"

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, PAGE))
		ct_die("memfd");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
		ct_die("seal");
	say_map("M32 sealed, shared write",
		mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0));
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	say_map("M32 sealed, shared read", p);
	say_rc("M32 sealed, mprotect write", mprotect(p, PAGE, RW));
	say_map("M32 sealed, private write",
		mmap(NULL, PAGE, RW, MAP_PRIVATE, fd, 0));
	return 0;
}
