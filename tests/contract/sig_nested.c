/* SPDX-License-Identifier: MIT */
/* Pages are served inside handlers, under the masks of waiting calls, on small
 * alternate stacks and after context switches; SIGSEGV stays the program's. */
#include "ct.h"

#include <poll.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define PAGES 256

static char *map;
static int fd;
static int next_page;
static volatile int page_ok;

static bool fresh_page_ok(void)
{
	size_t off = (size_t)next_page++ * PAGE;

	return ct_matches(map + off, PAGE, off);
}

static void on_alarm(int sig)
{
	page_ok = fresh_page_ok();
}

static void everything_masked(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction back;

	sigfillset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
	sigaction(sig, NULL, &back);
	say("G2 sa_mask reported with SIGBUS %d, SIGHUP %d",
	    sigismember(&back.sa_mask, SIGBUS),
	    sigismember(&back.sa_mask, SIGHUP));
}

static void soon(void)
{
	struct itimerval t = { .it_value = { 0, 20000 } };

	page_ok = -1;
	setitimer(ITIMER_REAL, &t, NULL);
}

static void waited(const char *what, int r)
{
	sigset_t now;

	say("G3 %s: %s, page %d", what, ct_errno(r == -1), page_ok);
	sigprocmask(SIG_BLOCK, NULL, &now);
	say("G3 mask after: SIGBUS %d SIGHUP %d", sigismember(&now, SIGBUS),
	    sigismember(&now, SIGHUP));
}

static void waits(void)
{
	struct timespec long_time = { 5, 0 };
	struct epoll_event ev;
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t but_alarm, alarm_only;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	everything_masked(SIGALRM, on_alarm, 0);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	/* else it may come too early */
	sigprocmask(SIG_BLOCK, &alarm_only, NULL);
	sigfillset(&but_alarm);
	sigdelset(&but_alarm, SIGALRM);
	soon();
	waited("sigsuspend", sigsuspend(&but_alarm));
	soon();
	waited("ppoll", ppoll(NULL, 0, &long_time, &but_alarm));
	soon();
	waited("pselect",
	       pselect(0, NULL, NULL, NULL, &long_time, &but_alarm));
	soon();
	waited("epoll_pwait", epoll_pwait(ep, &ev, 1, 5000, &but_alarm));
	soon();
	waited("epoll_pwait2",
	       epoll_pwait2(ep, &ev, 1, &long_time, &but_alarm));
	sigaction(SIGALRM, &dfl, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
}

/* Alternate stacks from the smallest that the CPU's frame fits into. */
static void *on_small_stack(void *unused)
{
	static const size_t extra[] = { 700, 1024, 2048, 4096, 16384 };

	everything_masked(SIGUSR1, on_alarm, SA_ONSTACK);
	for (size_t i = 0; i < sizeof(extra) / sizeof(*extra); i++) {
		size_t size = getauxval(AT_MINSIGSTKSZ) + extra[i];
		char *mem = aligned_alloc(64, 65536);
		stack_t ss = { .ss_sp = mem, .ss_size = size }, back;

		say_rc("G8 sigaltstack", sigaltstack(&ss, NULL));
		sigaltstack(NULL, &back);
		say("G8 reported as set: %d %d flags %d", back.ss_sp == mem,
		    back.ss_size == size, back.ss_flags);
		say("G8 page %d", fresh_page_ok());
		page_ok = -1;
		raise(SIGUSR1);
		say("G8 page in a handler there %d", page_ok);
		ss.ss_flags = SS_DISABLE;
		say_rc("G8 disable", sigaltstack(&ss, NULL));
		sigaltstack(NULL, &back);
		say("G8 disabled %d, page %d", back.ss_flags == SS_DISABLE,
		    fresh_page_ok());
		free(mem);
	}
	return NULL;
}

static void small_thread_stack(void)
{
	stack_t bad = { .ss_sp = map, .ss_size = 100 };
	pthread_attr_t attr;
	pthread_t t;

	say_rc("G8 tiny", sigaltstack(&bad, NULL));
	bad.ss_flags = 0x77;
	say_rc("G8 bad flags", sigaltstack(&bad, NULL));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	pthread_create(&t, &attr, on_small_stack, NULL);
	pthread_join(t, NULL);
}

static ucontext_t main_uc, co_uc;

static void coroutine(void)
{
	say("G3 coroutine page %d", fresh_page_ok());
	swapcontext(&co_uc, &main_uc);
	say("G3 coroutine again, page %d", fresh_page_ok());
}

/* A context whose mask blocks everything. */
static void contexts(void)
{
	static char stack[65536];
	sigset_t now;

	getcontext(&co_uc);
	co_uc.uc_stack.ss_sp = stack;
	co_uc.uc_stack.ss_size = sizeof(stack);
	co_uc.uc_link = &main_uc;
	sigfillset(&co_uc.uc_sigmask);
	makecontext(&co_uc, coroutine, 0);
	swapcontext(&main_uc, &co_uc);
	say("G3 main page %d", fresh_page_ok());
	swapcontext(&main_uc, &co_uc);
	sigprocmask(SIG_BLOCK, NULL, &now);
	say("G3 mask: SIGBUS %d SIGHUP %d", sigismember(&now, SIGBUS),
	    sigismember(&now, SIGHUP));
}

static volatile int segv_code;
static volatile long segv_at;

static void on_segv(int sig, siginfo_t *info, void *uc)
{
	segv_code = info->si_code;
	segv_at = (char *)info->si_addr - map;
	mprotect(map, PAGE, RW);
}

static void write_readonly(void)
{
	map[17] = 1;
}

/* A child's own mapping, of which no page has been touched. */
static void new_map(void)
{
	map = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
}

static void segv_default(void)
{
	new_map();
	signal(SIGSEGV, SIG_DFL);
	write_readonly();
}

static void segv_ignored(void)
{
	new_map();
	signal(SIGSEGV, SIG_IGN);
	write_readonly();
}

static void segv_blocked(void)
{
	new_map();
	sighold(SIGSEGV);
	write_readonly();
}

/* The garbage collectors' write barrier. */
static void segv(void)
{
	struct sigaction sa = { .sa_sigaction = on_segv,
				.sa_flags = SA_SIGINFO };

	say_child("G6 SIGSEGV default", segv_default);
	say_child("G6 SIGSEGV ignored", segv_ignored);
	say_child("G6 SIGSEGV blocked", segv_blocked);
	sigaction(SIGSEGV, &sa, NULL);
	write_readonly();
	say("G6 SIGSEGV: code %d at +%#lx, now %d", segv_code, segv_at,
	    map[17]);
}


int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("nested", PAGES * PAGE);
	map = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	/* Page 0 stays untouched until the end. */
	next_page = 1;
	everything_masked(SIGUSR1, on_alarm, 0);
	raise(SIGUSR1);
	say("G2 page in a handler %d", page_ok);
	waits();
	small_thread_stack();
	contexts();
	segv();
	return 0;
}
