/* SPDX-License-Identifier: MIT */
/* X06: a thread confines itself to what the library says that it needs, and the
 * program's own read and write: it goes on with a file that is mapped, and is
 * larger than the cache. */
#include "filter.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 6144 /* more than the caches of these tests hold */

static const int allowed[] = {
	/* as the library says */
	SYS_ioctl,
	SYS_io_uring_enter,
	SYS_pread64,
	SYS_pwrite64,
	SYS_futex,
	SYS_madvise,
	SYS_sched_yield,
	SYS_fstat,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_getpid,
	SYS_gettid,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_clock_gettime, /* where the vDSO cannot tell */
	SYS_fcntl, SYS_getsockopt, /* with a buffer in the mapping */
	/* of the program */
	SYS_read,
	SYS_write,
	SYS_msync, /* natively */
	SYS_newfstatat,
	SYS_exit_group,
};
#define N (sizeof(allowed) / sizeof(*allowed))

static volatile unsigned char *map;
static int file, wrong;
static _Atomic int done;

/* What arrives goes into the last bytes of the mapping, and behind it. */
static void receive(const int *p)
{
	volatile unsigned char *at = map + PAGES * PAGE - 40;
	char text[60];

	memset(text, 'i', 40);
	memset(text + 40, 'b', 20);
	wrong += write(p[1], text, 60) != 60;
	wrong += read(p[0], (void *)at, 100) != 60;
	wrong += at[0] != 'i' || at[39] != 'i' || at[40] != 'b' ||
		 at[59] != 'b';
}

/* For good: a thread that ends makes more calls. */
static void *confined(void *arg)
{
	const int *p = arg;
	char c = 'x';

	wrong += map[2 * PAGE] != ct_byte(2 * PAGE); /* has what faults need */
	ct_filter(allowed, N, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, 0);
	for (size_t k = 1; k < PAGES; k += 3) {
		wrong += map[k * PAGE] != ct_byte(k * PAGE);
		map[k * PAGE + 1] = 7;
		if (write(p[1], &c, 1) != 1 || read(p[0], &c, 1) != 1)
			wrong++;
	}
	map[PAGES * PAGE - 1] = 8;
	wrong += msync((void *)map, PAGES * PAGE, MS_SYNC) != 0;
	wrong += pread(file, &c, 1, PAGE + 1) != 1 || c != 7;
	receive(p);
	done = 1;
	while (read(p[0], &c, 1) >= 0)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int p[2];

	ct_begin(argc, argv);
	file = ct_file("f", PAGES * PAGE);
	map = (void *)ct_map(-1, (PAGES + 1) * PAGE, RW,
			     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (mmap((void *)map, PAGES * PAGE, RW, MAP_SHARED | MAP_FIXED, file,
		 0) != map)
		ct_die("mmap");
	wrong += map[0] != ct_byte(0);
	map[PAGES * PAGE - 1] = 7; /* by other calls than those to come */
	if (msync((void *)map, PAGES * PAGE, MS_SYNC))
		ct_die("msync");
	if (pipe(p) || pthread_create(&t, NULL, confined, p))
		ct_die("pipe or thread");
	while (!done)
		usleep(1000);
	say("X06 confined: %d wrong", wrong);
	fflush(stdout);
	_exit(0);
}
