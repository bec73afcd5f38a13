/* SPDX-License-Identifier: MIT */
/* X06e: a thread, or all, confine themselves by a filter that refuses, with an
 * error or death, what brings pages in, and go on using a mapping. */
#include "filter.h"

#define PAGES 2048ul

struct filter {
	const char *what;
	const int *nr;
	size_t n;
	unsigned listed, other, flags;
};

static const int rings[] = {
	SYS_io_uring_enter, SYS_io_uring_setup, SYS_io_uring_register,
};
static const int ioctls[] = { SYS_ioctl };
static const int few[] = {
	SYS_read, SYS_write, SYS_msync, SYS_close, SYS_exit_group,
};

#define ERROR SECCOMP_RET_ERRNO
#define KILL SECCOMP_RET_KILL_PROCESS
#define ALLOW SECCOMP_RET_ALLOW
#define ALL SECCOMP_FILTER_FLAG_TSYNC
#define LIST(of) of, sizeof(of) / sizeof(*(of))

static const struct filter filters[] = {
	{ "EPERM", LIST(rings), ERROR | EPERM, ALLOW, 0 },
	{ "ENOSYS", LIST(rings), ERROR | ENOSYS, ALLOW, 0 },
	{ "ENOSYS, all", LIST(rings), ERROR | ENOSYS, ALLOW, ALL },
	{ "death by ioctl", LIST(ioctls), KILL, ALLOW, 0 },
	{ "death by ioctl, all", LIST(ioctls), KILL, ALLOW, ALL },
	{ "EPERM but for five", LIST(few), ALLOW, ERROR | EPERM, 0 },
	{ "death but for five", LIST(few), ALLOW, KILL, 0 },
};

static int confined(void *arg)
{
	const struct filter *f = arg;
	int fd = ct_file("refused", PAGES * PAGE), wrong = 0;
	volatile unsigned char *p;

	signal(SIGBUS, SIG_DFL);
	ct_uncache(fd);
	p = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 4; i++)
		wrong += p[i * PAGE] != ct_byte(i * PAGE);
	p[5 * PAGE] = 5;
	ct_filter(f->nr, f->n, f->listed, f->other, f->flags);
	for (size_t i = PAGES - 1; i > PAGES / 2; i -= 7) {
		wrong += p[i * PAGE] != ct_byte(i * PAGE);
		p[i * PAGE + 1] = 7;
	}
	wrong += p[5 * PAGE] != 5;
	wrong += msync((void *)p, PAGES * PAGE, MS_SYNC) != 0;
	syscall(SYS_exit_group, wrong > 90 ? 90 : wrong);
	__builtin_unreachable();
}

static void look(void)
{
	int fd = open(ct_path("refused"), O_RDONLY), stored = 0;
	unsigned char b;

	for (size_t i = PAGES - 1; i > PAGES / 2; i -= 7)
		stored += pread(fd, &b, 1, (off_t)(i * PAGE + 1)) == 1 &&
			  b == 7;
	say("X06e stored: %d", stored);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct filter f = filters[i];

		say("X06e %s: %d", f.what, ct_child(confined, &f));
		look();
	}
	return 0;
}
