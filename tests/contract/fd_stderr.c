/* SPDX-License-Identifier: MIT */
/* F8: the program closes stderr and its number becomes a data file. What the
 * library has to say must not go into it. */
/* env: FASTMAP_LOG=3 */
#include "ct.h"

#define N (8 * PAGE)

/* With something to be said while it is open: a file is handed over. */
static void run(const char *what, const char *name, int flags)
{
	int other = ct_file("other", N), data, fd;
	struct stat st;
	char *p;

	close(2);
	fd = open(ct_path(name), flags | O_CREAT | O_TRUNC, 0644);
	if (fd != 2)
		ct_die("not number 2");
	if (write(fd, "data", 4) != 4)
		ct_die("write");
	p = ct_map(other, N, RW, MAP_SHARED, 0);
	p[1] = 1;
	mlock(p, PAGE);
	munmap(p, N);
	if (write(fd, "more", 4) != 4)
		ct_die("write");
	data = open(ct_path(name), O_RDONLY);
	if (fstat(data, &st))
		ct_die("fstat");
	p = ct_map(data, PAGE, PROT_READ, MAP_PRIVATE, 0);
	say("F8 %s: %ld bytes, %.8s", what, (long)st.st_size, p);
	munmap(p, PAGE);
	close(data);
	close(other);
	unlink(ct_path("other"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	run("read and write", "a", O_RDWR);
	run("write only", "b", O_WRONLY);
	return 0;
}
