/* SPDX-License-Identifier: MIT */
/* U18: small windows of a file, over and over, until the page cache serves them
 * without a look; then a child has the file for a while, and a mapping that
 * may be stored to is made meanwhile. When the file has been promoted, a
 * window shows what is stored through that mapping. */
/* env: FASTMAP_WARM=auto */
/* env: FASTMAP_TUNE=serve_start=0 */
/* env: FASTMAP_PROMOTE=10 */
/* needs: root */
#include "ct.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGES 512ul
#define WINDOWS 400
#define MOST_MS 20000

static char page[2 * PAGE];

static volatile char *window(int fd)
{
	return ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
}

/* Natively it is the kernel's for good. */
static void until_promoted(const volatile char *at, int fd)
{
	for (int ms = 0; ms < MOST_MS && ct_is_the_kernels(at); ms += 10) {
		if (!getenv("FASTMAP_PATHS"))
			return;
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		usleep(10000);
	}
	if (getenv("FASTMAP_PATHS") && ct_is_the_kernels(at))
		say("U18 not promoted");
}

/* A child that has stored to the file, until the other end of the answer is
 * closed. */
static int visit(int fd)
{
	volatile char *m;
	int s[2];
	char c = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	if (!fork()) {
		close(s[0]);
		m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
		m[PAGE] = 3;
		_exit(write(s[1], &c, 1) != 1 || read(s[1], &c, 1));
	}
	close(s[1]);
	if (read(s[0], &c, 1) != 1)
		ct_die("child");
	return s[0];
}

int main(int argc, char **argv)
{
	volatile char *whole, *stores, *w;
	int fd, ro, child, old = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	ro = open(ct_path("f"), O_RDONLY | O_CLOEXEC);
	ct_uncache(fd);
	whole = ct_map(ro, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	/* Now into it: windows may be the kernel's. */
	if (ct_raw(SYS_pread64, ro, (long)page, sizeof(page), 0) < 0)
		ct_die("pread");
	for (int i = 0; i < WINDOWS; i++) {
		w = window(ro);
		ct_load(w);
		munmap((void *)w, 2 * PAGE);
	}
	child = visit(fd);
	stores = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	close(child);
	wait(NULL);
	until_promoted(stores, fd);
	for (int i = 1; i < 20; i++) {
		stores[i] = (char)(i + 100);
		w = window(ro);
		old += w[i] != i + 100;
		munmap((void *)w, 2 * PAGE);
	}
	say("U18 %d of 19 windows are old; %d", old, whole[PAGE]);
	return 0;
}
