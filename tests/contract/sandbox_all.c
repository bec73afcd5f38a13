/* SPDX-License-Identifier: MIT */
/* X24: a program confines all its threads: who opens a file, looks for one, or
 * begins a thread from now on ends it. It goes on with a file that is mapped,
 * and is larger than the cache, for longer than all that the library does by
 * the clock; it changes mapped pages by pwrite all the time, which would else
 * give the file to the kernel. */
/* env: FASTMAP_WARM=auto */
/* env: FASTMAP_SOCKET=%p.sock */
/* not engaged: it may open no file for its statistics */
#include "filter.h"

#include <time.h>

#define PAGES 6144 /* more than the caches of these tests hold */
#define SECONDS 1.3
#define WRITTEN 80 /* pages, in each round */

static const int forbidden[] = {
	SYS_open, SYS_openat, SYS_openat2, SYS_creat, SYS_stat, SYS_lstat,
	SYS_statx, SYS_newfstatat, SYS_access, SYS_faccessat, SYS_faccessat2,
	SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_rename, SYS_unlink,
	SYS_socket, SYS_connect, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork,
	SYS_execve, SYS_perf_event_open, SYS_memfd_create, SYS_mincore,
	SYS_process_vm_readv, SYS_process_vm_writev,
};
#define N (sizeof(forbidden) / sizeof(*forbidden))

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Pages that are mapped, and seen there. */
static int write_some(int file, const volatile char *map)
{
	static unsigned rounds;
	const char was = (char)rounds, c = (char)++rounds;
	int wrong = 0;

	for (size_t k = PAGES - WRITTEN; k < PAGES; k++) {
		wrong += map[k * PAGE + 2] !=
			 (rounds == 1 ? (char)ct_byte(k * PAGE + 2) : was);
		wrong += pwrite(file, &c, 1, (off_t)(k * PAGE + 2)) != 1;
		wrong += map[k * PAGE + 2] != c;
	}
	return wrong;
}

/* As another process does that maps a file of the same kind. */
static int open_bell(void)
{
	return open("/dev/shm/fastmap-peers", O_RDWR | O_CLOEXEC);
}

static void ring(int bell)
{
	char c = 0;

	if (bell >= 0 && pwrite(bell, &c, 1, 0) != 1)
		ct_die("bell");
}

int main(int argc, char **argv)
{
	volatile unsigned char *map;
	double end;
	int file, bell, wrong = 0;

	ct_begin(argc, argv);
	file = ct_file("f", PAGES * PAGE);
	ct_uncache(file);
	map = (void *)ct_map(file, PAGES * PAGE, RW, MAP_SHARED, 0);
	wrong += map[0] != ct_byte(0);
	map[PAGES * PAGE - 1] = 7; /* by other calls than those to come */
	if (msync((void *)map, PAGES * PAGE, MS_SYNC))
		ct_die("msync");
	bell = open_bell();
	say("X24 begins"); /* stdio looks at its file only once */
	ct_filter(forbidden, N, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW,
		  SECCOMP_FILTER_FLAG_TSYNC);
	end = now() + SECONDS;
	do {
		for (size_t k = 1; k < PAGES; k++) {
			wrong += map[k * PAGE] != ct_byte(k * PAGE);
			map[k * PAGE + 1] = 7;
		}
		map[PAGES * PAGE - 1]++;
		ring(bell);
		wrong += write_some(file, (const char *)map);
	} while (now() < end);
	wrong += msync((void *)map, PAGES * PAGE, MS_SYNC) != 0;
	say("X24 %s", wrong ? "wrong" : "goes on");
	_exit(0);
}
