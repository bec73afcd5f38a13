/* SPDX-License-Identifier: MIT */
/* Y80: msync(MS_SYNC) while another thread has the file handed to the kernel
 * (mlock): when it returns nothing is dirty any more. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define LEN (1024 * PAGE)
#define ROUNDS 12

static char *p;
static _Atomic bool go;

/* Pages of the file that are only in memory, or -1. */
static long dirty(int fd)
{
	struct {
		uint64_t off, len;
	} range = { 0, LEN };
	struct {
		uint64_t cached, dirty, writeback, evicted, recently;
	} cs = { 0 };

	if (syscall(451 /* cachestat */, fd, &range, &cs, 0))
		return -1;
	return (long)(cs.dirty + cs.writeback);
}

static void *hand_over(void *wait_us)
{
	while (!go)
		;
	usleep((useconds_t)(uintptr_t)wait_us);
	mlock(p, PAGE);
	return NULL;
}

static long round_of(unsigned wait_us)
{
	int fd = ct_file("f", LEN);
	pthread_t t;
	char c;
	long left;

	fsync(fd);
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	/* written through the page cache from now on */
	if (pread(fd, &c, 1, 0) != 1)
		ct_die("pread");
	go = false;
	pthread_create(&t, NULL, hand_over, (void *)(uintptr_t)wait_us);
	memset(p, 5, LEN);
	go = true;
	usleep(1000);
	if (msync(p, LEN, MS_SYNC))
		ct_die("msync");
	left = dirty(fd);
	pthread_join(t, NULL);
	munmap(p, LEN);
	close(fd);
	unlink(ct_path("f"));
	return left;
}

int main(int argc, char **argv)
{
	long left = 0;

	ct_begin(argc, argv);
	if (dirty(ct_file("try", PAGE)) < 0)
		ct_skip("no cachestat (Linux 6.5)");
	for (unsigned i = 0; i < ROUNDS; i++)
		left += round_of(i % 6 * 200) != 0;
	say("Y80 returned with dirty pages: %ld", left);
	return 0;
}
