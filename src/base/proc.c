/* SPDX-License-Identifier: MIT */
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "apart.h"
#include "sys.h"
#include "text.h"

FM_FAULT const char *fm_proc_fd(char buf[FM_PROC_FD], int fd)
{
	static const char dir[] = "/proc/self/fd/";

	memcpy(buf, dir, sizeof(dir));
	fm_number_text(buf + sizeof(dir) - 1, (unsigned)fd);
	return buf;
}

bool fm_proc_fd_path(int fd, char *path, size_t size)
{
	char link[FM_PROC_FD];
	long n;

	fm_proc_fd(link, fd);
	n = fm_sys4(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0;
}

struct reader {
	bool (*one)(const struct fm_proc_map *m, void *arg);
	void *arg;
	const char *path;
	char *buf;
	size_t size;
	int err;
};

/* "start-end perms offset major:minor inode path" */
static bool parse(const char *line, struct fm_proc_map *m)
{
	unsigned maj, min;
	char *p;

	m->start = strtoul(line, &p, 16);
	if (*p != '-')
		return false;
	m->end = strtoul(p + 1, &p, 16);
	if (strlen(p) < 6)
		return false;
	m->write = p[2] == 'w';
	m->shared = p[4] == 's';
	strtoul(p + 6, &p, 16); /* the offset */
	maj = (unsigned)strtoul(p, &p, 16);
	if (*p != ':')
		return false;
	min = (unsigned)strtoul(p + 1, &p, 16);
	m->dev = makedev(maj, min);
	m->ino = strtoul(p, &p, 10);
	m->path = p + strspn(p, " ");
	return true;
}

static bool read_line(const char *line, void *arg)
{
	struct reader *r = arg;
	struct fm_proc_map m;

	return parse(line, &m) && r->one(&m, r->arg);
}

static void read_maps(void *arg)
{
	struct reader *r = arg;
	int fd = fm_sys_open(r->path, O_RDONLY, 0);

	r->err = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	fm_read_lines(fd, r->buf, r->size, read_line, r);
	fm_sys_close(fd);
}

int fm_proc_maps(const char *path, char *buf, size_t size,
		 bool (*one)(const struct fm_proc_map *m, void *arg), void *arg)
{
	struct reader r = { one, arg, path, buf, size, 0 };

	fm_apart_from_fds(read_maps, &r);
	return r.err;
}

/* PROCMAP_QUERY: one mapping, without printing all of them. */
static _Atomic bool no_query; /* the kernel is older */

struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, id_size;
	uint64_t name, id;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)
enum { MAP_WRITE = 0x02, MAP_SHARES = 0x08 }; /* in vma_flags */
enum { OR_NEXT = 0x10, OF_FILES = 0x20 };

static int query(int fd, struct map_query *q)
{
	q->size = sizeof(*q);
	return (int)fm_sys3(SYS_ioctl, fd, (long)MAP_QUERY, (long)q);
}

bool fm_proc_map_at(uintptr_t at, ino_t ino)
{
	struct map_query q = { .addr = at };
	int fd = at ? fm_sys_open(FM_OWN_MAPS, O_RDONLY, 0) : -1;
	bool there;

	if (fd < 0)
		return false;
	there = !query(fd, &q) && q.inode == ino;
	fm_sys_close(fd);
	return there;
}

/* The name takes the kernel as long as all the rest, so it is asked for last.
 * One that has no room there has none. */
static bool proc_told(int fd, const struct map_query *q, char *buf, size_t size,
		      const struct reader *r)
{
	struct map_query named = {
		.addr = q->start, .name = (uintptr_t)buf,
		.name_size = (uint32_t)size,
	};
	const struct fm_proc_map m = {
		.start = q->start, .end = q->end,
		.write = q->vma_flags & MAP_WRITE,
		.shared = q->vma_flags & MAP_SHARES,
		.dev = makedev(q->major, q->minor),
		.ino = q->inode, .path = buf,
	};

	if (query(fd, &named) || !named.name_size)
		*buf = 0;
	return r->one(&m, r->arg);
}

/* -ENOENT: that were all. 0: enough. */
static int proc_ask_each(int fd, ino_t ino, char *buf, size_t size,
			 const struct reader *r)
{
	struct map_query q = { .addr = 0 };

	for (;;) {
		int err;

		q.flags = OR_NEXT | OF_FILES;
		err = query(fd, &q);
		if (err)
			return err;
		if (q.inode == ino && proc_told(fd, &q, buf, size, r))
			return 0;
		q.addr = q.end;
	}
}

struct filter {
	struct reader then;
	const char *path;
	ino_t ino;
	char *buf;
	size_t size;
	int err;
};

static bool proc_is_of(const struct fm_proc_map *m, void *arg)
{
	struct filter *f = arg;

	return m->ino == f->ino && f->then.one(m, f->then.arg);
}

static void ask_maps(void *arg)
{
	struct filter *f = arg;
	int fd = fm_sys_open(f->path, O_RDONLY, 0);

	f->err = fd;
	if (fd < 0)
		return;
	f->err = proc_ask_each(fd, f->ino, f->buf, f->size, &f->then);
	if (f->err == -ENOENT)
		f->err = 0;
	if (f->err == -ENOTTY)
		atomic_store(&no_query, true);
	fm_sys_close(fd);
}

int fm_proc_maps_of(const char *path, ino_t ino, char *buf, size_t size,
		    bool (*one)(const struct fm_proc_map *m, void *arg),
		    void *arg)
{
	struct filter f = { .then.one = one, .then.arg = arg, .path = path,
			    .ino = ino, .buf = buf, .size = size,
			    .err = -ENOTTY };

	if (!atomic_load(&no_query))
		fm_apart_from_fds(ask_maps, &f);
	return f.err ? fm_proc_maps(path, buf, size, proc_is_of, &f) : 0;
}

/* By /proc/TID: what the kernel remembers of /proc/self/task/TID makes it take
 * milliseconds longer to end the process (7 of ten threads, 0.2 without). */
static int thread_path(char path[64], const char *tid, const char *what)
{
	return fm_join(path, 64, "/proc/", tid, what);
}

/* "nr arg ... sp pc", or "-1 sp pc", or "running". */
bool fm_proc_syscall(const char *tid, struct fm_proc_call *ret)
{
	char path[64], text[256], *p, *end;

	if (thread_path(path, tid, "/syscall") ||
	    fm_read_small(path, text, sizeof(text)) <= 0)
		return false;
	*ret = (struct fm_proc_call){ .nr = strtol(text, &p, 10) };
	end = p;
	for (int i = 0; i < 6 && ret->nr >= 0; i++)
		ret->arg[i] = strtoul(end, &end, 16);
	ret->sp = strtoul(end, &end, 16);
	ret->pc = strtoul(end, &end, 16);
	return p != text;
}

int fm_each_entry(int dir, char *buf, size_t size,
		  void (*one)(const char *name, void *arg), void *arg)
{
	long n;

	while ((n = fm_sys3(SYS_getdents64, dir, buf, size)) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);

			at += d->d_reclen;
			one(d->d_name, arg);
		}
	}
	return (int)n;
}

#define PARENT 4 /* ABI: in a thread's stat, the first number */

struct threads {
	void (*one)(const char *tid, void *arg);
	void *arg;
	char *buf;
	size_t size;
	char last[12]; /* size: a number */
	int err;
};

static void thread(const char *name, void *arg)
{
	struct threads *t = arg;

	if (name[0] == '.')
		return;
	if (strlen(name) < sizeof(t->last))
		memcpy(t->last, name, strlen(name) + 1);
	t->one(name, t->arg);
}

/* The kernel stops where the thread that it has come to has ended. */
static bool is_cut(const struct threads *t)
{
	char state;

	fm_proc_thread_stat(t->last, PARENT, &state);
	return !state;
}

static void read_threads(void *arg)
{
	struct threads *t = arg;
	int dir = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);

	t->err = dir;
	if (dir < 0)
		return;
	t->err = fm_each_entry(dir, t->buf, t->size, thread, t);
	fm_sys_close(dir);
	if (!t->err && is_cut(t))
		t->err = -EAGAIN;
}

int fm_each_thread(char *buf, size_t size,
		   void (*one)(const char *tid, void *arg), void *arg)
{
	struct threads t = { one, arg, buf, size, "", 0 };

	fm_apart_from_fds(read_threads, &t);
	return t.err;
}

/* "pid (name) S ppid ...": a name may hold whatever it likes. */
FM_FAULT uint64_t fm_proc_stat(const char *path, int field, char *ret_state)
{
	char text[1024];
	int fd = fm_sys_open(path, O_RDONLY, 0);
	long n = 0, at;
	uint64_t v = 0;

	if (fd >= 0) {
		n = fm_sys3(SYS_read, fd, text, sizeof(text));
		fm_sys_close(fd);
	}
	for (at = n; at > 0 && text[at - 1] != ')'; at--)
		;
	*ret_state = at > 0 && at + 1 < n ? text[at + 1] : 0;
	for (field -= 2; at > 0 && at < n && field; at++)
		field -= text[at] == ' ';
	for (; at > 0 && at < n && text[at] >= '0' && text[at] <= '9'; at++)
		v = v * 10 + (uint64_t)(text[at] - '0');
	return v;
}

#define FLAGS 9 /* ABI: in a thread's stat */
#define ENDS 0x4 /* PF_EXITING */
#define IO_WORKER 0x10 /* PF_IO_WORKER, Linux 5.12 */

uint64_t fm_proc_thread_stat(const char *tid, int field, char *ret_state)
{
	char path[64];

	*ret_state = 0;
	return thread_path(path, tid, "/stat") ?
		       0 : fm_proc_stat(path, field, ret_state);
}

bool fm_proc_thread_waits(const char *tid)
{
	char state;

	fm_proc_thread_stat(tid, PARENT, &state);
	return state == 'D';
}

bool fm_proc_is_worker(const char *tid, char *ret_state)
{
	return fm_proc_thread_stat(tid, FLAGS, ret_state) & IO_WORKER;
}

bool fm_proc_thread_goes_on(const char *tid, bool *ret_worker)
{
	char state;
	const uint64_t flags = fm_proc_thread_stat(tid, FLAGS, &state);

	*ret_worker = flags & IO_WORKER;
	return state && state != 'Z' && state != 'X' && !(flags & ENDS);
}
