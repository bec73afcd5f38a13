/* SPDX-License-Identifier: MIT */
/* K31: an alternate signal stack is handed on: by a thread that has ended, or
 * lives and has another or none, or could not have it; to a child of fork; from
 * coroutine to coroutine; and beside a child of vfork. Who has it gets it, all
 * of it. */
#undef _FORTIFY_SOURCE /* longjmp from stack to stack is meant */
#include "ct.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#define SIZE (1ul << 20)
#define CO_SIZE (256ul << 10)

static volatile char *map;
static char *stack;
static const char *volatile where;

static void deep(int n)
{
	volatile char b[4096];

	b[0] = map[((size_t)n * 7 % 64) * PAGE];
	if (n)
		deep(n - 1);
	b[1] = b[0];
}

/* Needs 256 KiB, and faults on them. */
static void on_signal(int sig CT_UNUSED)
{
	char here;

	where = &here >= stack && &here < stack + SIZE ? "it" : "another";
	deep(63);
}

static int set(void *sp, size_t size, int flags)
{
	const stack_t ss = { .ss_sp = sp, .ss_size = size, .ss_flags = flags };

	return sigaltstack(&ss, NULL);
}

static void use(const char *what)
{
	stack_t now;

	say_rc(what, set(stack, SIZE, 0));
	where = "no stack";
	raise(SIGUSR1);
	sigaltstack(NULL, &now);
	say("%s: on %s, told %d %d", what, where, now.ss_sp == stack,
	    now.ss_size == SIZE);
}

static void *user(void *what)
{
	use(what);
	return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg))
		ct_die("pthread_create");
	pthread_join(t, NULL);
}

/* ---- threads that live on ---------------------------------------------- */

static char other[64 << 10];
static sem_t done, go;

static void leave_disabled(void)
{
	set(stack, SIZE, 0);
	set(NULL, 0, SS_DISABLE);
}

static void leave_for_another(void)
{
	set(stack, SIZE, 0);
	set(other, sizeof(other), 0);
}

static void leave_refused(void)
{
	say_rc("K31 bad flags", set(stack, SIZE, 0x10));
	say_rc("K31 too small", set(stack, 100, 0));
}

static void keep(void)
{
	set(stack, SIZE, 0);
}

static void *holder(void *leave)
{
	((void (*)(void))leave)();
	sem_post(&done);
	while (sem_wait(&go))
		;
	return NULL;
}

static void beside(void (*leave)(void), void *(*fn)(void *), const char *what)
{
	pthread_t t;

	if (pthread_create(&t, NULL, holder, (void *)leave))
		ct_die("pthread_create");
	while (sem_wait(&done))
		;
	in_thread(fn, (void *)(uintptr_t)what);
	sem_post(&go);
	pthread_join(t, NULL);
}

/* Whose it is does not matter, as long as it is large enough for the handler;
 * the kernel's judgement is the same. */
static void *sharer(void *what)
{
	stack_t now;

	say_rc(what, set(stack, SIZE, 0));
	where = "no stack";
	raise(SIGUSR1);
	sigaltstack(NULL, &now);
	say("%s: ran %d, told %d %d", (char *)what, where[0] != 'n',
	    now.ss_sp == stack, now.ss_size == SIZE);
	say_rc("K31 shared, too small", set(stack, 1000, 0));
	return NULL;
}

/* ---- children ---------------------------------------------------------- */

static void child(void)
{
	use("K31 child");
	in_thread(sharer, (void *)(uintptr_t) "K31 shared in the child");
}

static void in_vfork(void)
{
	stack_t old;
	int status;
	pid_t pid;

	set(stack, SIZE, 0);
	pid = vfork();
	if (pid == 0) {
		set(other, sizeof(other), 0);
		set(NULL, 0, SS_DISABLE);
		_exit(sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE));
	}
	waitpid(pid, &status, 0);
	say("K31 vfork: child %d", WEXITSTATUS(status));
	where = "no stack";
	raise(SIGUSR1);
	sigaltstack(NULL, &old);
	say("K31 vfork: parent on %s, told %d", where, old.ss_sp == stack);
	in_thread(sharer, (void *)(uintptr_t) "K31 shared after vfork");
}

/* ---- coroutines made by sigaltstack (GNU Pth, QEMU) --------------------- */

struct co {
	char *stack;
	sigjmp_buf in, out;
	int id, ended;
};
static char *co_stacks[2];
static __thread struct co *volatile now_co;

static void pause_here(void)
{
	if (!sigsetjmp(now_co->in, 0))
		siglongjmp(now_co->out, 1);
}

static void body(void)
{
	volatile int local[64];
	int wrong = 0;

	for (int i = 0; i < 64; i++)
		local[i] = now_co->id * 1000 + i;
	for (int r = 0; r < 5; r++) {
		pause_here();
		for (int i = 0; i < 64; i++)
			wrong += local[i] != now_co->id * 1000 + i;
		wrong += map[(size_t)(r * 8 + now_co->id) * PAGE] == 0;
	}
	now_co->ended = wrong ? 2 : 1;
	siglongjmp(now_co->out, 1);
}

static void trampoline(int sig CT_UNUSED)
{
	if (sigsetjmp(now_co->in, 0))
		body();
}

static void co_make(struct co *c)
{
	now_co = c;
	set(c->stack, CO_SIZE, 0);
	raise(SIGUSR2);
	set(NULL, 0, SS_DISABLE);
}

static void co_run(struct co *c)
{
	now_co = c;
	if (!sigsetjmp(c->out, 0))
		siglongjmp(c->in, 1);
}

static void *coroutines(void *what)
{
	static struct co c[2];

	for (int i = 0; i < 2; i++) {
		c[i] = (struct co){ .stack = co_stacks[i], .id = i + 1 };
		co_make(&c[i]);
	}
	for (int r = 0; r < 8; r++)
		for (int i = 0; i < 2; i++)
			if (!c[i].ended)
				co_run(&c[i]);
	say("%s: %d %d", (char *)what, c[0].ended, c[1].ended);
	return NULL;
}

/* Both threads live; the stacks of the first were given back. */
static void co_hold(void)
{
	char what[] = "K31 coroutines of a thread that lives";

	coroutines(what);
}

static char *memory(size_t size)
{
	return mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_ONSTACK };
	int fd;

	ct_begin(argc, argv);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = trampoline;
	sigaction(SIGUSR2, &sa, NULL);
	fd = ct_file("f", 64 * PAGE);
	map = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	stack = memory(SIZE);
	co_stacks[0] = memory(CO_SIZE);
	co_stacks[1] = memory(CO_SIZE);

	for (int i = 0; i < 3; i++)
		in_thread(user,
			  (void *)(uintptr_t) "K31 of a thread that ended");
	beside(leave_disabled, user, "K31 of one that has none now");
	beside(leave_for_another, user, "K31 of one that has another now");
	beside(leave_refused, user, "K31 of one that could not have it");
	beside(keep, sharer, "K31 shared");
	in_thread(coroutines, (void *)(uintptr_t) "K31 coroutines");
	in_thread(coroutines, (void *)(uintptr_t) "K31 coroutines");
	beside(co_hold, coroutines, "K31 coroutines beside it");
	use("K31 parent");
	say_child("K31 fork", child);
	in_vfork();
	return 0;
}
