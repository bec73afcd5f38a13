/* SPDX-License-Identifier: MIT */
/*
 * args.c - exec and spawn read their strings in kernel mode, or in a child
 * with every signal blocked: a page that is not resident means EFAULT or
 * death. Strings in managed memory are copied out first, in user mode, where
 * faults are served; more of them than a thread may pin is no problem so.
 */
#include "shim.h"

#include <string.h>

#include "args.h"

static bool managed(const void *p)
{
	return fm_overlaps(p, 1);
}

static size_t count(char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return n;
}

static bool vector_managed(char *const *v)
{
	if (!v)
		return false;
	if (managed(v))
		return true;
	for (; *v; v++)
		if (managed(*v))
			return true;
	return false;
}

static size_t vector_size(char *const *v)
{
	size_t size = (count(v) + 1) * sizeof(*v);

	for (; v && *v; v++)
		size += strlen(*v) + 1;
	return size;
}

static char *put_string(char **at, const char *s)
{
	size_t n = strlen(s) + 1;
	char *ret = memcpy(*at, s, n);

	*at += n;
	return ret;
}

static char *const *put_vector(char ***slots, char **at, char *const *v)
{
	char **ret = *slots;

	if (!v)
		return NULL;
	for (; *v; v++)
		*(*slots)++ = put_string(at, *v);
	*(*slots)++ = NULL;
	return ret;
}

int fm_args_copy(struct fm_args *a)
{
	char **slots, *at;
	size_t pointers;

	a->copy = NULL;
	if (!fm_active() ||
	    !((a->path && managed(a->path)) || vector_managed(a->argv) ||
	      vector_managed(a->envp)))
		return 0;
	pointers = (count(a->argv) + count(a->envp) + 2) * sizeof(char *);
	a->copy_len = vector_size(a->argv) + vector_size(a->envp) +
		      (a->path ? strlen(a->path) + 1 : 0);
	a->copy = fm_sys_anon(a->copy_len);
	if (!a->copy)
		return -ENOMEM;
	slots = a->copy;
	at = (char *)a->copy + pointers;
	a->argv = put_vector(&slots, &at, a->argv);
	a->envp = put_vector(&slots, &at, a->envp);
	if (a->path)
		a->path = put_string(&at, a->path);
	return 0;
}

void fm_args_free(struct fm_args *a)
{
	if (a->copy)
		fm_sys_munmap(a->copy, a->copy_len);
}
