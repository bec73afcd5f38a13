/* SPDX-License-Identifier: MIT */
/*
 * stored.c - looks at a file in all ways and prints what it sees. Run natively
 * on a file that holds the bytes, and preloaded on one that is empty and has
 * them by a source, it has to say the same (tests/checks/stores).
 *
 *	stored FILE          what a file is
 *	stored refused FILE  what only the kernel could do
 *	stored torn FILE     bytes that cannot be had, from some page on
 *	stored killed WHOLE FILE  threads, and children that are killed, look
 *	                     at bytes that have to be those of WHOLE
 *	stored lied WHOLE FILE   some bytes cannot be had, all others are those
 *	                     of WHOLE
 *	stored silent FILE   from some page on there is no answer
 *	stored unmaps FILE   what is just being read is unmapped: badstore's
 *	                     "late"
 *	stored deny CALL PROGRAM ARGS   without a system call, EPERM
 */
#include "../contract/ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static const char *path;
static size_t size;
static int fd;

static uint64_t sum_of(const unsigned char *p, size_t n)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211ull;
	return h;
}

static unsigned char *map(size_t len, int prot, int flags, off_t off)
{
	void *p = mmap(NULL, len, prot, flags, fd, off);

	if (p == MAP_FAILED)
		ct_die("mmap");
	return p;
}

/* Loads a byte. 0, or the signal; its address within p is ct_fault_addr. */
static int load(const unsigned char *p, unsigned *ret)
{
	int sig = sigsetjmp(ct_jump, 1);

	if (!sig) {
		ct_armed = 1;
		*ret = *(const volatile unsigned char *)p;
	}
	ct_armed = 0;
	return sig;
}

static void show_load(const char *what, const unsigned char *base, size_t at)
{
	unsigned v = 0;
	int sig = load(base + at, &v);

	if (sig)
		say("%s: signal %d at %ld", what, sig,
		    (long)((unsigned char *)ct_fault_addr - base));
	else
		say("%s: %u", what, v);
}

static void sizes(void)
{
	struct stat a, b, c;
	struct statx x;

	if (fstat(fd, &a) || stat(path, &b) || lstat(path, &c))
		ct_die("stat");
	size = (size_t)a.st_size;
	say("size %zu %d %d", size, a.st_size == b.st_size,
	    a.st_size == c.st_size);
	statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &x);
	say("statx %d", x.stx_size == size);
	fstatat(fd, "", &c, AT_EMPTY_PATH);
	say("fstatat %d", (size_t)c.st_size == size);
	say("end %ld", (long)lseek(fd, -5, SEEK_END));
	say("here %ld", (long)lseek(fd, 0, SEEK_CUR));
	say("set %ld", (long)lseek(fd, 3, SEEK_SET));
	say_rc("before", lseek(fd, -1 - (off_t)size, SEEK_END));
}

static void whole(void)
{
	unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0);
	uint64_t back = 0;

	say("all %lx", sum_of(p, size));
	munmap(p, size);
	p = map(size, PROT_READ, MAP_PRIVATE, 0);
	for (size_t i = size; i-- > 0;)
		back = back * 31 + p[i];
	say("backwards %lx", back);
	munmap(p, size);
	p = map(size - 2 * PAGE, PROT_READ, MAP_SHARED, 2 * PAGE);
	say("from page 2 %lx", sum_of(p, size - 2 * PAGE));
	munmap(p, size - 2 * PAGE);
}

static void reads(void)
{
	unsigned char *b = calloc(1, size + 64);
	struct iovec v[3] = { { b, 7 }, { b + 7, 0 }, { b + 7, 5000 } };
	const struct iovec nowhere = { (void *)8, 100 };
	ssize_t n;
	size_t got = 0;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, b + got, 70001)) > 0)
		got += (size_t)n;
	say("read %zu %lx", got, sum_of(b, got));
	n = pread(fd, b, 9000, 4091);
	say("pread %ld %lx", (long)n, sum_of(b, 9000));
	say("at the end %ld", (long)pread(fd, b, 100, (off_t)size - 30));
	say("behind it %ld", (long)pread(fd, b, 100, (off_t)size + 30));
	lseek(fd, 4090, SEEK_SET);
	n = readv(fd, v, 3);
	say("readv %ld %lx", (long)n, sum_of(b, 5007));
	say("then %ld", (long)lseek(fd, 0, SEEK_CUR));
	n = preadv(fd, v, 3, 1);
	say("preadv %ld %lx", (long)n, sum_of(b, 5007));
	say_rc("to nowhere", preadv(fd, &nowhere, 1, 0));
	say_rc("write", write(fd, b, 1));
	free(b);
}

static void end_of_file(void)
{
	size_t last = (size - 1) / PAGE * PAGE, len = last + 3 * PAGE;
	unsigned char *p = map(len, PROT_READ, MAP_SHARED, 0);
	size_t zeros = 0;

	show_load("last byte", p, size - 1);
	for (size_t i = size; i < last + PAGE; i++)
		zeros += !p[i];
	say("zeros %zu", zeros);
	show_load("next page", p, last + PAGE);
	show_load("and then", p, last + 2 * PAGE + 17);
	munmap(p, len);
	p = map(PAGE, PROT_READ, MAP_SHARED, (off_t)(last + 4 * PAGE));
	show_load("all behind", p, 5);
	munmap(p, PAGE);
}

static void private_pages(void)
{
	unsigned char *p = map(size, RW, MAP_PRIVATE, 0);
	unsigned char *q = map(size, PROT_READ, MAP_SHARED, 0);
	const unsigned char was = q[5000];

	p[5000] = (unsigned char)~was;
	p[5001]++;
	say("own %d, the other's %d", p[5000] != was, q[5000] == was);
	say("the rest %lx", sum_of(p + 8192, size - 8192));
	say("read into it %ld", (long)pread(fd, p + 10000, 20000, 77));
	say("is there %lx", sum_of(p, 40000));
	madvise(p, 3 * PAGE, MADV_DONTNEED);
	say("given up %d", p[5000] == was);
	munmap(p, size);
	say("still %lx", sum_of(q, size));
	munmap(q, size);
}

static void parts(void)
{
	unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0), *at;

	munmap(p + 4 * PAGE, 3 * PAGE);
	show_load("before the hole", p, 4 * PAGE - 1);
	show_load("in the hole", p, 5 * PAGE);
	show_load("behind it", p, 7 * PAGE);
	say_rc("none", mprotect(p + PAGE, PAGE, PROT_NONE));
	show_load("protected", p, PAGE);
	say_rc("again", mprotect(p + PAGE, PAGE, PROT_READ));
	show_load("readable", p, PAGE);
	say_rc("stores", mprotect(p + PAGE, PAGE, RW));
	at = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    p + 4 * PAGE);
	say_map("moved", at);
	show_load("there", p, 4 * PAGE + 9);
	munmap(p, size);
}

static void to_others(void)
{
	unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0), b[9000];
	int out[2];
	ssize_t n;

	if (pipe(out))
		ct_die("pipe");
	say("written %ld", (long)write(out[1], p + 4000, 9000));
	n = read(out[0], b, 9000);
	say("came %ld %lx", (long)n, sum_of(b, 9000));
	close(out[0]);
	close(out[1]);
	munmap(p, size);
}

static void *look_around(void *arg)
{
	unsigned x = (unsigned)(uintptr_t)arg;
	static unsigned char *p;
	uint64_t sum = 0;

	if (!x) {
		p = map(size, PROT_READ, MAP_SHARED, 0);
		return NULL;
	}
	for (int i = 0; i < 500; i++) {
		x = x * 1103515245 + 12345;
		sum = sum * 31 + p[x % size];
	}
	return (void *)(uintptr_t)sum;
}

static void threads(void)
{
	pthread_t t[8];
	uint64_t sum = 0;
	void *r;

	look_around(NULL);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, look_around, (void *)(i + 1));
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		sum = sum * 31 + (uintptr_t)r;
	}
	say("threads %lx", sum);
}

static void forks(void)
{
	unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0);
	unsigned char *q = map(PAGE, PROT_READ, MAP_PRIVATE, PAGE);
	int status;
	pid_t pid;
	void *r;

	show_load("first", p, 0);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			unsigned char b[100];

			say("child %lx %u", sum_of(p, size), q[8]);
			show_load("its end", p, size - 1);
			say("reads %ld", (long)pread(fd, b, 100, 50));
			r = map(size, PROT_READ, MAP_SHARED, 0);
			say("maps %lx", sum_of(r, size));
			_exit(3);
		}
		waitpid(pid, &status, 0);
		say("status %d", status);
	}
	say("parent %lx", sum_of(p, size));
	munmap(p, size);
	munmap(q, PAGE);
}

static void given_descriptors(void)
{
	int other = dup(fd), again = open(path, O_RDONLY);
	char a[8], b[8];

	lseek(fd, 100, SEEK_SET);
	say("dup %ld %ld", (long)read(other, a, 8), (long)read(fd, b, 8));
	say("position %ld", (long)lseek(other, 0, SEEK_CUR));
	say("another %ld %ld", (long)read(again, a, 8),
	    (long)lseek(again, 0, SEEK_CUR));
	close(other);
	close(again);
}

static int see_all(void)
{
	sizes();
	whole();
	reads();
	end_of_file();
	private_pages();
	parts();
	to_others();
	threads();
	given_descriptors();
	forks();
	return 0;
}

/* ---- streams ------------------------------------------------------------ */

static void say_stream(const char *what, FILE *fp)
{
	uint64_t sum = 0;
	char line[100] = "";
	int c;

	if (!fp) {
		say("%s: %s", what, strerror(errno));
		return;
	}
	say("%s: %d, %d behind a line of %zu", what,
	    fgets(line, sizeof(line), fp) == line, ftell(fp) >= 0,
	    strlen(line));
	fseek(fp, -1000, SEEK_END);
	while ((c = getc(fp)) != EOF)
		sum = sum * 31 + (unsigned)c;
	say("end %lx at %ld, %d %d", sum, ftell(fp), feof(fp), ferror(fp));
	rewind(fp);
	say("one piece: %zu", fread(malloc(size), 1, size, fp));
	fseek(fp, 5000, SEEK_SET);
	say("at 5000: %d, its number: %d", ungetc(getc(fp), fp),
	    lseek(fileno(fp), 0, SEEK_END) == (off_t)size);
}

/* Standard input is the file. */
static int streams(void)
{
	FILE *fp = fopen(path, "re");

	sizes();
	say_stream("stdin", stdin);
	say_stream("fopen", fp);
	say("closes: %d", fclose(fp));
	say_stream("fdopen", fdopen(dup(fd), "rb"));
	say_stream("from its start", freopen(NULL, "r", stdin));
	say_stream("freopen", freopen(path, "r", stdin));
	say("still %d", fileno(stdin));
	fclose(stdin);
	say_rc("closed", fcntl(0, F_GETFD));
	return 0;
}

/* ---- refused ------------------------------------------------------------ */

static int refused(void)
{
	unsigned char *p;
	int w;

	sizes();
	say_map("to execute", mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE, fd, 0));
	say_map("locked", mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_LOCKED,
			       fd, 0));
	say_map("to store", mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0));
	p = map(size, PROT_READ, MAP_SHARED, 0);
	say_rc("mlock", mlock(p, PAGE));
	say_rc("stores", mprotect(p, PAGE, RW));
	say("still %lx", sum_of(p, size));
	w = open(path, O_RDWR);
	say_rc("open", w);
	say_rc("truncating", open(path, O_WRONLY | O_TRUNC));
	say("stream: %s", ct_errno(!fopen(path, "r+")));
	say("stream anew: %s", ct_errno(!fopen(path, "w")));
	say("stream of words: %s", ct_errno(!fopen(path, "r,ccs=UTF-8")));
	say("stream to write: %s", ct_errno(!fdopen(fd, "w")));
	say("another's: %s", ct_errno(!freopen(path, "r",
					       fopen("/dev/null", "r"))));
	w = open(ct_path("copy"), O_CREAT | O_RDWR, 0600);
	say_rc("sendfile", sendfile(w, fd, NULL, 100));
	return 0;
}

/* Also by a system call, which says EFAULT where a load gets a signal. */
static int torn(void)
{
	unsigned char *p, b[16];
	size_t good = 0;
	unsigned v;

	sizes();
	p = map(size, PROT_READ, MAP_SHARED, 0);
	while (good < size && !load(p + good, &v))
		good += PAGE;
	say("good %zu", good / PAGE);
	show_load("first", p, good);
	show_load("again", p, good);
	say_rc("pread", pread(fd, b, 16, (off_t)good));
	show_load("before", p, good - 1);
	return 0;
}

static int deny(char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ, (unsigned)atoi(argv[2]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter),
				      filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		ct_die("seccomp");
	execvp(argv[3], argv + 3);
	ct_die("exec");
}

/* ---- who is killed in the middle of a read ------------------------------ */

enum { LOOKERS = 6, CHILDREN = 4, KILLED = 100 };

static unsigned char *right, *seen;
static atomic_bool over;
static atomic_ulong wrong;

/* Here and there, so that nothing of it stays. */
static void *wander(void *arg)
{
	uint64_t x = (uintptr_t)arg * 2654435761u + 1;

	while (!over) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		const size_t at = (x >> 33) % size;

		wrong += ((const volatile unsigned char *)seen)[at] !=
			 right[at];
	}
	return NULL;
}

static pid_t looks_around(unsigned n)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	wander((void *)(uintptr_t)(n + LOOKERS));
	_exit(0);
}

static void see_right(const char *path_of_whole)
{
	int ref = open(path_of_whole, O_RDONLY);

	size = (size_t)lseek(fd, 0, SEEK_END);
	right = malloc(size);
	if (ref < 0 || read(ref, right, size) != (ssize_t)size)
		ct_die("read");
	seen = map(size, PROT_READ, MAP_SHARED, 0);
}

static int killed(const char *path_of_whole)
{
	pthread_t t[LOOKERS];
	pid_t child[CHILDREN] = { 0 };

	see_right(path_of_whole);
	madvise(seen, size, MADV_RANDOM);
	for (uintptr_t i = 0; i < LOOKERS; i++)
		pthread_create(&t[i], NULL, wander, (void *)i);
	for (unsigned n = 0; n < KILLED; n++) {
		pid_t *c = &child[n % CHILDREN];

		if (*c) {
			kill(*c, SIGKILL);
			waitpid(*c, NULL, 0);
		}
		*c = looks_around(n);
		usleep(n % 7 * 500);
	}
	for (unsigned i = 0; i < CHILDREN; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	over = true;
	for (unsigned i = 0; i < LOOKERS; i++)
		pthread_join(t[i], NULL);
	say("killed: %lu wrong", (unsigned long)wrong);
	return 0;
}

/* ---- a helper that lies -------------------------------------------------- */

static void *reads_around(void *arg)
{
	uint64_t x = (uintptr_t)arg * 2654435761u + 1;
	unsigned char b[20000];

	while (!over) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		const size_t at = (x >> 33) % size;
		const size_t n = (x >> 20) % sizeof(b);
		const ssize_t got = pread(fd, b, n, (off_t)at);

		wrong += got > 0 && memcmp(b, right + at, (size_t)got);
		wrong += got < 0 && errno != EIO && errno != EPERM;
	}
	return NULL;
}

/* From front to back, so that it is read ahead, until `seconds` are over. */
static void loads_on(int seconds)
{
	const time_t end = time(NULL) + seconds;
	unsigned v;

	while (time(NULL) < end) {
		for (size_t at = 0; at < size && time(NULL) < end; at += PAGE)
			wrong += !load(seen + at, &v) && v != right[at];
		munmap(seen, size);
		seen = map(size, PROT_READ, MAP_SHARED, 0);
	}
}

static int lied(const char *path_of_whole)
{
	pthread_t t[LOOKERS];
	pid_t pid;
	int status;

	see_right(path_of_whole);
	for (uintptr_t i = 0; i < LOOKERS; i++)
		pthread_create(&t[i], NULL, reads_around, (void *)i);
	loads_on(1);
	pid = fork();
	if (!pid) {
		loads_on(1);
		_exit(wrong != 0);
	}
	waitpid(pid, &status, 0);
	over = true;
	for (unsigned i = 0; i < LOOKERS; i++)
		pthread_join(t[i], NULL);
	say("lied: %lu wrong, %d", (unsigned long)wrong, status);
	return 0;
}

/* ---- what is unmapped while it is read ahead ----------------------------- */

/* The second time all who read for us wait. */
static int silent(void)
{
	struct timespec a, b;

	size = (size_t)lseek(fd, 0, SEEK_END);
	alarm(60);
	for (int k = 0; k < 2; k++) {
		unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0);

		if (!k)
			say("silent: first %d", p[0]);
		madvise(p, size, MADV_WILLNEED);
		usleep(300000);
		clock_gettime(CLOCK_MONOTONIC, &a);
		munmap(p, size);
		clock_gettime(CLOCK_MONOTONIC, &b);
		say("silent: unmapped at once %d", b.tv_sec - a.tv_sec < 3);
	}
	return 0;
}

#define LATE_LOOPS 150

static unsigned late_byte(size_t page)
{
	return (unsigned)(page * 37 % 251 + 1);
}

static unsigned late_wrong(const unsigned char *p, size_t page)
{
	return p[page * PAGE] != late_byte(page) ||
	       p[page * PAGE + PAGE - 1] != late_byte(page);
}

static void *unmapper(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uintptr_t wrong = 0;

	for (int k = 0; k < LATE_LOOPS; k++) {
		unsigned char *p = map(size, PROT_READ, MAP_SHARED, 0);
		const size_t from = (size_t)rand_r(&seed) % (size / PAGE);

		madvise(p + from * PAGE, size - from * PAGE, MADV_WILLNEED);
		usleep((unsigned)rand_r(&seed) % 3000);
		for (int n = rand_r(&seed) % 3; n; n--)
			wrong += late_wrong(p, (size_t)rand_r(&seed) %
						       (size / PAGE));
		munmap(p, size);
	}
	return (void *)wrong;
}

static int unmaps(void)
{
	uintptr_t wrong = 0;
	pthread_t t[3];
	void *r;

	size = (size_t)lseek(fd, 0, SEEK_END);
	for (uintptr_t k = 0; k < 3; k++)
		pthread_create(&t[k], NULL, unmapper, (void *)(k + 1));
	for (int k = 0; k < 3; k++) {
		pthread_join(t[k], &r);
		wrong += (uintptr_t)r;
	}
	say("unmaps: %d wrong", (int)wrong);
	return 0;
}

int main(int argc, char **argv)
{
	bool what = argc > 2;

	if (argc > 3 && !strcmp(argv[1], "deny"))
		return deny(argv);
	ct_begin(1, argv);
	path = argv[argc - 1];
	fd = open(path, O_RDONLY);
	if (fd < 0)
		ct_die("open");
	if (what && !strcmp(argv[1], "refused"))
		return refused();
	if (what && !strcmp(argv[1], "streams"))
		return streams();
	if (what && !strcmp(argv[1], "silent"))
		return silent();
	if (what && !strcmp(argv[1], "unmaps"))
		return unmaps();
	if (argc > 3)
		return strcmp(argv[1], "lied") ? killed(argv[2]) :
						 lied(argv[2]);
	return what ? torn() : see_all();
}
