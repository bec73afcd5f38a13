/* SPDX-License-Identifier: MIT */
/* K37: a program with one thread sets a small alternate signal stack before it
 * maps anything: handlers run on it. Then it maps a file, in each of several
 * ways, and handlers on that stack touch pages that are not there yet. */
#include "small_stacks.h"

#define PAGES 64ul

static char *map;
static int fd;
static volatile size_t next_page;
static volatile size_t right;

static void touch(void)
{
	size_t off = next_page++ % PAGES * PAGE;

	right += ct_matches(map + off, 64, off);
}

static void begin(const char *name)
{
	fd = ct_file(name, PAGES * PAGE);
	ss_give();
}

static void map_it(void)
{
	map = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
}

/* Where a second frame comes it lies somewhere else. */
static void in_handlers(const char *what)
{
	right = 0;
	ss_in_handler = touch;
	for (int i = 0; i < 8; i++)
		raise(SIGUSR1);
	ss_in_handler = NULL;
	say("%s: right %zu, told %d", what, right, ss_told());
}

static void plain(void)
{
	begin("plain");
	ss_use("K37 nothing mapped");
	map_it();
	in_handlers("K37 mapped");
}

static void *maps(void *arg)
{
	map_it();
	touch();
	return arg;
}

static void join(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, maps, NULL))
		ct_die("pthread_create");
	pthread_join(t, NULL);
}

static void by_a_thread(void)
{
	begin("thread");
	ss_use("K37 no thread yet");
	join();
	in_handlers("K37 mapped by a thread");
}

static void plain_handler(int sig CT_UNUSED)
{
	map_it();
}

/* Whose end gives the stack back that there was at its begin. */
static void in_a_handler(void)
{
	begin("handler");
	signal(SIGUSR2, plain_handler);
	raise(SIGUSR2);
	touch();
	in_handlers("K37 mapped in a handler");
}

/* The stack cannot be changed while it is stood on. */
static void on_the_stack(void)
{
	begin("stack");
	ss_in_handler = map_it;
	raise(SIGUSR1);
	touch();
	in_handlers("K37 mapped on the stack");
}

static void thread_on_the_stack(void)
{
	begin("there");
	ss_in_handler = join;
	raise(SIGUSR1);
	touch();
	in_handlers("K37 mapped by a thread made on the stack");
}

static void child(void)
{
	ss_use("K37 child");
	fd = ct_file("child", PAGES * PAGE);
	map_it();
	in_handlers("K37 child mapped");
}

static void forked(void)
{
	ss_give();
	say_child("K37 fork", child);
	ss_use("K37 forked");
}

int main(int argc, char **argv)
{
	ss_begin(argc, argv);
	say_child("K37 plain", plain);
	say_child("K37 by a thread", by_a_thread);
	say_child("K37 in a handler", in_a_handler);
	say_child("K37 on the stack", on_the_stack);
	say_child("K37 thread on the stack", thread_on_the_stack);
	forked();
	return 0;
}
