/* SPDX-License-Identifier: MIT */
/* C20i: holes and zeros made by FS_IOC_UNRESVSP and FS_IOC_ZERO_RANGE, the
 * older names of fallocate, show in mappings; what is stored there before is
 * gone, and beside it stays. */
#include "ct.h"

#include <sys/ioctl.h>

#define N 24

/* As in include/linux/falloc.h of the kernel. */
struct space {
	int16_t type, whence;
	int64_t start, len;
	int32_t sysid;
	uint32_t pid;
	int32_t pad[4];
};

static const struct {
	const char *name;
	unsigned long req;
} calls[] = {
	{ "reserve", _IOW('X', 40, struct space) },
	{ "free", _IOW('X', 41, struct space) },
	{ "reserve64", _IOW('X', 42, struct space) },
	{ "free64", _IOW('X', 43, struct space) },
	{ "zero", _IOW('X', 57, struct space) },
};

static char *map, *own;
static int fd;

static void show(const char *name, const char *what, int r)
{
	char text[2 * N + 1] = "";

	for (size_t p = 0; p < N; p++) {
		text[2 * p] = map[p * PAGE + 50] ? map[p * PAGE + 50] : '0';
		text[2 * p + 1] = own[p * PAGE + 50] ? own[p * PAGE + 50] : '0';
	}
	say("C20i %s %s: %s %s", name, what, ct_errno(r < 0), text);
}

static void again(void)
{
	for (size_t p = 0; p < N; p++)
		memset(map + p * PAGE, 'a', PAGE);
	madvise(own, N * PAGE, MADV_DONTNEED);
	own[5 * PAGE + 50] = 'p';
}

static void call(unsigned k, const char *what, int whence, long start,
		 long len)
{
	const struct space s = { .whence = (int16_t)whence, .start = start,
				 .len = len };

	again();
	lseek(fd, (off_t)(4 * PAGE), SEEK_SET);
	show(calls[k].name, what, ioctl(fd, calls[k].req, &s));
}

int main(int argc, char **argv)
{
	const long page = PAGE;

	ct_begin(argc, argv);
	fd = ct_file("space", N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	own = ct_map(fd, N * PAGE, RW, MAP_PRIVATE, 0);
	for (unsigned k = 0; k < 5; k++) {
		call(k, "set", SEEK_SET, 3 * page, 4 * page);
		call(k, "part", SEEK_SET, 3 * page + 60, 2 * page);
		call(k, "here", SEEK_CUR, -page, 3 * page);
		call(k, "end", SEEK_END, -3 * page, 9 * page);
		call(k, "bad", 7, 0, page);
		call(k, "before", SEEK_SET, -page, page);
		call(k, "nothing", SEEK_SET, 0, 0);
		say("C20i %s nowhere: %s", calls[k].name,
		    ct_errno(ioctl(fd, calls[k].req, (void *)8) < 0));
	}
	for (unsigned k = 0; k < 5; k++) {
		again();
		memcpy(map + 2 * PAGE, &(struct space){ .len = page },
		       sizeof(struct space));
		show(calls[k].name, "mapped",
		     ioctl(fd, calls[k].req, map + 2 * PAGE));
	}
	say("C20i size %ld", (long)lseek(fd, 0, SEEK_END));
	return 0;
}
