/* SPDX-License-Identifier: MIT */
#include "same.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (1 << 20)

static unsigned char buffer[BUFFER];

static int same_fail(const char *path)
{
	fprintf(stderr, "fastmap: %s: %m\n", path);
	return -1;
}

static int sum_of(int fd, char *ret)
{
	MD5_CTX m;
	ssize_t n;

	MD5Init(&m);
	while ((n = read(fd, buffer, BUFFER)) > 0)
		MD5Update(&m, buffer, (size_t)n);
	MD5End(&m, ret);
	return n < 0 ? -1 : 0;
}

int same_look(struct same *s)
{
	int r, fd = open(s->path, O_RDONLY | O_CLOEXEC);

	*s->now = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : same_fail(s->path);
	r = sum_of(fd, s->now);
	close(fd);
	return r ? same_fail(s->path) : 0;
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while ((n = read(from, buffer, BUFFER)) > 0)
		for (ssize_t at = 0, w; at < n; at += w) {
			w = write(to, buffer + at, (size_t)(n - at));
			if (w <= 0)
				return -1;
		}
	return n < 0 ? -1 : 0;
}

/* `how`: O_EXCL for one that is new, O_TRUNC into the same inode, where it is
 * there. */
static int same_copy(const char *from, const char *to, int how, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), r;
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | how, mode);

	if (in < 0 || out < 0)
		r = -1;
	else
		r = copy_bytes(in, out);
	if (out >= 0 && close(out))
		r = -1;
	if (in >= 0)
		close(in);
	return r ? same_fail(in < 0 ? from : to) : 0;
}

int same_keep(struct same *s)
{
	struct stat st;

	if (same_look(s))
		return -1;
	memcpy(s->before, s->now, MD5_DIGEST_STRING_LENGTH);
	if (!*s->now)
		return 0;
	if (stat(s->path, &st))
		return same_fail(s->path);
	if (!S_ISREG(st.st_mode)) {
		fprintf(stderr, "fastmap: --same %s: not a file\n", s->path);
		return -1;
	}
	if (asprintf(&s->copy, "%s.fastmap-compare.%d", s->path,
		     (int)getpid()) < 0)
		return same_fail(s->path);
	return same_copy(s->path, s->copy, O_EXCL, 0600);
}

int same_put_back(struct same *s)
{
	if (!strcmp(s->before, s->now))
		return 0;
	memcpy(s->now, s->before, MD5_DIGEST_STRING_LENGTH);
	if (s->copy)
		return same_copy(s->copy, s->path, O_TRUNC, 0644);
	return unlink(s->path) && errno != ENOENT ? same_fail(s->path) : 0;
}

void same_end(struct same *s)
{
	if (s->copy)
		unlink(s->copy);
	free(s->copy);
	s->copy = NULL;
}
