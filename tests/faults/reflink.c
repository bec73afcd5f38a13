/* SPDX-License-Identifier: MIT */
/*
 * reflink.c - C22r: stores to blocks that another file has, too, need new ones,
 * and the device is full. DIR is on a small file system with reflinks.
 *
 *   reflink DIR before|ioctl|copy|other    how and when the blocks are shared:
 *   before it is mapped, by FICLONE or copy_file_range, by another process
 */
#include "../contract/ct.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#define PAGES 2048ul
#define SIZE (PAGES * PAGE)

/* Until nothing can be written any more. Returns how much there was. */
static size_t fill(void)
{
	static char chunk[1 << 20];
	int fd = open(ct_path("ballast"), O_WRONLY | O_CREAT, 0644);
	struct stat st;

	if (fd < 0)
		ct_die("ballast");
	for (size_t n = sizeof(chunk); n >= 4096;)
		if (write(fd, chunk, n) < 0 || fsync(fd))
			n /= 2;
	fstat(fd, &st);
	close(fd);
	sync();
	return (size_t)st.st_blocks * 512;
}

#define MOST_MS 30000

/* XFS frees the blocks of a file that was removed in the background: until then
 * a store is refused, natively too. */
static void make_room(size_t bytes)
{
	struct statvfs v = { 0 };
	int ms = 0;

	unlink(ct_path("ballast"));
	do {
		sync();
		usleep(1000);
	} while (!statvfs(ct_dir, &v) && v.f_bavail * v.f_frsize < bytes / 2 &&
		 ms++ < MOST_MS);
}

static void share(const char *how, int fd)
{
	int to = open(ct_path("clone"), O_RDWR | O_CREAT | O_TRUNC, 0644),
	    status = 0;
	char cmd[7000];

	if (to < 0)
		ct_die("clone");
	if (!strcmp(how, "before") || !strcmp(how, "ioctl")) {
		status = ioctl(to, FICLONE, fd);
	} else if (!strcmp(how, "copy")) {
		off_t a = 0, b = 0;

		while (b < (off_t)SIZE &&
		       copy_file_range(fd, &a, to, &b, SIZE, 0) > 0)
			;
		status = b < (off_t)SIZE;
	} else {
		snprintf(cmd, sizeof(cmd),
			 "env -u LD_PRELOAD cp --reflink=always %s %s",
			 ct_path("file"), ct_path("clone"));
		status = system(cmd);
	}
	if (status)
		ct_skip("no reflinks here");
	close(to);
}

static int in_file(int fd, size_t i)
{
	unsigned char c = 0;

	return pread(fd, &c, 1, (off_t)(i * PAGE + 9)) == 1 ? c : -1;
}

int main(int argc, char **argv)
{
	size_t taken = 0, lost = 0, room;
	char *p;
	int fd;

	ct_begin(argc, argv);
	if (argc < 3)
		return 2;
	fd = ct_file("file", SIZE);
	fsync(fd);
	if (!strcmp(argv[2], "before"))
		share(argv[2], fd);
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	if (strcmp(argv[2], "before")) {
		for (size_t i = 0; i < PAGES; i += 2)
			p[i * PAGE + 9] = 0x21;
		say_rc("C22r msync", msync(p, SIZE, MS_SYNC));
		share(argv[2], fd);
	}
	room = fill();
	for (; taken < PAGES && !ct_store(p + taken * PAGE + 9, 0x42); taken++)
		;
	say("C22r refused before a quarter: %d", taken < PAGES / 4);
	say_rc("C22r msync", msync(p, SIZE, MS_SYNC));
	for (size_t i = 0; i < taken; i++)
		lost += in_file(fd, i) != 0x42;
	say("C22r lost: %zu", lost);
	say("C22r the clone is as it was: %d",
	    ct_matches(ct_map(open(ct_path("clone"), O_RDONLY), SIZE, PROT_READ,
			      MAP_PRIVATE, 0),
		       8, 0));
	make_room(room);
	taken = 0;
	for (size_t i = 0; i < PAGES; i++)
		taken += !ct_store(p + i * PAGE + 9, 0x43);
	say("C22r stored when there is room: %d", taken == PAGES);
	say_rc("C22r msync", msync(p, SIZE, MS_SYNC));
	lost = 0;
	for (size_t i = 0; i < PAGES; i++)
		lost += in_file(fd, i) != 0x43;
	say("C22r lost: %zu", lost);
	return 0;
}
