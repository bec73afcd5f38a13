/* SPDX-License-Identifier: MIT */
/* io_bounce.c - small objects and paths in managed memory are replaced by
 * copies. */
#include "guard.h"

#include <limits.h>

/* entry.S: returns how much is left where memory could not be used. */
size_t fm_copy_try(void *to, const void *from, size_t n);

void *fm_object(struct fm_object *b, const void *user, size_t len, int how)
{
	b->user = (void *)(uintptr_t)user;
	b->len = len;
	b->mem = b->user;
	if (!user || !len || !fm_data_in(user, len) ||
	    fm_usable(user, len, how & FM_COPY_OUT) < len)
		return b->mem;
	b->mem = len <= sizeof(b->small) ? b->small : fm_sys_anon(len);
	if (!b->mem)
		b->mem = b->user;
	/* what the call fills, too: it may leave bytes between alone */
	else if (fm_copy_try(b->mem, user, len)) {
		fm_object_end(b, 0);
		b->mem = b->user;
	}
	return b->mem;
}

bool fm_object_end(struct fm_object *b, size_t len)
{
	bool done;

	if (b->mem == b->user)
		return true;
	done = !len || fm_user_write(b->user, b->mem, fm_least(len, b->len));
	if (b->mem != b->small)
		fm_sys_munmap(b->mem, b->len);
	return done;
}

const char *fm_path(const char *path, char *copy)
{
	size_t n = 0;

	if (!fm_data_in(path, 1))
		return path;
	while (n <= PATH_MAX) {
		size_t step = 4096 - ((uintptr_t)(path + n) & 4095);

		step = fm_least(step, PATH_MAX + 1 - n);
		step = fm_usable(path + n, step, false);
		if (!step)
			return path; /* beyond the end of file: EFAULT */
		for (; step; step--, n++)
			if (!(copy[n] = path[n]))
				return copy;
	}
	copy[n] = 0; /* too long, and so it stays: ENAMETOOLONG */
	return copy;
}
