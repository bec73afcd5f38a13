/* SPDX-License-Identifier: MIT */
/*
 * exerciser.c - random mixes of mapped access and file system calls on one
 * file, compared after every step with a model in memory.
 *
 *   exerciser FILE [-r seed] [-n operations] [-s KiB largest size]
 *             [-x skip,skip,...] [-q] [-c]
 *
 * Several files one after another: what hands a file to the kernel for good
 * (fork, moves, access beyond the end) is done to a quarter of them only.
 * Single-threaded, so that every byte has exactly one right value. Runs
 * natively as well, which is how the model itself is tested. Forks come in the
 * second half, for what the engine does only before the first one. The first
 * difference ends the run with the operations that led to it.
 */
#include "ask.h"
#include "exerciser.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#define HISTORY 48

const char *path;
uint64_t max_size = 8 << 20;
bool gentle = true;
static uint64_t seed = 1, n_ops = 20000;
static const char *skip = "";
static bool quiet, careful; /* careful: check own pages after each step */

int fd;
char *model;
uint64_t size;
char *buf;
char *heap;
struct map maps[MAPS];
static uint64_t op_no, notes;
static uint64_t state;
static char history[HISTORY][160];

static sigjmp_buf escape;
static volatile sig_atomic_t armed, caught;

uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state * 0x2545f4914f6cdd1dull >> 11) % below : 0;
}

void note(const char *fmt, ...)
{
	char *h = history[notes++ % HISTORY];
	va_list ap;
	int n = snprintf(h, sizeof(history[0]), "%llu: ",
			 (unsigned long long)op_no);

	va_start(ap, fmt);
	vsnprintf(h + n, sizeof(history[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	if (!quiet && getenv("EXERCISER_TRACE"))
		fprintf(stderr, "%s\n", h);
}

void fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "exerciser: seed %llu operation %llu: ",
		(unsigned long long)seed, (unsigned long long)op_no);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nfile size %llu, last operations:\n",
		(unsigned long long)size);
	for (uint64_t i = notes > HISTORY ? notes - HISTORY : 0; i < notes; i++)
		fprintf(stderr, "  %s\n", history[i % HISTORY]);
	for (int i = 0; i < MAPS; i++)
		if (maps[i].addr)
			fprintf(stderr,
				"  map %d: %s%s off %#llx len %#zx at %p\n", i,
				maps[i].shared ? "shared" : "private",
				maps[i].readonly ? " read-only" : "",
				(unsigned long long)maps[i].off, maps[i].len,
				(void *)maps[i].addr);
	exit(1);
}

void differ(const char *via, uint64_t off, const char *want,
		   const char *got, size_t len)
{
	size_t i = 0, last = len;

	while (i < len && want[i] == got[i])
		i++;
	if (i == len)
		return;
	while (last > i && want[last - 1] == got[last - 1])
		last--;
	fail("%s: differs at %#llx (page %llu+%llu) up to %#llx: want %02x got %02x",
	     via, (unsigned long long)(off + i),
	     (unsigned long long)((off + i) / PAGE),
	     (unsigned long long)((off + i) % PAGE),
	     (unsigned long long)(off + last), (unsigned char)want[i],
	     (unsigned char)got[i]);
}

static void on_signal(int sig)
{
	if (!armed) {
		static const char msg[] = "exerciser: unexpected signal\n";

		if (write(2, msg, sizeof(msg) - 1) < 0) {}
		fail("signal %d", sig);
	}
	caught = sig;
	siglongjmp(escape, 1);
}

void fresh(char *to, uint64_t len)
{
	uint64_t x = state | 1;

	for (uint64_t i = 0; i < len; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		to[i] = (char)(x >> 56);
	}
	rnd(0);
}

/* Lengths: mostly small, sometimes a lot. */
uint64_t some_len(uint64_t most)
{
	uint64_t n;

	switch (rnd(8)) {
	case 0:
		n = rnd(max_size / 4);
		break;
	case 1:
	case 2:
		n = rnd(16 * PAGE);
		break;
	default:
		n = rnd(3000);
	}
	return min(n + 1, most);
}

uint64_t some_off(uint64_t below)
{
	uint64_t o = rnd(below);

	if (rnd(4) == 0)
		o &= ~(PAGE - 1);
	return o;
}

/* ---- the model ---------------------------------------------------------- */

/* Bytes of the file beyond its end are zero in the model at all times. */
void model_write(uint64_t off, const char *from, uint64_t len)
{
	memcpy(model + off, from, len);
	if (off + len > size)
		size = off + len;
}

/* Truncation takes private copies that lie wholly beyond the end as well. */
void model_drop_private(uint64_t from)
{
	from = page_up(from);
	for (int i = 0; i < MAPS; i++) {
		struct map *m = &maps[i];

		if (!m->addr || m->shared)
			continue;
		for (uint64_t p = 0; p < m->len / PAGE; p++)
			if (m->off + p * PAGE >= from)
				m->own[p] = 0;
	}
}

void model_truncate(uint64_t to)
{
	if (to < size) {
		memset(model + to, 0, size - to);
		model_drop_private(to);
	}
	size = to;
}

/* ---- mapped access ---------------------------------------- */

uint64_t map_valid(const struct map *m)
{
	uint64_t end = page_up(size);

	if (end <= m->off)
		return 0;
	return min(m->len, end - m->off);
}

struct map *some_map(void)
{
	struct map *m = &maps[rnd(MAPS)];

	for (int i = 0; i < MAPS && !m->addr; i++)
		m = &maps[((m - maps) + 1) % MAPS];
	return m->addr ? m : NULL;
}

void check_page(struct map *m, uint64_t p)
{
	uint64_t off = m->off + p * PAGE;
	char name[32];

	snprintf(name, sizeof(name), "map %d", (int)(m - maps));
	if (!m->shared && m->own[p])
		differ(name, off, m->copy + p * PAGE, m->addr + p * PAGE, PAGE);
	else
		differ(name, off, model + off, m->addr + p * PAGE, PAGE);
}

int touch(volatile char *p, bool write)
{
	caught = 0;
	armed = 1;
	if (!sigsetjmp(escape, 1)) {
		if (write)
			*p = 1;
		else
			(void)*p;
	}
	armed = 0;
	return caught;
}

void expect(ssize_t got, ssize_t want, const char *what)
{
	if (got != want)
		fail("%s: returned %zd (%s), want %zd", what, got,
		     got < 0 ? strerror(errno) : "ok", want);
}

/* ---- everything -------------------------------------------------------- */

static void check_all(void)
{
	expect(pread(fd, buf, max_size, 0), (ssize_t)size, "pread all");
	differ("pread all", 0, model, buf, size);
	for (int i = 0; i < MAPS; i++)
		for (uint64_t p = 0;
		     maps[i].addr && p < map_valid(&maps[i]) / PAGE; p++)
			check_page(&maps[i], p);
}

/* Private copies, all of them: where was one lost? */
static void check_own(void)
{
	for (int i = 0; i < MAPS; i++) {
		struct map *m = &maps[i];

		for (uint64_t p = 0; m->own && p < map_valid(m) / PAGE; p++)
			if (m->own[p])
				check_page(m, p);
	}
}

static void op_check_all(void)
{
	note("check all");
	check_all();
}

/* A child sees all of it; its stores to private maps stay its own. */
static void op_fork(void)
{
	int status;
	pid_t pid;

	/* A process that has forked keeps nothing of what it unmaps. */
	if (op_no < n_ops / 2)
		return;
	note("fork");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid == 0) {
		check_all();
		for (int i = 0; i < MAPS; i++)
			if (maps[i].addr && !maps[i].shared &&
			    !maps[i].readonly && map_valid(&maps[i]))
				memset(maps[i].addr, 0x5a, PAGE);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("child: status %#x", status);
}

/* Between operations, as another process would have it. */
static void op_kernel(void)
{
	note("demote");
	ask("demote\n");
}

static void op_engine(void)
{
	note("promote");
	ask("promote\n");
}

static const struct op own_ops[] = {
	{ "fork", op_fork, 1, true },
	{ "kernel", op_kernel, 1, false },
	{ "engine", op_engine, 4, false },
	{ "checkall", op_check_all, 2, false },
	{ NULL, NULL, 0, false },
};

static const struct op *const tables[] = { map_ops, file_ops, again_ops,
					   own_ops };
#define TABLES (sizeof(tables) / sizeof(*tables))

bool skipped(const struct op *o)
{
	const char *name = o->name;
	size_t n = strlen(name);

	if (gentle && o->demotes)
		return true;

	for (const char *p = skip; (p = strstr(p, name)); p += n)
		if ((p == skip || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static const struct op *some_op(void)
{
	unsigned total = 0, r;

	for (int t = 0; t < (int)TABLES; t++)
		for (const struct op *o = tables[t]; o->name; o++)
			total += skipped(o) ? 0 : o->weight;
	r = (unsigned)rnd(total);
	for (int t = 0; t < (int)TABLES; t++)
		for (const struct op *o = tables[t]; o->name; o++) {
			if (skipped(o))
				continue;
			if (r < o->weight)
				return o;
			r -= o->weight;
		}
	fail("every operation is skipped");
}

static const char usage[] =
	"usage: exerciser [-r seed] [-n operations] [-s KiB] [-x skip,...] [-q] [-c] FILE\n";

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:n:s:x:qch")) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		if (c == 'r')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			n_ops = strtoull(optarg, NULL, 0);
		else if (c == 's')
			max_size = strtoull(optarg, NULL, 0) << 10;
		else if (c == 'x')
			skip = optarg;
		else if (c == 'q')
			quiet = true;
		else if (c == 'c')
			careful = true;
		else
			exit(2);
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		exit(2);
	}
	path = argv[optind];
}

static void *zeroed(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}

int main(int argc, char **argv)
{
	options(argc, argv);
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	model = zeroed(max_size + PAGE);
	buf = zeroed(max_size + PAGE);
	heap = zeroed(max_size + PAGE);
	catch_signals();
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	for (op_no = 0; op_no < n_ops; op_no++) {
		some_op()->run();
		if (careful)
			check_own();
	}
	check_all();
	unmap_all();
	check_all();
	if (!quiet)
		printf("exerciser: seed %llu, %llu operations: ok\n",
		       (unsigned long long)seed, (unsigned long long)n_ops);
	return 0;
}
