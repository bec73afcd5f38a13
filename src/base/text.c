/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdbool.h>
#include <string.h>

#include "apart.h"
#include "proc.h"
#include "sys.h"
#include "thread.h"

#define CHUNK ((size_t)64 << 10) /* size: bytes */

/* At the beginning of each map. */
struct fm_arena_map {
	struct fm_arena_map *next;
	size_t bytes;
};

static bool arena_grow(struct fm_arena *a, size_t n)
{
	const size_t all = n + sizeof(*a->maps);
	const size_t bytes = all > CHUNK ? (all + 4095) & ~(size_t)4095 : CHUNK;
	struct fm_arena_map *m = fm_sys_anon(bytes);

	if (!m)
		return false;
	*m = (struct fm_arena_map){ a->maps, bytes };
	a->maps = m;
	a->at = (char *)(m + 1);
	a->left = bytes - sizeof(*m);
	return true;
}

void fm_arena_drop(struct fm_arena *a)
{
	struct fm_arena_map *m = a->maps, *next;

	for (; m; m = next) {
		next = m->next;
		fm_sys_munmap(m, m->bytes);
	}
	*a = (struct fm_arena){ NULL, 0, NULL };
}

void *fm_arena_get(struct fm_arena *a, size_t n)
{
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (n > a->left && !arena_grow(a, n))
		return NULL;
	p = a->at;
	a->at += n;
	a->left -= n;
	return p;
}

char *fm_arena_text(struct fm_arena *a, const char *s, size_t n)
{
	char *p = fm_arena_get(a, n + 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

static _Thread_local struct fm_kept_files *kept;

bool fm_read_keep(struct fm_kept_files *k)
{
	k->n = 0; /* not what the thread of the process before a fork had */
	if (!fm_thread_fds_leave_for_good())
		return false;
	kept = k;
	return true;
}

static void text_forget(struct fm_kept_files *k, unsigned i)
{
	if (k->file[i].fd >= 0)
		fm_sys_close(k->file[i].fd);
	k->file[i] = k->file[--k->n];
}

void fm_read_retry(struct fm_kept_files *k)
{
	for (unsigned i = k->n; i-- > 0;)
		if (k->file[i].fd < 0)
			text_forget(k, i);
}

static unsigned kept_at(const struct fm_kept_files *k, const char *path)
{
	unsigned i = 0;

	while (i < k->n && strcmp(k->file[i].path, path))
		i++;
	return i;
}

/* The number, or why there is none; from now on, if there is room for it. */
static int keep_open(struct fm_kept_files *k, const char *path,
		     bool *ret_kept)
{
	unsigned i = kept_at(k, path);
	size_t n = strlen(path) + 1;
	int fd;

	*ret_kept = true;
	if (i < k->n)
		return k->file[i].fd;
	fd = fm_sys_open(path, O_RDONLY, 0);
	*ret_kept = k->n < FM_KEPT_FILES && n <= sizeof(k->file->path);
	if (*ret_kept) {
		memcpy(k->file[i].path, path, n);
		k->file[i].fd = fd;
		k->n++;
	}
	return fd;
}

static long read_kept(const char *path, char *buf, size_t size)
{
	bool keeps;
	int fd = keep_open(kept, path, &keeps);
	long n;

	if (fd < 0)
		return fd;
	n = fm_sys_read_all(fd, buf, size);
	if (!keeps)
		fm_sys_close(fd);
	else if (n < 0) /* gone: its group has been removed */
		text_forget(kept, kept_at(kept, path));
	return n;
}

struct small {
	const char *path;
	char *buf;
	size_t size;
	long n;
};

static void read_small(void *arg)
{
	struct small *s = arg;
	int fd = fm_sys_open(s->path, O_RDONLY, 0);

	s->n = fd < 0 ? fd : fm_sys_read_all(fd, s->buf, s->size);
	if (fd >= 0)
		fm_sys_close(fd);
}

long fm_read_small(const char *path, char *buf, size_t size)
{
	struct small s = { path, buf, size - 1, 0 };

	if (kept)
		s.n = read_kept(path, buf, size - 1);
	else
		fm_apart_from_fds(read_small, &s);
	if (s.n >= 0)
		buf[s.n] = 0;
	return s.n;
}

void fm_read_lines(int fd, char *buf, size_t size,
		   bool (*each)(const char *line, void *arg), void *arg)
{
	size_t have = 0;
	long n;

	while ((n = fm_sys3(SYS_read, fd, buf + have, size - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = 0;
		while ((end = strchr(line, '\n')) != NULL) {
			*end = 0;
			if (each(line, arg))
				return;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == size - 1)
			have = 0;
	}
}

static int read_regular(struct fm_arena *a, int fd, char **ret)
{
	struct stat st;
	char *text;
	long n;
	int r = fm_sys_fstat(fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (st.st_size > (off_t)FM_TEXT_MAX)
		return -EFBIG;
	text = fm_arena_get(a, (size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = fm_sys_read_all(fd, text, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	*ret = text;
	return 0;
}

struct text {
	struct fm_arena *arena;
	const char *path;
	char **ret;
	int err;
};

/* O_NONBLOCK: a FIFO must not stop the program at its start. */
static void read_text(void *arg)
{
	struct text *t = arg;
	int fd = fm_sys_open(t->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	t->err = fd < 0 ? fd : read_regular(t->arena, fd, t->ret);
	if (fd >= 0)
		fm_sys_close(fd);
}

int fm_read_text(struct fm_arena *a, const char *path, char **ret)
{
	struct text t = { a, path, ret, 0 };

	fm_apart_from_fds(read_text, &t);
	return t.err;
}

bool fm_exists(const char *path)
{
	return fm_sys4(SYS_faccessat, AT_FDCWD, path, 0 /* F_OK */, 0) == 0;
}

int fm_join(char *buf, size_t size, const char *a, const char *b,
	    const char *c)
{
	const char *part[] = { a, b, c };
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(part[i]);

		if (n >= size - at)
			return -1;
		memcpy(buf + at, part[i], n + 1);
		at += n;
	}
	return 0;
}

void fm_number_text(char *buf, unsigned v)
{
	char digits[12];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*buf++ = digits[--n];
	*buf = 0;
}

const char *fm_number(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return NULL;
	*ret = v;
	return s;
}

int fm_expand_pid(const char *pattern, int pid, char *buf, size_t size,
		  bool *ret_had)
{
	char digits[12];
	size_t n = 0, len;

	fm_number_text(digits, (unsigned)pid);
	len = strlen(digits);
	*ret_had = false;
	for (; *pattern; pattern++) {
		bool here = pattern[0] == '%' && pattern[1] == 'p';
		size_t more = here ? len : 1;

		if (more >= size - n)
			return -1;
		memcpy(buf + n, here ? digits : pattern, more);
		n += more;
		pattern += here;
		*ret_had |= here;
	}
	buf[n] = 0;
	return 0;
}

/* What the kernel calls an existing path. */
/* /proc/self/fd is the first thread's table. */
static void read_path(void *arg)
{
	static const char dir[] = "/proc/thread-self/fd/";
	struct small *s = arg;
	char link[sizeof(dir) + 12];
	int fd = fm_sys_open(s->path, O_PATH, 0);

	s->n = fd;
	if (fd < 0)
		return;
	memcpy(link, dir, sizeof(dir));
	fm_number_text(link + sizeof(dir) - 1, (unsigned)fd);
	s->n = fm_sys_readlink(link, s->buf, s->size);
	fm_sys_close(fd);
}

/* A path that the kernel has no other name for, each part of which is there and
 * no link: nothing has to be asked in /proc, which makes a folder for each
 * process that looks. */
static bool is_real(const char *path, char *buf, size_t size)
{
	size_t n = 0;
	char c;

	if (*path != '/' || strlen(path) >= size)
		return false;
	do {
		const char *name = path + n + 1;
		const size_t len = strcspn(name, "/");

		if (!len || (len <= 2 && !strncmp(name, "..", len)))
			return false;
		n += 1 + len;
		memcpy(buf, path, n);
		buf[n] = 0;
		if (fm_sys_readlink(buf, &c, 1) != -EINVAL)
			return false;
	} while (path[n]);
	return true;
}

static int real_path(const char *path, char *buf, size_t size)
{
	struct small s = { path, buf, size - 1, 0 };

	if (is_real(path, buf, size))
		return 0;
	fm_apart_from_fds(read_path, &s);
	if (s.n < 0)
		return (int)s.n;
	if (s.n == (long)size - 1)
		return -ENAMETOOLONG;
	buf[s.n] = 0;
	return 0;
}

static int append_component(char *buf, size_t size, const char *s, size_t n)
{
	size_t at = strlen(buf);

	if (at && buf[at - 1] == '/')
		at--;
	if (at + n + 2 > size)
		return -ENAMETOOLONG;
	buf[at] = '/';
	memcpy(buf + at + 1, s, n);
	buf[at + 1 + n] = 0;
	return 0;
}

int fm_resolve(const char *path, char *buf, size_t size)
{
	char head[4096];
	size_t n = strlen(path), cut = n;
	int r;

	if (n >= sizeof(head) || !n)
		return n ? -ENAMETOOLONG : -EINVAL;
	memcpy(head, path, n + 1);
	/* Shorten until something exists. */
	while ((r = real_path(cut ? head : path[0] == '/' ? "/" : ".", buf,
			      size)) == -ENOENT && cut) {
		while (cut && path[cut - 1] == '/')
			cut--;
		while (cut && path[cut - 1] != '/')
			cut--;
		head[cut] = 0;
	}
	for (const char *p = path + cut; r == 0 && *p;) {
		size_t len = strcspn(p, "/");

		if (len)
			r = append_component(buf, size, p, len);
		p += len + strspn(p + len, "/");
	}
	return r;
}
