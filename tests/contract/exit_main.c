/* SPDX-License-Identifier: MIT */
/* X25: the main thread ends by an instruction of its own, which no library
 * sees. The process ends with it, or with the last of the threads that go on,
 * and has its status; what was stored is in the file. Those are called as one
 * of the library's is, and each makes the next one and ends. No guardian writes
 * what is left. */
/* env: FASTMAP_GUARDIAN=no */
#include "ct.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGES 64

static volatile unsigned char *map;

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void *goes_on(void *until)
{
	pthread_t t;

	prctl(PR_SET_NAME, "fastmap-room");
	usleep(100);
	if (seconds() >= (time_t)until)
		map[PAGE + 1] = 3;
	else if (pthread_create(&t, NULL, goes_on, until) ||
		 pthread_detach(t))
		ct_die("thread");
	return NULL;
}

static _Noreturn void end_main(int status)
{
	for (;;) {
		long r = SYS_exit;

		__asm__ volatile("syscall" : "+a"(r) : "D"((long)status) :
				 "rcx", "r11", "memory");
	}
}

static void child(const char *name, bool with_thread, bool privately)
{
	pthread_t t;

	map = (void *)ct_map(ct_file(name, PAGES * PAGE), PAGES * PAGE, RW,
			     MAP_SHARED, 0);
	if (privately)
		ct_map(open(ct_path(name), O_RDWR), PAGES * PAGE, RW,
		       MAP_PRIVATE, 0);
	for (size_t k = 0; k < PAGES; k++)
		map[k * PAGE] = 7;
	/* longer than the library looks away */
	if (with_thread &&
	    pthread_create(&t, NULL, goes_on, (void *)(seconds() + 3)))
		ct_die("thread");
	end_main(5);
}

static void look(const char *name, bool with_thread, bool privately)
{
	int file, status, stored = 0;
	unsigned char c[2];
	pid_t pid = fork();

	if (!pid)
		child(name, with_thread, privately);
	status = ct_ended(pid);
	file = open(ct_path(name), O_RDONLY);
	for (size_t k = 0; k < PAGES; k++)
		stored += pread(file, c, 1, (off_t)(k * PAGE)) == 1 &&
			  c[0] == 7;
	if (pread(file, c, 2, PAGE) != 2)
		ct_die("pread");
	say("X25 %s: status %d, %d pages stored, %s",
	    with_thread ? "with a thread" :
	    privately	? "mapped privately, too" : "alone",
	    status, stored,
	    c[1] == 3 ? "the thread went on" : "no thread");
}

int main(int argc, char **argv)
{
	volatile unsigned char *mine;

	ct_begin(argc, argv);
	mine = (void *)ct_map(ct_file("g", 4 * PAGE), 4 * PAGE, PROT_READ,
			      MAP_SHARED, 0);
	look("f", false, false);
	look("h", true, false);
	look("i", false, true);
	say("X25 %d", mine[0] == ct_byte(0));
	return 0;
}
