/* SPDX-License-Identifier: MIT */
/* C101: a program with one thread calls unshare and setns before it maps a
 * file, while it does, and after; then it goes on, forks, maps another.
 * timeout: 300 */
#include "ct.h"

#include <sched.h>
#include <sys/syscall.h>

#define SIZE (128 * PAGE)
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct kind {
	const char *name;
	int flags;
	const char *ns; /* setns of one's own, instead */
} kinds[] = {
	{ "user", CLONE_NEWUSER, NULL },
	{ "user and mnt", CLONE_NEWUSER | CLONE_NEWNS, NULL },
	{ "vm", CLONE_VM, NULL },
	{ "sighand", CLONE_SIGHAND, NULL },
	{ "thread", CLONE_THREAD, NULL },
	{ "fs", CLONE_FS, NULL },
	{ "files", CLONE_FILES, NULL },
	{ "mnt", CLONE_NEWNS, NULL },
	{ "pid", CLONE_NEWPID, NULL },
	{ "time", CLONE_NEWTIME, NULL },
	{ "setns mnt", 0, "mnt" },
	{ "setns pid", 0, "pid" },
	{ "setns time", 0, "time" },
	{ "setns user", 0, "user" },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))
static const char *const whens[] = { "never", "held", "after", "number" };
#define WHENS (sizeof(whens) / sizeof(*whens))

struct seen {
	int err;      /* of the call */
	size_t wrong; /* pages of the mapping after it */
	size_t later; /* of another that is made then */
	int child;    /* how a child ended that looked at them */
};
static struct seen *seen;

static char *make(const char *name, unsigned k)
{
	char own[64];
	char *p;
	int fd;

	snprintf(own, sizeof(own), "%s-%u", name, k);
	fd = ct_file(own, SIZE);
	ct_uncache(fd);
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	close(fd);
	return p;
}

static size_t touch(char *p)
{
	size_t n = ct_wrong(p, 0, SIZE / PAGE);

	for (size_t i = 0; i < SIZE / PAGE; i += 3)
		p[i * PAGE + 200]++;
	return n;
}

static int call(const struct kind *k, bool number)
{
	char path[64];
	int fd, r;

	errno = 0;
	if (!k->ns) {
		r = number ? (int)syscall(SYS_unshare, k->flags) :
			     unshare(k->flags);
		return r ? errno : -errno;
	}
	snprintf(path, sizeof(path), "/proc/self/ns/%s", k->ns);
	fd = open(path, O_RDONLY);
	r = number ? (int)syscall(SYS_setns, fd, 0) : setns(fd, 0);
	r = r ? errno : -errno;
	close(fd);
	return r;
}

static int look_in_child(char *p)
{
	pid_t pid = fork(); /* which may be refused */

	if (!pid)
		_exit(ct_wrong(p, 0, SIZE / PAGE) != 0);
	return pid < 0 ? -errno : ct_ended(pid);
}

static void try(unsigned at)
{
	const struct kind *k = &kinds[at % KINDS];
	const char *when = whens[at / KINDS];
	struct seen *s = &seen[at];
	char *p = NULL, *later;

	if (*when != 'n' || when[1] == 'u') {
		p = make("first", at);
		s->wrong = touch(p);
	}
	if (*when == 'a') {
		munmap(p, SIZE);
		p = NULL;
	}
	s->err = call(k, *when == 'n');
	if (p)
		s->wrong += touch(p);
	later = make("later", at);
	s->later = touch(later) + touch(later);
	s->child = look_in_child(later);
	if (p && msync(p, SIZE, MS_SYNC))
		s->wrong += 1000;
	exit(0);
}

/* Each looks at all others, at each of its files. */
#define AT_ONCE (2 * KINDS)

static void some(unsigned first)
{
	pid_t pid[AT_ONCE];

	for (unsigned k = 0; k < AT_ONCE; k++)
		if (!(pid[k] = fork()))
			try(first + k);
	for (unsigned k = first; k < first + AT_ONCE; k++) {
		int status = ct_ended(pid[k - first]);

		say("C101 %s, %s: %s, wrong %zu %zu, child %d, ends %d",
		    whens[k / KINDS], kinds[k % KINDS].name,
		    seen[k].err > 0 ? strerrorname_np(seen[k].err) :
		    seen[k].err	    ? "ok, but errno" : "ok",
		    seen[k].wrong, seen[k].later, seen[k].child, status);
	}
}

int main(int argc, char **argv)
{
	char *p;

	ct_begin(argc, argv);
	seen = mmap(NULL, KINDS * WHENS * sizeof(*seen), RW,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned k = 0; k < KINDS * WHENS; k += AT_ONCE)
		some(k);
	p = make("whole", 0);
	say("C101 whole: %zu", touch(p));
	return 0;
}
