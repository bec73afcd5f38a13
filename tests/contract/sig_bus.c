/* SPDX-License-Identifier: MIT */
/* The program's own SIGBUS handler, for real faults (beyond the end of the
 * file) and for signals that somebody sent. */
#include "ct.h"

#include <sys/syscall.h>

static char *map;
static int fd;
static volatile int hits;
static volatile int seen_code, seen_blocked, seen_usr1, seen_disposition;
static sigjmp_buf jump;

static bool bus_blocked(void)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGBUS);
}

static void note(int sig)
{
	struct sigaction sa;
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	seen_blocked = sigismember(&now, SIGBUS);
	seen_usr1 = sigismember(&now, SIGUSR1);
	sigaction(sig, NULL, &sa);
	seen_disposition = sa.sa_handler == SIG_DFL;
	hits++;
}

static void jump_handler(int sig)
{
	note(sig);
	siglongjmp(jump, 1);
}

/* Makes the page exist, so that the instruction succeeds when it runs again. */
static void grow_handler(int sig, siginfo_t *info, void *uc CT_UNUSED)
{
	note(sig);
	seen_code = info->si_code;
	ct_fault_addr = info->si_addr;
	ct_pwrite(fd, "Z", 1, 2 * PAGE);
}

static void plain_handler(int sig)
{
	note(sig);
}

static void install(void *handler, int flags, bool with_usr1)
{
	struct sigaction sa = { .sa_flags = flags };

	sa.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	sigemptyset(&sa.sa_mask);
	if (with_usr1)
		sigaddset(&sa.sa_mask, SIGUSR1);
	say_rc("G4 install", sigaction(SIGBUS, &sa, NULL));
}

static void report(const char *what)
{
	say("G6 %s: hits %d, inside: SIGBUS blocked %d, SIGUSR1 %d, default %d; after: %d",
	    what, hits, seen_blocked, seen_usr1, seen_disposition,
	    bus_blocked());
	hits = 0;
}

static void touch_beyond(void)
{
	*(volatile char *)(map + 2 * PAGE + 5);
}

static void jump_out(const char *what, int flags)
{
	install(jump_handler, flags, true);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(jump, 1))
			touch_beyond();
	report(what);
}

static void grows(void)
{
	install(grow_handler, SA_SIGINFO, false);
	say("G6 read after growth: %02x", map[2 * PAGE]);
	say("G6 code %d, si_addr +%#lx", seen_code,
	    (long)((char *)ct_fault_addr - map));
	report("handler returns");
	if (ftruncate(fd, 2 * PAGE))
		ct_die("ftruncate");
}

static void reported(void)
{
	struct sigaction sa, old;

	sigaction(SIGBUS, NULL, &old);
	say("G4 handler %d flags %#x usr1 %d", old.sa_handler == jump_handler,
	    old.sa_flags & ~0x04000000, sigismember(&old.sa_mask, SIGUSR1));
	say("G4 signal returns ours %d",
	    signal(SIGBUS, plain_handler) == jump_handler);
	sigaction(SIGBUS, NULL, &old);
	say("G4 signal: flags %#x mask %d", old.sa_flags & ~0x04000000,
	    sigismember(&old.sa_mask, SIGBUS));
	say("G4 sysv_signal returns ours %d",
	    sysv_signal(SIGBUS, SIG_DFL) == plain_handler);
	sigaction(SIGBUS, NULL, &old);
	say("G4 sysv: default %d flags %#x", old.sa_handler == SIG_DFL,
	    old.sa_flags & ~0x04000000);
	say("G4 bad signal() %s",
	    ct_errno(signal(SIGBUS, SIG_ERR) == SIG_ERR));
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = plain_handler;
	say_rc("G4 bad number", sigaction(65, &sa, NULL));
	say_rc("G4 SIGKILL", sigaction(SIGKILL, &sa, NULL));
	sigaction(SIGBUS, NULL, &old);
	say("G4 still default %d", old.sa_handler == SIG_DFL);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void xopen(void)
{
	signal(SIGBUS, SIG_DFL);
	say("G4 sigset: default %d", sigset(SIGBUS, plain_handler) == SIG_DFL);
	say("G4 hold: ours %d", sigset(SIGBUS, SIG_HOLD) == plain_handler);
	say("G4 blocked %d", bus_blocked());
	say("G4 hold again: hold %d", sigset(SIGBUS, SIG_HOLD) == SIG_HOLD);
	say("G4 set: hold %d", sigset(SIGBUS, plain_handler) == SIG_HOLD);
	say("G4 blocked %d", bus_blocked());
	sigignore(SIGBUS);
	raise(SIGBUS);
	say("G4 ignored, hits %d", hits);
}

static void sent(void)
{
	sigset_t set, pending;
	siginfo_t info;
	int sig = 0;

	install(plain_handler, 0, true);
	raise(SIGBUS);
	report("raise");
	kill(getpid(), SIGBUS);
	report("kill");
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGBUS);
	raise(SIGBUS);
	sigpending(&pending);
	say("G7 blocked: hits %d pending %d", hits,
	    sigismember(&pending, SIGBUS));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigpending(&pending);
	say("G7 unblocked: hits %d pending %d", hits,
	    sigismember(&pending, SIGBUS));
	report("held");
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGBUS);
	say("G7 sigwait %d", sigwait(&set, &sig));
	say("G7 got SIGBUS %d hits %d", sig == SIGBUS, hits);
	raise(SIGBUS);
	say("G7 sigwaitinfo %d", sigwaitinfo(&set, &info) == SIGBUS);
	say("G7 code is SI_TKILL %d", info.si_code == SI_TKILL);
	say("G7 sigtimedwait %s",
	    ct_errno(sigtimedwait(&set, &info,
				  &(struct timespec){ 0, 1000000 }) == -1));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	report("waited");
}

static void die_default(void)
{
	signal(SIGBUS, SIG_DFL);
	touch_beyond();
}

static void die_ignored(void)
{
	signal(SIGBUS, SIG_IGN);
	touch_beyond();
}

static void die_blocked(void)
{
	sigset_t all;

	install(jump_handler, 0, false);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (!sigsetjmp(jump, 1))
		touch_beyond();
	say("G6 survived");
}

/* Without a saved mask SIGBUS stays blocked after the first time. */
static void die_longjmp(void)
{
	install(jump_handler, 0, false);
	for (int i = 0; i < 2; i++)
		if (!sigsetjmp(jump, 0))
			touch_beyond();
	say("G6 survived");
}

static void die_sent(void)
{
	signal(SIGBUS, SIG_DFL);
	raise(SIGBUS);
}

static void die_reset(void)
{
	install(plain_handler, SA_RESETHAND, false);
	raise(SIGBUS);
	report("one shot");
	raise(SIGBUS);
}

static void live_nodefer(void)
{
	install(jump_handler, SA_NODEFER, false);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(jump, 0))
			touch_beyond();
	report("no mask saved, SA_NODEFER");
}

/* Once in the parent's mapping and once after fork. */
static void remap(void)
{
	map = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	say("G6 first byte %d", ct_matches(map, 1, 0));
}

static void deaths(void)
{
	void (*const how[])(void) = { die_default, die_ignored, die_blocked,
				      die_longjmp, die_sent,	die_reset,
				      live_nodefer };
	char name[32];

	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		snprintf(name, sizeof(name), "G6 death %zu", i);
		say_child(name, how[i]);
	}
}

static void deaths_in_own_mapping(void)
{
	remap();
	deaths();
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	signal(SIGBUS, SIG_DFL);
	fd = ct_file("bus", 2 * PAGE);
	remap();
	say("G5 default %d", signal(SIGBUS, SIG_DFL) == SIG_DFL);
	jump_out("siglongjmp", 0);
	jump_out("siglongjmp, SA_NODEFER", SA_NODEFER);
	grows();
	jump_out("again", 0);
	reported();
	xopen();
	sent();
	deaths();
	say_child("G6 own mapping", deaths_in_own_mapping);
	return 0;
}
