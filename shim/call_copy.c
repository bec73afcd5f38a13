/* SPDX-License-Identifier: MIT */
/* call_copy.c - see call_copy.h. call_sizes.c has what depends on commands. */
#include "call_table.h"

#include <string.h>

#define CALL(name, ...) [__NR_##name] = { { __VA_ARGS__ } },
#define NONE(name)
#define SEEN(name)
#define FORKS(name)
#define LEFT(name, why)
#define OWN(name, where)
const struct fm_call fm_calls[FM_ROWS] = {
#include "calls.def"
};

/* call_sizes.c */
size_t fm_ptr_by(enum fm_ptr_by which, const long v[6], unsigned *how);

/* A pointer that has been replaced, and what was there. */
struct object {
	char *user, *mem, *was;
	size_t len;
	size_t apart; /* bytes of a mapping of its own, or 0 */
	size_t unit;  /* filled by so many for each that the result counts */
	bool whole;   /* filled from end to end by a call that succeeds */
};

struct copies {
	int n;
	size_t used;
	struct object at[2 * FM_PTRS];
	char room[2 * FM_PATH_BUF + 512] __attribute__((aligned(16)));
};

/* ---- how long ---------------------------------------------------------- */

static size_t product(size_t n, size_t unit)
{
	size_t all;

	return __builtin_mul_overflow(n, unit, &all) ? 0 : all;
}

static size_t int_at(long p, size_t at)
{
	int n = 0;

	return p && fm_user_read(&n, (const char *)p + at, sizeof(n)) && n > 0
		       ? (size_t)n : 0;
}

static size_t sized(const struct fm_ptr *p, const long v[6])
{
	size_t n = p->size + int_at(v[p->arg], p->n);

	return n > 65536 ? 0 : n < p->least ? p->least : n;
}

static size_t length(const struct fm_ptr *p, const long v[6], unsigned *how)
{
	const long n = v[p->n < 6 ? p->n : 0];

	*how = p->how;
	switch ((enum fm_ptr_kind)p->kind) {
	case FM_PTR_FIXED:
		return p->size;
	case FM_PTR_COUNT:
		return product((size_t)n, p->size);
	case FM_PTR_INTS:
		return (int)n > 0 ? product((size_t)(int)n, p->size) : 0;
	case FM_PTR_BITS:
		return (int)n > p->size ?
			       ((size_t)(int)n - p->size + 63) / 64 * 8 : 0;
	case FM_PTR_UPTO:
		return fm_usable((const void *)v[p->arg], p->size, false);
	case FM_PTR_BY:
		return fm_ptr_by((enum fm_ptr_by)p->n, v, how);
	default:
		return 0;
	}
}

static size_t call_copy_first_look(const struct fm_ptr *p, const long v[6])
{
	unsigned how;

	return p->kind == FM_PTR_FIXED || p->kind == FM_PTR_COUNT ||
			       p->kind == FM_PTR_INTS ||
			       p->kind == FM_PTR_BITS ?
		       length(p, v, &how) : 1;
}

/* A pointer in the object at `in`, of which len bytes are there, and how many
 * bytes it points to. */
struct inner {
	long at;
	uint64_t len;
};

static bool read_inner(const struct fm_ptr *p, const char *in, size_t len,
		       struct inner *ret)
{
	*ret = (struct inner){ 0 };
	return in && p->size + sizeof(ret->at) <= len &&
	       p->n + p->least <= len &&
	       fm_user_read(&ret->at, in + p->size, sizeof(ret->at)) &&
	       fm_user_read(&ret->len, in + p->n, p->least) && ret->at;
}

static bool inner_touches(const struct fm_ptr *p, const long v[6])
{
	const char *in = (const char *)v[p->arg];
	struct inner i;

	return read_inner(p, in, SIZE_MAX, &i) && i.len &&
	       fm_data_in((const void *)i.at, i.len);
}

static bool touches(const struct fm_ptr *p, const long v[6])
{
	const size_t n = v[p->arg] ? call_copy_first_look(p, v) : 0;

	if (p->kind == FM_PTR_INNER)
		return inner_touches(p, v);
	return (n && fm_data_in((const void *)v[p->arg], n)) ||
	       (p->kind == FM_PTR_REPLY && v[p->n] &&
		fm_data_in((const void *)v[p->n], sizeof(int)));
}

bool fm_call_touches(const struct fm_call *w, const long v[6])
{
	const struct fm_ptr *p;

	for (p = w->at; p->kind; p++)
		if (touches(p, v))
			return true;
	return false;
}

/* ---- copies ------------------------------------------------------------ */

/* Where another thread changes what says how long it is, the kernel may see
 * more. */
#define SLACK 32

static char *call_copy_room_for(struct copies *c, size_t len, size_t *ret_apart)
{
	char *p = c->room + c->used;

	len += SLACK;
	*ret_apart = len > sizeof(c->room) - c->used ? len : 0;
	if (*ret_apart)
		return fm_sys_anon(len);
	c->used += (len + 15) & ~(size_t)15;
	return p;
}

static struct object *object_new(struct copies *c, long user, size_t len,
				 bool out)
{
	struct object o = { .user = (char *)user, .len = len };

	o.mem = call_copy_room_for(c, out ? 2 * len : len, &o.apart);
	if (!o.mem)
		return NULL;
	if (out) {
		o.was = o.mem;
		o.mem += len;
	}
	c->at[c->n] = o;
	return &c->at[c->n++];
}

/* ANY: also what is not managed, for what is in it. */
enum { ANY = 128 };

static void copy_object(struct copies *c, long *slot, size_t len, unsigned how)
{
	const bool out = how & FM_COPY_OUT;
	void *user = (void *)*slot;
	struct object *o;

	if (!len || !(how & ANY || fm_data_in(user, len)) ||
	    fm_usable(user, len, out) < len)
		return; /* EFAULT, should the kernel look at it */
	o = object_new(c, *slot, len, out);
	if (!o)
		return;
	/* what the call fills, too: it may leave bytes between alone */
	if (!fm_user_read(o->mem, user, len)) {
		o->len = 0;
		return;
	}
	if (out)
		memcpy(o->was, o->mem, len);
	o->whole = how & FM_COPY_WHOLE;
	*slot = (long)o->mem;
}

/* In the last object, if that is a copy. */
static void copy_inner(struct copies *c, const struct fm_ptr *p)
{
	const struct object *in = &c->at[c->n - 1];
	struct inner i;

	if (read_inner(p, in->mem, in->len, &i))
		copy_object(c, (long *)(void *)(in->mem + p->size), i.len,
			    p->how);
}

static void copy_filled(struct copies *c, long *slot)
{
	ssize_t n = fm_user_strnlen((char *)*slot, PATH_MAX);

	copy_object(c, slot, n < 0 ? 0 : (size_t)n + 1, BOTH);
}

static void copy_string(struct copies *c, long *slot)
{
	struct object *o;
	const char *copy;

	if (!fm_data_in((char *)*slot, 1))
		return;
	o = object_new(c, *slot, FM_PATH_BUF, false);
	if (!o)
		return;
	copy = fm_path((char *)*slot, o->mem);
	if (copy == o->mem && !o->apart)
		c->used -= (FM_PATH_BUF - strlen(copy) - 1) & ~(size_t)15;
	*slot = (long)copy;
}

/* The length is read once, or the kernel might fill more than there is. */
static void copy_reply(struct copies *c, const struct fm_ptr *p, long v[6])
{
	struct object *o;
	int n;

	if (!v[p->n] || !fm_user_read(&n, (void *)v[p->n], sizeof(n)))
		return;
	copy_object(c, &v[p->arg], n > 0 ? (size_t)n : 0, FM_COPY_OUT);
	o = object_new(c, v[p->n], sizeof(n), true);
	if (!o)
		return;
	memcpy(o->was, &n, sizeof(n));
	memcpy(o->mem, &n, sizeof(n));
	o->whole = true;
	v[p->n] = (long)o->mem;
}

static void copy_sized(struct copies *c, const struct fm_ptr *p, long v[6])
{
	const long user = v[p->arg];
	const size_t len = sized(p, v);

	copy_object(c, &v[p->arg], len, p->how);
	if (v[p->arg] == user || sized(p, v) <= len)
		return;
	c->at[c->n - 1].len = 0; /* it has changed meanwhile */
	v[p->arg] = user;
}

static void copy_one(struct copies *c, const struct fm_ptr *p, long v[6])
{
	const long user = v[p->arg];
	unsigned how;
	size_t len;

	switch ((enum fm_ptr_kind)p->kind) {
	case FM_PTR_STRING:
		if (p->how & FM_COPY_OUT)
			copy_filled(c, &v[p->arg]);
		else
			copy_string(c, &v[p->arg]);
		return;
	case FM_PTR_REPLY:
		copy_reply(c, p, v);
		return;
	case FM_PTR_SIZED:
		copy_sized(c, p, v);
		return;
	default:
		len = length(p, v, &how);
		if (p[1].kind == FM_PTR_INNER)
			how |= ANY;
		copy_object(c, &v[p->arg], len, how);
		if (p[1].kind == FM_PTR_INNER && v[p->arg] != user)
			copy_inner(c, p + 1);
		if (how == FM_COPY_OUT && v[p->arg] != user &&
		    (p->kind == FM_PTR_COUNT || p->kind == FM_PTR_INTS))
			c->at[c->n - 1].unit = p->size;
	}
}

static void copy_all(struct copies *c, const struct fm_call *w, long v[6])
{
	const struct fm_ptr *p;

	for (p = w->at; p->kind; p++)
		if (v[p->arg] && p->kind != FM_PTR_INNER)
			copy_one(c, p, v);
}

/* What the kernel has stored, whatever the result; and what that counts, or
 * memory that may not be stored to would pass where nothing changes. */
static bool store_changes(const struct object *o, long r)
{
	const size_t n = (int)r > 0 ? (size_t)(int)r : 0;
	size_t a = 0, b = o->len, all = product(n, o->unit);

	if (!o->was)
		return true;
	while (a < b && o->mem[a] == o->was[a])
		a++;
	while (b > a && o->mem[b - 1] == o->was[b - 1])
		b--;
	if (o->whole && (int)r >= 0) {
		a = 0;
		b = o->len;
	} else if (all) {
		a = 0;
		b = b < all ? fm_least(all, o->len) : b;
	}
	return a >= b || fm_user_write(o->user + a, o->mem + a, b - a);
}

static bool copies_end(struct copies *c, long r)
{
	bool stored = true;

	for (struct object *o = c->at; o < c->at + c->n; o++) {
		stored &= store_changes(o, r);
		if (o->apart)
			fm_sys_munmap(o->was ? o->was : o->mem, o->apart);
	}
	return stored;
}

/* ---- calls ------------------------------------------------------------- */

long fm_call_made(fm_call_fn *next, long nr, const long v[6])
{
	return next ? next(v[0], v[1], v[2], v[3], v[4], v[5]) :
		      fm_result(fm_sys6(nr, v[0], v[1], v[2], v[3], v[4],
					v[5]));
}

long fm_call_copied(const struct fm_call *w, fm_call_fn *next, long nr,
		    long v[6])
{
	struct copies c;
	long r;

	c.n = 0;
	c.used = 0;
	copy_all(&c, w, v);
	r = fm_call_made(next, nr, v);
	return copies_end(&c, r) ? r : fm_result(-EFAULT);
}

long fm_call_next(long nr, fm_call_fn *next, long a, long b, long c, long d)
{
	long v[6] = { a, b, c, d, 0, 0 };

	return fm_looks() && fm_call_touches(&fm_calls[nr], v) ?
		       fm_call_copied(&fm_calls[nr], next, nr, v) :
		       fm_call_made(next, nr, v);
}

/* Said to exist in syscall.c. -2: nothing of ours is in it. */
long fm_syscall_object(long nr, long a, long b, long c, long d, long e, long f);
long fm_syscall_object(long nr, long a, long b, long c, long d, long e, long f)
{
	long v[6] = { a, b, c, d, e, f };

	return fm_looks() && fm_call_touches(&fm_calls[nr], v) ?
		       fm_call_copied(&fm_calls[nr], NULL, nr, v) : -2;
}
