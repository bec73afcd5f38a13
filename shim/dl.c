/* SPDX-License-Identifier: MIT */
/*
 * dl.c - a module loaded with RTLD_DEEPBIND calls libc past every preloaded
 * library: its munmap of managed memory would go unseen. Take the flag away
 * (FASTMAP_DEEPBIND=keep leaves it). So does who asks for a function of libc by
 * a handle of libc, as foreign function interfaces do (JNA, ctypes, Panama): it
 * gets the hook, unless that is to be kept as well. The hooks themselves are
 * jumps in entry.S; these say where to jump.
 */
#include "shim.h"

#include <dlfcn.h>

FM_NEXT(dlopen)
FM_NEXT(dlmopen)

FM_NEXT(dlsym)

void *fm_dlopen_mode(int mode, int *ret_mode);
void *fm_dlmopen_mode(int mode, int *ret_mode);
void *fm_dlsym_next(void);
void *fm_dlsym_of(void *handle, const char *name);

static int adjusted(int mode)
{
	if (!(mode & RTLD_DEEPBIND) || !fm_on() || fm_keep_deepbind)
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
	void *p = (void *)next_dlsym;

	if (!p)
		p = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return p ? p : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
}

__attribute__((used)) void *fm_dlsym_of(void *handle, const char *name)
{
	void *(*next)(void *, const char *) =
		(void *(*)(void *, const char *))(uintptr_t)fm_dlsym_next();
	void *p = next(handle, name);

	return fm_on() && !fm_keep_deepbind ? fm_hook_of(p) : p;
}
