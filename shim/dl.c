/* SPDX-License-Identifier: MIT */
/*
 * dl.c - a module loaded with RTLD_DEEPBIND calls libc past every preloaded
 * library: its munmap of managed memory would go unseen. Take the flag away
 * (FASTMAP_DEEPBIND=keep leaves it). The hooks themselves are jumps in
 * entry.S; these two adjust the mode and say where to jump.
 */
#include "shim.h"

#include <dlfcn.h>

#include "log.h"

FM_NEXT(dlopen)
FM_NEXT(dlmopen)

void *fm_dlopen_mode(int mode, int *ret_mode);
void *fm_dlmopen_mode(int mode, int *ret_mode);

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
