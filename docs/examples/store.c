/* SPDX-License-Identifier: MIT */
/*
 * store.c - a store of one's own: a file whose bytes are masked shows them.
 *
 *	cc -shared -fPIC -o unmask.so store.c
 *
 *	[path /data/plain]
 *	source = plugin:/usr/local/lib/unmask.so?/data/masked
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fastmap-store.h>

#define MASK 0x5a

static void *unmask_open(const char *path)
{
	int *fd = malloc(sizeof(*fd));

	if (fd)
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd && *fd >= 0)
		return fd;
	free(fd);
	return NULL;
}

static int64_t unmask_size(void *handle)
{
	struct stat st;

	return fstat(*(int *)handle, &st) ? -1 : st.st_size;
}

static int unmask_pread(void *handle, void *buf, size_t n, uint64_t off)
{
	unsigned char *b = buf;
	ssize_t got;

	for (size_t at = 0; at < n; at += (size_t)got) {
		got = pread(*(int *)handle, b + at, n - at, (off_t)(off + at));
		if (!got)
			errno = EIO; /* it has become shorter */
		if (got <= 0)
			return -1;
	}
	while (n--)
		b[n] ^= MASK;
	return 0;
}

static void unmask_close(void *handle)
{
	close(*(int *)handle);
	free(handle);
}

const struct fastmap_store *fastmap_store_init(void)
{
	static const struct fastmap_store store = {
		.size = sizeof(store), .version = FASTMAP_STORE_VERSION,
		.open = unmask_open, .get_size = unmask_size,
		.pread = unmask_pread, .close = unmask_close, .parallel = 1,
	};

	return &store;
}
