/* SPDX-License-Identifier: MIT */
/* X08: an allocator whose heap is a mapped file. It maps, for the first time
 * too, while it holds its lock, which is not recursive: nothing may call it
 * from there, nor wait for a thread that does. */
/* timeout: 60 */
#include "ct.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#define STEP (1ul << 20)
#define HEAP (32ul << 20)
#define N (size_t)ct_rounds(600, 3000)
#define SEEN __attribute__((visibility("default"))) /* by libc */

static char first[1 << 16], *at = first, *end = first + sizeof(first);
static int lock, holder, heap_fd = -1, how;
static size_t used;

static void take(void)
{
	int me = (int)syscall(SYS_gettid);

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&holder, __ATOMIC_RELAXED) == me) {
			static const char text[] = "X08 called from within\n";

			syscall(SYS_write, 1, text, sizeof(text) - 1);
			syscall(SYS_exit_group, 9);
		}
		sched_yield();
	}
	__atomic_store_n(&holder, me, __ATOMIC_RELAXED);
}

static void give(void)
{
	__atomic_store_n(&holder, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void more(size_t n)
{
	char *p = MAP_FAILED;

	n = (n + STEP - 1) & ~(STEP - 1);
	if (heap_fd >= 0 && used + n <= HEAP)
		p = mmap(NULL, n, RW, how, heap_fd, (off_t)used);
	else
		p = mmap(NULL, n, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		syscall(SYS_exit_group, 8);
	used += heap_fd >= 0 ? n : 0;
	at = p;
	end = p + n;
}

SEEN void *malloc(size_t n)
{
	char *p;

	n = (n + 31) & ~15ul;
	take();
	if (n > (size_t)(end - at))
		more(n);
	p = at;
	at += n;
	*(size_t *)(void *)p = n;
	give();
	return p + 16;
}

SEEN void free(void *p)
{
	take();
	if (p)
		memset(p, 0xdd, ((size_t *)p)[-2] - 16);
	give();
}

SEEN void *calloc(size_t n, size_t size)
{
	/* Compilers make calloc of malloc and memset. */
	static void *(*volatile set)(void *, int, size_t) = memset;

	return set(malloc(n * size), 0, n * size);
}

SEEN void *realloc(void *old, size_t n)
{
	char *p = malloc(n);
	size_t had = old ? ((size_t *)old)[-2] - 16 : 0;

	memcpy(p, old, had < n ? had : n);
	free(old);
	return p;
}

static void *use(void *arg)
{
	size_t n = N, wrong = 0;
	char **v = calloc(n, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = malloc(i * 37 % 4000 + 8);
		memset(v[i], (int)i, 8);
	}
	for (size_t i = 0; i < n; i += 3)
		v[i] = realloc(v[i], 5000);
	for (size_t i = 0; i < n; i++) {
		wrong += v[i][0] != (char)i || v[i][7] != (char)i;
		if (i % 2)
			free(v[i]);
	}
	*(size_t *)arg += wrong;
	return NULL;
}

static void heap(const char *name)
{
	heap_fd = ct_file(name, HEAP);
	at = end = first;
}

static int child(void *wrong)
{
	how = MAP_PRIVATE; /* what is shared is the parent's, too */
	at = end;
	use(wrong);
	return *(size_t *)wrong != 0;
}

static void run(const char *name, int flags)
{
	size_t wrong = 0;
	pthread_t t;

	how = flags;
	heap(name);
	use(&wrong);
	say("X08 %s: wrong %zu", name, wrong);
	say("X08 child of fork: %d", ct_child(child, &wrong));
	pthread_create(&t, NULL, use, &wrong);
	use(&wrong);
	pthread_join(t, NULL);
	say("X08 with another thread: %d", wrong == 0);
}

static void shared(void)
{
	run("shared", MAP_SHARED);
}

static void killed(void)
{
	char *p;

	how = MAP_SHARED;
	heap("killed");
	p = malloc(STEP / 2);
	memset(p, 'k', STEP / 2);
	raise(SIGTERM);
}

int main(int argc, char **argv)
{
	static char buffer[4096];

	ct_begin(argc, argv);
	setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
	say_child("X08 shared", shared);
	say_child("X08 SIGTERM", killed);
	run("private", MAP_PRIVATE);
	return 0;
}
