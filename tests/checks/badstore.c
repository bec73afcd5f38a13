/* SPDX-License-Identifier: MIT */
/* badstore.c - a store that does not keep to what fastmap-store.h says, as its
 * argument asks for. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fastmap-store.h"

#define SIZE 1048576
#define BAD 409600 /* from here on */

static const char *what;
static atomic_int under_way;

static void *bad_open(const char *arguments)
{
	what = arguments;
	errno = strcmp(what, "silent") ? EACCES : 0;
	return strcmp(what, "closed") && strcmp(what, "silent") ? &what : NULL;
}

static int64_t bad_size(void *handle)
{
	(void)handle;
	errno = strcmp(what, "unsized") ? ENXIO : 0;
	if (!strcmp(what, "huge"))
		return INT64_MAX;
	return strcmp(what, "sizeless") && strcmp(what, "unsized") ? SIZE : -1;
}

/* "closes/PATH": a file that says how many reads there were meanwhile. */
static void bad_close(void *handle)
{
	FILE *f = handle == &what && !strncmp(what, "closes", 6) ?
			  fopen(what + 6, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "closed with %d\n", under_way);
	fclose(f);
}

/* Each page has bytes of its own. */
static int bad_late(char *buf, size_t n, uint64_t off)
{
	static atomic_uint turn;

	usleep(turn++ * 2654435761u >> 20);
	for (size_t k = 0; k < n; k++)
		buf[k] = (char)((off + k) / 4096 * 37 % 251 + 1);
	return 0;
}

static int bad_pread(void *handle, void *buf, size_t n, uint64_t off)
{
	(void)handle;
	if (!strncmp(what, "closes", 6)) {
		under_way++;
		usleep(1000);
		memset(buf, 7, n);
		under_way--;
		return 0;
	}
	if (!strcmp(what, "late"))
		return bad_late(buf, n, off);
	if (!strcmp(what, "hangs"))
		pause();
	if (!strcmp(what, "hangs later") && off + n > BAD)
		pause();
	memset(buf, 7, n);
	if (off + n <= BAD)
		return 0;
	if (!strcmp(what, "crash"))
		abort();
	if (!strcmp(what, "end"))
		_exit(0);
	errno = strncmp(what, "errno", 5) ? EILSEQ : atoi(what + 5);
	return -1;
}

const struct fastmap_store *fastmap_store_init(void)
{
	static struct fastmap_store store = {
		.size = sizeof(store), .version = FASTMAP_STORE_VERSION,
		.open = bad_open, .get_size = bad_size, .pread = bad_pread,
		.close = bad_close, .parallel = 1,
	};

	if (getenv("BADSTORE_VERSION"))
		store.version = atoi(getenv("BADSTORE_VERSION"));
	return &store;
}
