/* SPDX-License-Identifier: MIT */
/*
 * C31: every system call of the table (shim/calls.def), by its number and by
 * the functions that hand their arguments to it, with each pointer at memory of
 * a file that is not resident, across the boundary of two pages. What it points
 * to is zeroes, or the path of a file that is not there: most calls refuse
 * that, after having looked. None does so because it could not look.
 * C77t: and each pointer in turn where the kernel cannot look.
 */
#include "ct.h"

#include <dlfcn.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <utime.h>

#include "../../src/arch/numbers.h"

#define ARGS 6
#define PAGES (3ul * ARGS) /* of one call; each has its own */
#define FEW 8 /* units of what is counted; bytes of a signal set */

struct fm_ksigaction {
	long words[4];
};

typedef long call_fn(long, long, long, long, long, long);

struct pointer {
	char kind;
	signed char arg, n, at;
};
struct row {
	const char *name;
	int nr;
	struct pointer p[8]; /* the last is an end */
};

#define S(a) { 's', a, 0, 0 }
#define T(a) { 's', a, 0, 0 }
#define I(a, type) { 'o', a, 0, sizeof(type) ? 0 : 1 }
#define O(a, type) I(a, type)
#define W(a, type) I(a, type)
#define P(a, type) I(a, type)
#define B(a, type) I(a, type)
#define IN(a, n, unit) { 'n', a, n, (unit) ? 0 : 1 }
#define ON IN
#define WN IN
#define BN IN
#define IC IN
#define OC IN
#define BC IN
#define READ 1
#define FILL 2
#define BOTH 3
#define BITS(a, how, n, less) { 'b', a, n, (how) && (less) }
#define REPLY(a, n) { 'r', a, n, 0 }
#define SIZED(a, how, at, base, least) { 'z', a, 0, (how) ? (at) : 0 }
#define UPTO(a, how, size) { 'o', a, 0, (how) && (size) ? 0 : 1 }
#define BY(a, name) { 'o', a, 0, 0 }
#define INNER(a, at, how, n, width) { 'o', a, 0, (how) && (n) ? 0 : (at) }

#define NONE(name)
#define SEEN(name)
#define FORKS(name)
#define LEFT(name, why)
#define OWN(name, where)
#define CALL(name, ...) { #name, __NR_##name, { __VA_ARGS__ } },
static const struct row calls[] = {
#include "../../shim/calls.def"
};
#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))

#undef CALL
#define CALL(name, ...)
#define HOOK(fn, call, how) { #fn, __NR_##call, { { 0 } } },
#define FUNC(fn, how, ...) { #fn, -1, { __VA_ARGS__ } },
static const struct row functions[] = {
#include "../../shim/calls.def"
};

/* What the other arguments have to be, or the call does harm, or waits. */
static const struct special {
	const char *name;
	int arg;
	long value; /* arg -1: not called */
} specials[] = {
	{ "setrlimit", 0, RLIMIT_CORE },
	{ "prlimit64", 1, RLIMIT_CORE },
	{ "rt_sigsuspend", -1, 0 },
	{ "pselect6", 5, 0 },
	{ "rt_sigaction", 0, SIGUSR1 },
	/* these look into memory of the program by themselves */
	{ "scandir", -1, 0 },
	{ "scandir64", -1, 0 },
	{ "scandirat", -1, 0 },
	{ "scandirat64", -1, 0 },
	{ "__xstat", 0, 1 },
	{ "__lxstat", 0, 1 },
	{ "__fxstat", 0, 1 },
	{ "__fxstatat", 0, 1 },
	{ "pthread_getname_np", 2, 16 },
	{ "openpty", -1, 0 },
	/* a memory policy is the library's, too, for the time being */
	{ "move_pages", -1, 0 },
};

static int fd;
static char *map;
static size_t made;
static bool again; /* places are used for the second time */

static char *place(int arg)
{
	return map + (PAGES * made + 3 * (size_t)arg + 1) * PAGE - 4;
}

static void fill(int arg, const void *what, size_t n, size_t at)
{
	ct_pwrite(fd, what, n, (off_t)(place(arg) + at - map));
}

static void prepare(const struct pointer *p, long v[ARGS])
{
	static const char zeroes[512];
	const int few = 64;

	if (again)
		fill(p->arg, zeroes, sizeof(zeroes), 0);
	if (p->kind == 's')
		fill(p->arg, ct_path("none"), strlen(ct_path("none")) + 1, 0);
	if (p->kind == 'n' || p->kind == 'b')
		v[(int)p->n] = FEW;
	if (p->kind == 'z')
		fill(p->arg, &few, sizeof(few), (size_t)p->at);
	if (p->kind == 'r') {
		fill(p->n, &few, sizeof(few), 0);
		v[(int)p->n] = (long)place(p->n);
	}
	v[(int)p->arg] = (long)place(p->arg);
}

static bool arguments(const char *name, const struct pointer *p, long v[ARGS])
{
	made++;
	memset(v, 0, ARGS * sizeof(*v));
	for (; p->kind; p++)
		prepare(p, v);
	if (!strncmp(name, "pthread_", 8))
		v[0] = (long)pthread_self();
	for (size_t i = 0; i < COUNT(specials); i++)
		if (!strcmp(specials[i].name, name)) {
			if (specials[i].arg < 0)
				return false;
			v[specials[i].arg] = specials[i].value;
		}
	return true;
}

static const struct pointer *pointers(const struct row *f)
{
	if (f->nr < 0)
		return f->p;
	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].nr == f->nr)
			return calls[i].p;
	return f->p;
}

/* What makes a call of these arguments: by number where fn is NULL. */
static long call(const struct row *c, call_fn *fn, const long v[ARGS])
{
	return fn ? fn(v[0], v[1], v[2], v[3], v[4], v[5]) :
		    syscall(c->nr, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static call_fn *function(const struct row *f)
{
	call_fn *fn;

	*(void **)&fn = dlsym(RTLD_DEFAULT, f->name);
	return fn;
}

static void by_number(const struct row *c)
{
	long v[ARGS];

	if (arguments(c->name, c->p, v))
		say("C31 %d %s: %s", c->nr, c->name,
		    ct_errno(call(c, NULL, v) == -1));
}

/* Some return the error, or say that there is one. */
static bool is_of_threads(const char *name)
{
	return !strncmp(name, "pthread_", 8) || !strncmp(name, "thrd_", 5);
}

static void by_name(const struct row *f)
{
	call_fn *fn = function(f);
	long v[ARGS], r;

	if (!fn || !arguments(f->name, pointers(f), v))
		return;
	errno = 0;
	r = call(f, fn, v);
	if (is_of_threads(f->name))
		say("C31 %s: returns %d", f->name, (int)r);
	else
		say("C31 %s: %s", f->name, ct_errno(errno != 0));
}

/* ---- where the kernel cannot look ---------------------------------------- */

static sigjmp_buf jump;

static void jump_back(int sig)
{
	siglongjmp(jump, sig);
}

/* libc looks by itself, or ends the program */
static bool looks_itself(const char *name)
{
	return !strcmp(name, "arc4random_buf");
}

static void one_bad(const struct row *c, call_fn *fn, int arg, long bad)
{
	const struct pointer *p = fn ? pointers(c) : c->p;
	volatile long r = -1;
	long v[ARGS];
	int sig;

	made = 0;
	if (!arguments(c->name, p, v))
		return;
	v[arg] = bad;
	errno = 0;
	sig = sigsetjmp(jump, 1);
	if (!sig)
		r = call(c, fn, v);
	say("C77t %s%s, %d at %#lx: %s signal %d", c->name,
	    fn ? "" : " by number", arg, bad < 4096 ? bad : 4096,
	    fn ? ct_errno(errno != 0) : ct_errno(r == -1), sig);
}

static void each_bad(const struct row *c, call_fn *fn, long none)
{
	const struct pointer *p = fn ? pointers(c) : c->p;

	for (; p->kind && !looks_itself(c->name); p++) {
		one_bad(c, fn, p->arg, none);
		one_bad(c, fn, p->arg, 8);
	}
}

static void all_bad(void)
{
	void *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (none == MAP_FAILED)
		ct_die("mmap");
	again = true;
	signal(SIGSEGV, jump_back);
	signal(SIGBUS, jump_back);
	for (size_t i = 0; i < COUNT(calls); i++)
		each_bad(&calls[i], NULL, (long)none);
	for (size_t i = 0; i < COUNT(functions); i++)
		if (function(&functions[i]))
			each_bad(&functions[i], function(&functions[i]),
				 (long)none);
}

/* Who may nothing does no harm. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &h, none))
		ct_die("capset");
}

int main(int argc, char **argv)
{
	const size_t all = (COUNT(calls) + COUNT(functions) + 1) * PAGES * PAGE;

	ct_begin(argc, argv);
	fd = ct_file("calls", PAGE);
	if (ftruncate(fd, (off_t)all))
		ct_die("ftruncate");
	map = ct_map(fd, all, RW, MAP_SHARED, 0);
	ct_load(map);
	drop_capabilities();
	for (size_t i = 0; i < COUNT(calls); i++)
		by_number(&calls[i]);
	for (size_t i = 0; i < COUNT(functions); i++)
		by_name(&functions[i]);
	all_bad();
	return 0;
}
