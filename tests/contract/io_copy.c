/* SPDX-License-Identifier: MIT */
/* C06, C07, C11, C20: calls that copy, cut or reserve under a mapping. */
#include "ct.h"

#include <linux/falloc.h>
#include <sys/sendfile.h>

#define N 32ul

static int fd, other;
static char *map;

static void fresh(void)
{
	if (map)
		munmap(map, (N + 8) * PAGE);
	close(fd);
	close(other);
	other = ct_file("other", N * PAGE);
	if (pwrite(other, "other bytes here", 16, 5 * PAGE) != 16)
		ct_die("pwrite");
	fd = ct_file("copy", N * PAGE);
	map = ct_map(fd, (N + 8) * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < N; i += 2)
		ct_load(map + i * PAGE);
}

static void copies(void)
{
	off_t in = 5 * PAGE, out = 7 * PAGE;
	int p[2];

	fresh();
	map[7 * PAGE + 20] = 'd';
	say("C11 copy_file_range in: %zd",
	    copy_file_range(other, &in, fd, &out, 16, 0));
	say("C11 in the map: %.16s %c", map + 7 * PAGE, map[7 * PAGE + 20]);
	map[3 * PAGE] = 'S';
	in = 3 * PAGE, out = 9 * PAGE;
	say("C11 copy_file_range out: %zd",
	    copy_file_range(fd, &in, other, &out, 2 * PAGE, 0));
	say("C11 the store: %c %d", ct_in_file(other, 9 * PAGE),
	    ct_in_file(other, 10 * PAGE) == ct_byte(4 * PAGE));
	lseek(fd, 11 * PAGE, SEEK_SET);
	in = 5 * PAGE;
	say("C11 sendfile in: %zd", sendfile(fd, other, &in, PAGE));
	say("C11 in the map: %.16s", map + 11 * PAGE);
	map[13 * PAGE + 1] = 'T';
	in = 13 * PAGE;
	lseek(other, 0, SEEK_SET);
	say("C11 sendfile out: %zd", sendfile(other, fd, &in, PAGE));
	say("C11 the store: %c", ct_in_file(other, 1));
	if (pipe(p))
		ct_die("pipe");
	map[15 * PAGE + 2] = 'U';
	in = 15 * PAGE;
	say("C11 splice to a pipe: %zd", splice(fd, &in, p[1], NULL, 100, 0));
	say("C11 read: %zd", read(p[0], map + 17 * PAGE, 100));
	say("C11 the store: %c", map[17 * PAGE + 2]);
	say("C11 write: %zd", write(p[1], "spliced", 7));
	out = 19 * PAGE;
	say("C11 splice to the file: %zd", splice(p[0], NULL, fd, &out, 7, 0));
	say("C11 in the map: %.7s", map + 19 * PAGE);
	say("C11 rest: %d", ct_matches(map + 20 * PAGE, 12 * PAGE, 20 * PAGE));
	close(p[0]);
	close(p[1]);
}

/* since 6.13: C07: load at +0x403c */
static void sizes(void)
{
	struct stat st;
	int t;

	fresh();
	map[4 * PAGE + 100] = 1;
	say_rc("C06 ftruncate", ftruncate(fd, 4 * PAGE + 50));
	say_load("C06", map, 4 * PAGE + 49);
	say_load("C06", map, 4 * PAGE + 50);
	say_load("C06", map, 5 * PAGE);
	map[4 * PAGE + 60] = 9;
	say_rc("C07 truncate up", truncate(ct_path("copy"), 8 * PAGE));
	say_load("C07", map, 4 * PAGE + 60);
	say_load("C07", map, 4 * PAGE + 100);
	say_load("C07", map, 7 * PAGE);
	t = open(ct_path("copy"), O_WRONLY | O_TRUNC);
	say("C06 O_TRUNC: %d", t >= 0);
	say_load("C06", map, 0);
	say("C05 write: %zd", write(t, "again", 5));
	say("C05 in the map: %s", map);
	close(t);
	t = creat(ct_path("copy"), 0644);
	say_load("C06 creat", map, 0);
	close(t);
	say("C05 posix_fallocate: %d", posix_fallocate(fd, 0, 3 * PAGE));
	say_load("C05", map, 3 * PAGE - 1);
	map[PAGE] = 7;
	say_rc("C05 fallocate", fallocate(fd, 0, PAGE, 4 * PAGE));
	say_load("C05", map, PAGE);
	say_load("C05", map, 5 * PAGE - 1);
	fstat(fd, &st);
	say("C05 size: %ld", (long)st.st_size);
}

static void holes(void)
{
	fresh();
	map[3 * PAGE + 1] = 5;
	say_rc("C20 punch",
	       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 2 * PAGE + 100, 3 * PAGE));
	say("C20 zero: %d %d %d", ct_matches(map + 2 * PAGE, 100, 2 * PAGE),
	    ct_zero(map + 2 * PAGE + 100, 3 * PAGE),
	    ct_matches(map + 5 * PAGE + 100, PAGE, 5 * PAGE + 100));
	say_rc("C20 zero range",
	       fallocate(fd, FALLOC_FL_ZERO_RANGE, 8 * PAGE, PAGE));
	say("C20 zero: %d", ct_zero(map + 8 * PAGE, PAGE));
	map[12 * PAGE] = 'm';
	say_rc("C20 collapse",
	       fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 10 * PAGE, PAGE));
	say_load("C20 moved", map, 11 * PAGE);
	say_load("C20 end", map, (N - 1) * PAGE);
	say_rc("C20 insert",
	       fallocate(fd, FALLOC_FL_INSERT_RANGE, 4 * PAGE, PAGE));
	say_load("C20 moved back", map, 12 * PAGE);
	say("C20 rest: %d", ct_matches(map + 20 * PAGE, 10 * PAGE, 20 * PAGE));
	map[20 * PAGE] = 3;
	say_rc("Y07 fsync", fsync(fd));
	say_rc("Y07 fdatasync", fdatasync(fd));
	say_rc("Y07 sync_file_range",
	       sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	say_rc("Y07 syncfs", syncfs(fd));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = other = -1;
	sizes();
	holes();
	copies();
	return 0;
}
