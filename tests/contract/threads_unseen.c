/* SPDX-License-Identifier: MIT */
/* K35: threads of the library are none of the program's: a program with one
 * thread stays one to libc, and ends with its last one. */
#include "ct.h"

#include <pthread.h>
#include <sys/single_threaded.h>

#define N (64 * PAGE)

static char *map(const char *name)
{
	char *p = ct_map(ct_file(name, N), N, RW, MAP_SHARED, 0);

	p[3 * PAGE] = 'x';
	return p;
}

static void at_end(void)
{
	say("K35 handlers of exit run");
}

static void *leave_late(void *arg)
{
	char *p = arg;

	usleep(50000);
	p[5 * PAGE] = 'y';
	return NULL;
}

static void main_leaves(void)
{
	atexit(at_end);
	map("alone");
	pthread_exit(NULL);
}

static void last_leaves(void)
{
	pthread_t t;

	atexit(at_end);
	pthread_create(&t, NULL, leave_late, map("last"));
	pthread_exit(NULL);
}

static int in_file(const char *name, size_t at)
{
	return ct_in_file(open(ct_path(name), O_RDONLY), (off_t)at);
}

int main(int argc, char **argv)
{
	pthread_t t;

	ct_begin(argc, argv);
	say("K35 single: %d", __libc_single_threaded);
	map("f");
	say("K35 single when mapped: %d", __libc_single_threaded);
	say_child("K35 pthread_exit of main", main_leaves);
	say("K35 in the file: %c", in_file("alone", 3 * PAGE));
	say_child("K35 the last thread returns", last_leaves);
	say("K35 in the file: %c", in_file("last", 5 * PAGE));
	pthread_create(&t, NULL, leave_late, map("g"));
	pthread_join(t, NULL);
	say("K35 single with a thread: %d", __libc_single_threaded);
	return 0;
}
