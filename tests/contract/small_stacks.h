/* SPDX-License-Identifier: MIT */
/* small_stacks.h - alternate signal stacks into which one frame and a handler
 * fit, and not a second frame. */
#ifndef SMALL_STACKS_H
#define SMALL_STACKS_H

#include "ct.h"

#include <pthread.h>
#include <sys/auxv.h>

static __thread char *ss_mem;
static __thread size_t ss_size;
static __thread volatile bool ss_on_it;
static void (*volatile ss_in_handler)(void);

static void ss_handler(int sig CT_UNUSED)
{
	char here;

	ss_on_it = &here >= ss_mem && &here < ss_mem + ss_size;
	if (ss_in_handler)
		ss_in_handler();
}

static void ss_give(void)
{
	stack_t ss = { 0 };

	ss_size = getauxval(AT_MINSIGSTKSZ) + 2048;
	ss_mem = aligned_alloc(64, (ss_size + 63) & ~63ul);
	ss.ss_sp = ss_mem;
	ss.ss_size = ss_size;
	if (sigaltstack(&ss, NULL))
		ct_die("sigaltstack");
}

static bool ss_told(void)
{
	stack_t now;

	return !sigaltstack(NULL, &now) && now.ss_sp == ss_mem &&
	       now.ss_size == ss_size && !now.ss_flags;
}

static void ss_begin(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = ss_handler,
				.sa_flags = SA_ONSTACK };

	ct_begin(argc, argv);
	sigaction(SIGUSR1, &sa, NULL);
}

/* On the stack that was given? */
static void ss_use(const char *what)
{
	ss_on_it = false;
	raise(SIGUSR1);
	say("%s: on it %d, told %d", what, ss_on_it, ss_told());
}

#endif
