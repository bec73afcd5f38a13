/* SPDX-License-Identifier: MIT */
/* asleep.h - a process that has stored sleeps while a child of fork looks: who
 * does not wait for it, or asks it in vain, sees what is old. */
#pragma once

#include "ct.h"

#include <sys/prctl.h>

#define PAGES 64ul
#define SLEEPS_US 300000

static pid_t stored, waker;

/* Made before the file is opened: it does not use it. */
static void wakes(void)
{
	sigset_t set;
	int sig;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!sigwait(&set, &sig)) {
		usleep(SLEEPS_US);
		kill(stored, SIGCONT);
	}
}

static void begin_waker(void)
{
	sigset_t set, old;

	stored = getpid();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	waker = fork();
	if (waker < 0)
		ct_die("fork");
	if (!waker) {
		wakes();
		_exit(0);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Shared with the children: it has been stored after the fork. */
static _Atomic int *has_stored;

static void begin_has_stored(void)
{
	has_stored = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* In the child: he who has stored sleeps, and is going to be woken. */
static void puts_to_sleep(void)
{
	alarm(9);
	while (!*has_stored)
		usleep(1000);
	kill(stored, SIGSTOP);
	usleep(SLEEPS_US / 10);
	kill(waker, SIGUSR1);
}

static int sees(char *p)
{
	const int got = ct_load(p + 3 * PAGE + 9);

	ct_store(p + 3 * PAGE + 10, 'c');
	return got;
}

CT_UNUSED static int looks(void *arg)
{
	puts_to_sleep();
	return sees(arg);
}

CT_UNUSED static void say_looks(const char *what, char *p, int (*child)(void *))
{
	pid_t pid;

	begin_has_stored();
	ct_store(p + 3 * PAGE + 9, 'o');
	pid = fork();
	if (pid < 0)
		ct_die("fork");
	if (!pid)
		_exit(child(p));
	ct_store(p + 3 * PAGE + 9, 's');
	*has_stored = 1;
	say("%s: %c", what, ct_ended(pid));
	say("%s: its store: %c", what, ct_load(p + 3 * PAGE + 10));
	kill(waker, SIGKILL);
}
