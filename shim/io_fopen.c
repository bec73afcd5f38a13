/* SPDX-License-Identifier: MIT */
/* io_fopen.c - streams that are opened: mode "w" truncates the file. */
#include "io_stdio.h"

#include <fcntl.h>
#include <pthread.h>

FM_NEXT(fopen)
FM_NEXT(freopen)

static bool truncates(const char *mode)
{
	return mode[0] == 'w';
}

/* Hold the whole file before it is emptied. False: nothing to hold. */
static bool hold_all(struct fm_change *c, const char *path, int *ret)
{
	if (!fm_change_path(c, AT_FDCWD, path))
		return false;
	fm_change_serial(c);
	*ret = fm_change_lock(c, 0, 0);
	return true;
}

FM_SLOW FILE *fopen_slow(const char *path, const char *mode)
{
	char copy[FM_PATH_BUF];
	struct fm_change c;
	FILE *fp = NULL;
	int r;

	pthread_testcancel();
	fm_tell();
	path = fm_path(path, copy);
	if (!truncates(mode) || !hold_all(&c, path, &r)) {
		fp = FM_LATE(fopen)(path, mode);
		fm_told(fp ? 0 : -1);
		return fp;
	}
	if (r == 0)
		fp = FM_LATE(fopen)(path, mode);
	fm_change_end(&c, fp != NULL, true);
	return fp;
}

FM_HOOK FILE *fopen(const char *path, const char *mode)
{
	FILE *fp;

	if (fm_active() && (truncates(mode) || fm_overlaps(path, 1)))
		return fopen_slow(path, mode);
	fp = FM_LATE(fopen)(path, mode);
	fm_told(fp ? 0 : -1);
	return fp;
}

/* Without a path: the same file again, in another mode. The old stream is
 * closed in any case, and what it holds goes to its own file first. */
FM_SLOW FILE *freopen_slow(const char *path, const char *mode, FILE *fp)
{
	char copy[FM_PATH_BUF], self[32];
	const char *target;
	struct fm_change c;
	FILE *ret = NULL;
	int r;

	pthread_testcancel();
	fm_stdio_flush(fp, true);
	if (path)
		path = target = fm_path(path, copy);
	else
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fp->_fileno),
			target = self;
	if (!truncates(mode) || !hold_all(&c, target, &r))
		return FM_LATE(freopen)(path, mode, fp);
	if (r == 0)
		ret = FM_LATE(freopen)(path, mode, fp);
	fm_change_end(&c, ret != NULL, true);
	return ret;
}

FM_HOOK FILE *freopen(const char *path, const char *mode, FILE *fp)
{
	if (fm_active())
		return freopen_slow(path, mode, fp);
	return FM_LATE(freopen)(path, mode, fp);
}

FM_ALIAS(fopen) FILE *fopen64(const char *path, const char *mode);
FM_ALIAS(freopen)
FILE *freopen64(const char *path, const char *mode, FILE *fp) __nonnull((3));
