/* SPDX-License-Identifier: MIT */
/* set.c - another value for a setting. */
#include <errno.h>
#include <string.h>

#include "api.h"
#include "engine.h"
#include "observe/observe.h"

#define KEY 64 /* size: longer than any key */
#define VALUE 4096 /* size: the longest path */

/* The text may be in a mapping: it is read before a lock is held. */
int fm_api_set(const char *key, const char *value)
{
	char k[KEY], v[VALUE];
	const size_t nk = strnlen(key, sizeof(k));
	const size_t nv = strnlen(value, sizeof(v));
	int err;

	if (nk == sizeof(k))
		return -ENOENT;
	if (nv == sizeof(v))
		return -EINVAL;
	memcpy(k, key, nk);
	memcpy(v, value, nv);
	k[nk] = v[nv] = 0;
	err = fm_settings_set(k, v);
	return err == -EDOM ? -EINVAL : err;
}
