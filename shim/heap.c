/* SPDX-License-Identifier: MIT */
/* heap.c - libfastmap-heap.so, preloaded beside us (src/heap_calls.h). */
#include "shim.h"

#include <dlfcn.h>

static struct fm_heap_calls *calls;

bool fm_heap_here(void)
{
	if (!fm_heap_wanted())
		return false;
	calls = dlsym(RTLD_DEFAULT, "fastmap_heap_calls");
	if (!calls)
		fm_log(FM_LOG_WARN, "heap: libfastmap-heap.so is not in "
		       "LD_PRELOAD: malloc is libc's");
	return calls != NULL;
}

void fm_heap_boot(void)
{
	if (!calls)
		return;
	calls->served = fm_overlaps;
	fm_heap_found(calls);
}
