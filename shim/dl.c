/* SPDX-License-Identifier: MIT */
/*
 * dl.c - a module loaded with RTLD_DEEPBIND calls libc past every preloaded
 * library: its munmap of managed memory would go unseen. Take the flag away
 * (FASTMAP_DEEPBIND=keep leaves it). So does who asks for a function of libc by
 * a handle of libc, as foreign function interfaces do (JNA, ctypes, Panama): it
 * gets the hook, unless that is to be kept as well. The hooks themselves are
 * jumps in entry.S; these say where to jump.
 *
 * A library behind us in the search order finds libc's function by RTLD_NEXT,
 * past our hook; it gets the hook as well. Not where it defines the function
 * itself: then our hook calls it, and what it finds is what it has to call.
 */
#include "shim.h"

#include <dlfcn.h>
#include <link.h>

FM_NEXT(dlopen)
FM_NEXT(dlmopen)

FM_NEXT(dlsym)

void *fm_dlopen_mode(int mode, int *ret_mode);
void *fm_dlmopen_mode(int mode, int *ret_mode);
void *fm_dlsym_next(void);
void *fm_dlsym_of(void *handle, const char *name);
void *fm_dlsym_behind(void *handle, const char *name, const void *caller);

static int adjusted(int mode)
{
	if (!(mode & RTLD_DEEPBIND) || fm_dl_kept())
		return mode;
	fm_log(FM_LOG_INFO, "dlopen: RTLD_DEEPBIND ignored "
			    "(FASTMAP_DEEPBIND=keep keeps it)");
	return mode & ~RTLD_DEEPBIND;
}

__attribute__((used)) void *fm_dlopen_mode(int mode, int *ret_mode)
{
	*ret_mode = adjusted(mode);
	return (void *)FM_LATE(dlopen);
}

__attribute__((used)) void *fm_dlmopen_mode(int mode, int *ret_mode)
{
	*ret_mode = adjusted(mode);
	return (void *)FM_LATE(dlmopen);
}

/* Not by dlsym: this is how it is found, also where a constructor calls it that
 * is older than ours. */
__attribute__((used)) void *fm_dlsym_next(void)
{
	void *p = (void *)FM_FOUND(dlsym);

	if (!p)
		p = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return p ? p : dlvsym(RTLD_NEXT, "dlsym", FM_ARCH_LIBC);
}

static void *sym(void *handle, const char *name)
{
	void *(*next)(void *, const char *) =
		(void *(*)(void *, const char *))(uintptr_t)fm_dlsym_next();

	return next(handle, name);
}

__attribute__((used)) void *fm_dlsym_of(void *handle, const char *name)
{
	void *p = sym(handle, name);

	return fm_dl_kept() ? p : fm_hook_of(p);
}

/* glibc 2.35, and found by name, for an older one to load us. dladdr1 looks for
 * a symbol as well, 70 us and more, and some call dlsym over and over. Its lock
 * is the one that dlsym takes. */
#if __GLIBC_PREREQ(2, 35)
typedef __typeof__(&_dl_find_object) object_fn;

static object_fn find_object(void)
{
	static _Atomic(object_fn) known;
	static _Atomic bool asked;
	object_fn fn = atomic_load(&known);

	if (!fn && !atomic_load(&asked)) {
		fn = (object_fn)(uintptr_t)dlvsym(RTLD_NEXT, "_dl_find_object",
						  "GLIBC_2.35");
		atomic_store(&known, fn);
		atomic_store(&asked, true);
	}
	return fn;
}

static struct link_map *found(object_fn fn, const void *addr)
{
	struct dl_find_object o;

	return fn((void *)(uintptr_t)addr, &o) ? NULL : o.dlfo_link_map;
}
#else
typedef void *object_fn;
#define find_object() ((object_fn)NULL)
#define found(fn, addr) ((struct link_map *)NULL)
#endif

struct link_map *fm_module_of(const void *addr)
{
	const object_fn fn = addr ? find_object() : NULL;
	struct link_map *m = NULL;
	Dl_info info;

	if (fn)
		return found(fn, addr);
	return addr && dladdr1(addr, &info, (void **)&m, RTLD_DL_LINKMAP) ?
		       m : NULL;
}

/* Does the module find p by its own scope, too? Modules that came by dlopen
 * have one each. */
static bool finds(const struct link_map *m, const char *name, const void *p)
{
	void *h = FM_LATE(dlopen)(m->l_name, RTLD_LAZY | RTLD_NOLOAD);
	bool same;

	if (!h)
		return false;
	same = sym(h, name) == p;
	dlclose(h);
	return same;
}

/* Is p, which lies behind us, what lies behind the module, too? */
static bool behind_both(const struct link_map *us, const struct link_map *m,
			const char *name, const void *p)
{
	const struct link_map *of = fm_module_of(p), *l = us->l_next;

	while (l && l != m && l != of)
		l = l->l_next;
	if (l != of)
		return l == m;
	while (l && l != m)
		l = l->l_next;
	return l && m != of && finds(m, name, p);
}

/* The hook, if RTLD_NEXT would give the caller what lies right behind it. */
__attribute__((used)) void *fm_dlsym_behind(void *handle, const char *name,
					    const void *caller)
{
	const struct link_map *us, *m;
	void *p, *hook;

	if (handle != RTLD_NEXT || fm_dl_kept())
		return NULL;
	us = fm_module_ours();
	m = fm_module_of(caller);
	if (!us || !m || m == us)
		return NULL;
	p = sym(RTLD_NEXT, name);
	hook = fm_hook_of(p);
	return hook != p && behind_both(us, m, name, p) ? hook : NULL;
}
