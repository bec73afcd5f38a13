/* SPDX-License-Identifier: MIT */
/*
 * args.c - exec and spawn read their strings in kernel mode, or in a child
 * with every signal blocked: a page that is not resident means EFAULT or
 * death. Strings in managed memory are copied out first, in user mode, where
 * faults are served; more of them than a thread may pin is no problem so.
 */
#include "shim.h"

#include "args.h"

static bool args_managed(const void *p)
{
	return p && fm_data_in(p, 1);
}

/* An array of strings, read some at a time. What cannot be read is the kernel's
 * to refuse. */
struct walk {
	char *const *at;
	char *some[32];
	size_t n, next;
};

/* The next string, or NULL at the end. False: EFAULT. */
static bool next_string(struct walk *w, char **ret)
{
	if (w->next == w->n) {
		size_t n = (4096 - ((uintptr_t)w->at & 4095)) / sizeof(*w->at);

		n = fm_least(n ? n : 1, sizeof(w->some) / sizeof(*w->some));
		if (!fm_user_read(w->some, w->at, n * sizeof(*w->at)))
			return false;
		w->at += n;
		w->n = n;
		w->next = 0;
	}
	*ret = w->some[w->next++];
	return true;
}

/* How long a string that the kernel takes can be. */
#define STRING_MAX ((size_t)128 << 10)

/* What has to be copied. */
struct need {
	size_t pointers, bytes;
	bool any;
};

static bool need_string(struct need *need, const char *s)
{
	ssize_t n;

	if (!args_managed(s))
		return true;
	n = fm_user_strnlen(s, STRING_MAX);
	need->any = true;
	need->bytes += (size_t)n + 1;
	return n >= 0;
}

static bool need_vector(struct need *need, char *const *v)
{
	struct walk w = { .at = v };
	char *s;

	if (!v)
		return true;
	need->any |= args_managed(v);
	do {
		if (!next_string(&w, &s) || !need_string(need, s))
			return false;
		need->pointers++;
	} while (s);
	return true;
}

/* Where the copies go. */
struct room {
	char **slots, *at, *end;
};

static bool args_put_string(struct room *to, char **ret, char *s)
{
	ssize_t n;

	*ret = s;
	if (!args_managed(s))
		return true;
	n = fm_user_strnlen(s, (size_t)(to->end - to->at));
	if (n < 0 || !fm_user_read(to->at, s, (size_t)n))
		return false; /* it has grown */
	to->at[n] = 0;
	*ret = to->at;
	to->at += n + 1;
	return true;
}

static bool put_vector(struct room *to, const char *first, char *const **v)
{
	struct walk w = { .at = *v };
	char **ret = to->slots, *s;

	if (!*v)
		return true;
	do {
		if (!next_string(&w, &s) || (const char *)to->slots >= first ||
		    !args_put_string(to, to->slots, s))
			return false;
		to->slots++;
	} while (s);
	*v = ret;
	return true;
}

int fm_args_copy(struct fm_args *a)
{
	struct need need = { 0 };
	struct room to;
	char *path, *first;

	a->copy = NULL;
	if (!fm_looks() || !need_string(&need, a->path) ||
	    !need_vector(&need, a->argv) || !need_vector(&need, a->envp) ||
	    !need.any)
		return 0;
	a->copy_len = need.pointers * sizeof(char *) + need.bytes;
	a->copy = fm_sys_anon(a->copy_len);
	if (!a->copy)
		return -ENOMEM;
	first = (char *)a->copy + need.pointers * sizeof(char *);
	to = (struct room){ a->copy, first, first + need.bytes };
	if (args_put_string(&to, &path, (char *)(uintptr_t)a->path) &&
	    put_vector(&to, first, &a->argv) &&
	    put_vector(&to, first, &a->envp)) {
		a->path = path;
		return 0;
	}
	fm_args_free(a);
	return -EFAULT;
}

void fm_args_free(struct fm_args *a)
{
	if (a->copy)
		fm_sys_munmap(a->copy, a->copy_len);
}
