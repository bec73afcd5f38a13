/* SPDX-License-Identifier: MIT */
/*
 * next.c - what is behind a hook: the next definition of its name in the search
 * order, as dlsym(RTLD_NEXT) finds it. Looked up when the hook is called first,
 * by reading the tables of the modules from ours up to libc. They are loaded
 * with the program and stay: no lock, no allocation, in any context, and no
 * public name: who defines strcmp may be asking us for it. (A process calls a
 * few of the names; dlsym of all of them took 200 us of each start.)
 */
#include "shim.h"

#include <dlfcn.h>
#include <link.h>

/* The version of a symbol that only a name with it finds. */
#define HIDDEN 0x8000 /* ABI: Elf64_Versym */

/* What has one symbol for a name. */
struct table {
	const struct link_map *m;
	const ElfW(Sym) *syms;
	const char *names;
	const uint16_t *versions;
	const uint32_t *gnu, *sysv;
};

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
/* The loader's. */
extern struct r_debug _r_debug __attribute__((weak));

static const struct link_map *_Atomic our_module;
static _Atomic bool next_begun;

/* Up to ours the list has only what was loaded with the program. */
const struct link_map *fm_module_ours(void)
{
	const struct link_map *m = atomic_load(&our_module);

	if (m || !&_r_debug)
		return m;
	for (m = _r_debug.r_map; m && m->l_ld != _DYNAMIC;)
		m = m->l_next;
	atomic_store(&our_module, m);
	return m;
}

/* The loader has made addresses of the distances, mostly. */
static const void *table_at(const struct link_map *m, const ElfW(Dyn) *d)
{
	ElfW(Addr) p = d->d_un.d_ptr;

	return (const void *)(p < m->l_addr ? p + m->l_addr : p);
}

static struct table table_of(const struct link_map *m)
{
	struct table t = { .m = m };

	for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t.syms = table_at(m, d);
		else if (d->d_tag == DT_STRTAB)
			t.names = table_at(m, d);
		else if (d->d_tag == DT_VERSYM)
			t.versions = table_at(m, d);
		else if (d->d_tag == DT_GNU_HASH)
			t.gnu = table_at(m, d);
		else if (d->d_tag == DT_HASH)
			t.sysv = table_at(m, d);
	}
	return t;
}

static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool fm_is_libc(const struct link_map *m)
{
	const char *base = m->l_name;

	for (const char *p = base; *p; p++)
		if (*p == '/')
			base = p + 1;
	return same_text(base, "libc.so.6");
}

static bool symbol_is(const struct table *t, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &t->syms[i];
	const unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       (type <= STT_FUNC || type == STT_GNU_IFUNC) &&
	       (!t->versions || !(t->versions[i] & HIDDEN)) &&
	       same_text(t->names + s->st_name, name);
}

/* 0: none. */
static uint32_t by_gnu_hash(const struct table *t, uint32_t hash,
			    const char *name)
{
	const uint32_t buckets = t->gnu[0], first = t->gnu[1],
		       words = t->gnu[2], shift = t->gnu[3];
	const uint64_t *bloom = (const uint64_t *)(const void *)(t->gnu + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words);
	const uint64_t w = bloom[hash / 64 % words];
	uint32_t i, h;

	if (!buckets || !(w >> hash % 64 & w >> (hash >> shift) % 64 & 1))
		return 0;
	i = bucket[hash % buckets];
	if (i < first)
		return 0;
	do {
		h = bucket[buckets + i - first];
		if (!((h ^ hash) >> 1) && symbol_is(t, i, name))
			return i;
		i++;
	} while (!(h & 1));
	return 0;
}

/* Hardly a library has only this table. */
static uint32_t one_by_one(const struct table *t, const char *name)
{
	for (uint32_t i = 1; t->sysv && i < t->sysv[1]; i++)
		if (symbol_is(t, i, name))
			return i;
	return 0;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

static void *in_module(const struct link_map *m, uint32_t hash,
		       const char *name)
{
	const struct table t = table_of(m);
	uint32_t i;
	void *p;

	if (!t.syms || !t.names)
		return NULL;
	i = t.gnu ? by_gnu_hash(&t, hash, name) : one_by_one(&t, name);
	if (!i)
		return NULL;
	p = (void *)(m->l_addr + t.syms[i].st_value);
	return ELF64_ST_TYPE(t.syms[i].st_info) == STT_GNU_IFUNC ?
		       ((void *(*)(void))(uintptr_t)p)() : p;
}

const struct link_map *fm_module_libc(void)
{
	const struct link_map *m = fm_module_ours();

	while (m && !fm_is_libc(m))
		m = m->l_next;
	return m;
}

void *fm_behind_us(const char *name)
{
	const struct link_map *m = fm_module_ours();
	const uint32_t hash = gnu_hash(name);
	void *p = NULL;

	while (m && !p && !fm_is_libc(m)) {
		m = m->l_next;
		p = m ? in_module(m, hash, name) : NULL;
	}
	return p;
}

void *fm_in_libc(const char *name)
{
	const struct link_map *libc = fm_module_libc();

	return libc ? in_module(libc, gnu_hash(name), name) : NULL;
}

/* A jump that comes meanwhile takes it away again: its own store is behind
 * what says so. */
void *fm_next_find(const struct fm_next *e)
{
	struct fm_patch *patch = fm_next_patch(e);
	void **slot = fm_next_slot(e), *p;

	if (!atomic_load(&next_begun) || (patch && atomic_load(&patch->to)))
		return NULL;
	p = fm_behind_us(fm_next_name(e));
	__atomic_store_n(slot, p, __ATOMIC_SEQ_CST);
	if (!patch || !atomic_load(&patch->to))
		return p;
	__atomic_store_n(slot, NULL, __ATOMIC_SEQ_CST);
	return NULL;
}

void *fm_next_late(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Loaded by dlopen: libc is before us, and only the loader knows where we
 * look. */
static void ask_loader(void)
{
	const struct fm_next *e;

	for (e = __start_fm_next; e < __stop_fm_next; e++)
		__atomic_store_n(fm_next_slot(e),
				 fm_next_late(fm_next_name(e)),
				 __ATOMIC_RELEASE);
}

void fm_next_begin(void)
{
	if (!fm_module_libc())
		ask_loader();
	else
		atomic_store(&next_begun, true);
}

/* One that is behind us can only be of these modules. */
static bool may_be_behind(const void *p)
{
	const struct link_map *of = fm_module_of(p), *m = fm_module_ours();

	while (m && m != of && !fm_is_libc(m))
		m = m->l_next;
	return of && m == of;
}

void *fm_hook_of(void *p)
{
	const struct fm_next *e;

	if (!p || !may_be_behind(p))
		return p;
	for (e = __start_fm_next; e < __stop_fm_next; e++) {
		void *q = __atomic_load_n(fm_next_slot(e), __ATOMIC_ACQUIRE);

		if ((q ? q : fm_behind_us(fm_next_name(e))) == p)
			return fm_next_ours(e);
	}
	return p;
}
