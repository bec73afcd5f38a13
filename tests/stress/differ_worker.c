/* SPDX-License-Identifier: MIT */
/* differ_worker.c - a worker of differ: what is there, and what is asked. */
#include "differ_worker.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>

struct slot slots[SLOTS];
const struct plan *plan;
char path[4096], other[4096];
int fd = -1;
char *heap, *out;
size_t out_n;
volatile long end_page;
const uint64_t *arg;

static __thread sigjmp_buf escape;
static __thread volatile sig_atomic_t armed;

bool is_shared(const struct slot *s)
{
	return s - slots < SHARED_SLOTS;
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	out_n += (size_t)vsnprintf(out + out_n, LINE - 2 - out_n, fmt, ap);
	va_end(ap);
	if (out_n > LINE - 2)
		out_n = LINE - 2;
}

void result(const char *what, long r)
{
	if (r < 0)
		say("%s -%d ", what, errno);
	else
		say("%s %ld ", what, r);
}

static void on_signal(int sig)
{
	if (!armed) {
		static const char msg[] = "differ: unexpected signal\n";

		if (write(2, msg, sizeof(msg) - 1) < 0) {}
		_exit(99);
	}
	siglongjmp(escape, sig);
}

/* 0, or the signal that it raised. */
int guarded(void (*f)(char *, long), char *at, long n)
{
	int sig = sigsetjmp(escape, 1);

	if (!sig) {
		armed = 1;
		f(at, n);
	}
	armed = 0;
	return sig;
}

static uint64_t hash(uint64_t h, const char *p, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v;

		memcpy(&v, p + i, 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (size_t i = n & ~7ul; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3ull;
	return h;
}

void fill(char *to, size_t n, uint64_t x)
{
	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		to[i] = (char)(x >> 56);
	}
}

void say_hash(const char *p, size_t n)
{
	say("%llx ", (unsigned long long)hash(0, p, n));
}

long file_size(void)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	return (long)((uint64_t)st.st_size - plan->base);
}

void note_end(void)
{
	long size = file_size();

	end_page = size < 0 ? 0 : (size + PAGE - 1) / PAGE;
}

struct slot *some(uint64_t x)
{
	struct slot *s = &slots[x % SLOTS];

	for (int i = 0; i < SLOTS && !s->addr; i++)
		s = &slots[(s - slots + 1) % SLOTS];
	return s->addr ? s : NULL;
}

bool range(struct slot *s, uint64_t a, uint64_t b, long *first, long *n)
{
	if (!s)
		return false;
	*first = (long)(a % (uint64_t)s->n);
	*n = 1 + (long)(b % (uint64_t)(b & 1024 ? s->n - *first :
				       1 + (s->n - *first) / 4));
	if (plan->verbose)
		say("s%d %ld+%ld@%ld ", (int)(s - slots), *first, *n,
		    s->at[*first]);
	return *n <= s->n - *first;
}

void store(char *p, long n)
{
	memcpy(p, heap, (size_t)n);
}

long before_end(const struct slot *s, long p)
{
	long left = file_size() - s->at[p] * PAGE;

	if (s->at[p] == UNKNOWN)
		return plan->gentle ? 0 : PAGE;
	return left <= 0 ? plan->gentle ? 0 : PAGE : left < PAGE ? left : PAGE;
}

/* ---- beside everything ------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool may_touch = true;
static int touching;

static void touch_one(char *p, long add)
{
	if (add)
		__atomic_fetch_add((long *)p, 0, __ATOMIC_SEQ_CST);
	else
		(void)*(volatile char *)p;
}

static void *toucher(void *unused)
{
	uint64_t x = 88172645463325252ull;

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!may_touch)
			pthread_cond_wait(&changed, &lock);
		touching++;
		pthread_mutex_unlock(&lock);
		for (int i = 0; i < 20; i++) {
			struct slot *s = &slots[(x >> 40) % SLOTS];
			char *a = s->addr;
			long n = s->n;
			long p = n ? (long)((x >> 20) % (uint64_t)n) : 0;

			x = x * 6364136223846793005ull + 1442695040888963407ull;
			if (!a || p >= n ||
			    (plan->gentle && s->at[p] >= end_page))
				continue;
			guarded(touch_one, a + p * PAGE + ((x >> 33) & 0xff8),
				is_shared(s) && (x >> 63));
		}
		pthread_mutex_lock(&lock);
		touching--;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		usleep((unsigned)(x >> 30) % 300);
	}
	return NULL;
}

static void stay_still(bool yes)
{
	pthread_mutex_lock(&lock);
	may_touch = !yes;
	pthread_cond_broadcast(&changed);
	while (yes && touching)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void op_still(void)
{
	stay_still(arg[0]);
}

/* ---- what is there ----------------------------------------------------- */

static uint64_t sum;

static void sum_up(char *p, long n)
{
	sum = hash(sum, p, (size_t)n);
}

bool looked_at(const struct slot *s, long p)
{
	return !plan->gentle || (s->at[p] < end_page && s->at[p] != UNKNOWN);
}

static void check_slot(struct slot *s)
{
	uint64_t all = 0;

	if (!s->addr)
		return;
	for (long p = 0; p < s->n; p++) {
		int sig = 0;

		sum = 0;
		if (looked_at(s, p))
			sig = guarded(sum_up, s->addr + p * PAGE, PAGE);
		all = (all ^ (sig ? (uint64_t)sig : sum)) * 0x100000001b3ull;
		if (plan->verbose)
			say("%ld@%ld:%d:%04x ", p, s->at[p], sig,
			    (unsigned)sum & 0xffff);
	}
	say("s%d[%ld]=%llx ", (int)(s - slots), s->n, (unsigned long long)all);
}

static void check_file(void)
{
	ssize_t n = pread(fd, heap, PAGES * PAGE, (off_t)plan->base);

	result("pread", n);
	if (n > 0)
		say_hash(heap, (size_t)n);
	if (plan->verbose)
		for (long p = 0; p * PAGE < n; p++)
			say("%ld:%04x ", p, (unsigned)hash(0, heap + p * PAGE,
							   PAGE) & 0xffff);
	say("size %ld ", file_size());
}

void op_check(void)
{
	note_end();
	for (int i = 0; i < SLOTS; i++)
		check_slot(&slots[i]);
	check_file();
}

/* ---- what is asked ----------------------------------------------------- */

#define ROW(name, weight, native, harsh, still) \
	{ #name, weight, native, harsh, still },
#define RUN(name, weight, native, harsh, still) op_##name,

const struct differ_op differ_ops[] = { EVERY(ROW) { NULL, 0, 0, 0, 0 } };
static void (*const run[])(void) = { EVERY(RUN) };

static char line[512];
static pthread_barrier_t begin, done;

static void carry_out(void)
{
	static uint64_t args[ARGS];
	char name[32];
	unsigned which;

	out_n = 0;
	if (sscanf(line, "%u %31s %lu %lu %lu %lu %lu %lu", &which, name,
		   &args[0], &args[1], &args[2], &args[3], &args[4],
		   &args[5]) < 8)
		_exit(5);
	arg = args;
	for (int i = 0; differ_ops[i].name; i++)
		if (!strcmp(differ_ops[i].name, name))
			run[i]();
	out[out_n++] = '\n';
	if (write(1, out, out_n) != (ssize_t)out_n)
		_exit(6);
}

static void *second(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_barrier_wait(&begin);
		carry_out();
		pthread_barrier_wait(&done);
	}
	return NULL;
}

static void *memory(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(7);
	return p;
}

static void get_ready(const struct plan *p)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t t;

	plan = p;
	heap = memory(PAGES * PAGE + 2 * PAGE);
	out = memory(LINE);
	snprintf(path, sizeof(path), "%s/differ", p->dir);
	snprintf(other, sizeof(other), "%s/differ.other", p->dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		_exit(8);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	pthread_barrier_init(&begin, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	pthread_create(&t, NULL, second, NULL);
	pthread_create(&t, NULL, toucher, NULL);
	pthread_create(&t, NULL, toucher, NULL);
}

int worker(const struct plan *p)
{
	get_ready(p);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == '0') {
			carry_out();
			continue;
		}
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&done);
	}
	return 0;
}
