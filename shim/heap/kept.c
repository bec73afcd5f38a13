/* SPDX-License-Identifier: MIT */
/*
 * kept.c - what libc allocates itself stays in memory: it hands some of that to
 * the kernel by calls that nobody sees (buffers of streams and of directories,
 * getcwd), and the kernel cannot wait for a page that has been paged out: it
 * says EFAULT, and a line that was printed is lost.
 *
 * What the caller of libc gets (a line, a string) is allocated there, too, and
 * may be as much as there is: so this ends at KEPT_MOST, but for the buffers of
 * streams. strdup, of which programs make millions, is ours (family.c).
 */
#include "heap.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include "base/sys.h"
#include <jemalloc/jemalloc.h>

#define KEPT_MOST (16ul << 20) /* size: bytes, in memory besides `near` */

void *heap_je_mallocx(size_t n, int flags);
int heap_je_mallctl(const char *name, void *old, size_t *old_len, void *new,
		    size_t new_len);

/* libc's: where a stream gets its buffer. */
int _IO_file_doallocate(FILE *fp) __attribute__((weak));

struct heap_code heap_libc;
static struct heap_code streams;
static int flags;
static _Atomic size_t kept;

/* ---- the arena ----------------------------------------------------------- */

static void *kept_alloc(extent_hooks_t *h, void *at, size_t len, size_t align,
			bool *zero, bool *commit, unsigned arena)
{
	void *p = at ? NULL : heap_near_map(len, align);

	if (p) {
		*zero = *commit = true;
		atomic_fetch_add(&kept, len);
	}
	return p;
}

static bool kept_decommit(extent_hooks_t *h, void *p, size_t len, size_t off,
			  size_t n, unsigned arena)
{
	return fm_sys_madvise((char *)p + off, n, MADV_DONTNEED) != 0;
}

static bool kept_commit(extent_hooks_t *h, void *p, size_t len, size_t off,
			size_t n, unsigned arena)
{
	return false;
}

static bool kept_split(extent_hooks_t *h, void *p, size_t len, size_t a,
		       size_t b, bool committed, unsigned arena)
{
	return false;
}

static bool kept_merge(extent_hooks_t *h, void *a, size_t a_len, void *b,
		       size_t b_len, bool committed, unsigned arena)
{
	return false;
}

static extent_hooks_t hooks = {
	.alloc = kept_alloc,
	.commit = kept_commit,
	.decommit = kept_decommit,
	.split = kept_split,
	.merge = kept_merge,
};

/* ---- whose code ---------------------------------------------------------- */

/* The part of a library that is its code, if what is asked for is there. */
static int code_of(struct dl_phdr_info *info, size_t size, void *ret)
{
	const uintptr_t asked = (uintptr_t)_IO_file_doallocate;

	for (int k = 0; k < info->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[k];
		const uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && asked - at < p->p_memsz) {
			*(struct heap_code *)ret =
				(struct heap_code){ at, p->p_memsz };
			return 1;
		}
	}
	return 0;
}

void heap_kept_begin(void)
{
	extent_hooks_t *h = &hooks;
	size_t len = sizeof(unsigned);
	const ElfW(Sym) *symbol = NULL;
	unsigned arena;
	Dl_info info;

	if (!_IO_file_doallocate ||
	    heap_je_mallctl("arenas.create", &arena, &len, &h, sizeof(h)))
		return;
	flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	if (dladdr1((const void *)_IO_file_doallocate, &info, (void **)&symbol,
		    RTLD_DL_SYMENT) && symbol)
		streams = (struct heap_code){ (uintptr_t)info.dli_saddr,
					      symbol->st_size };
	dl_iterate_phdr(code_of, &heap_libc);
}

void *heap_kept(const void *caller, size_t n)
{
	const bool stream = heap_code_has(&streams, caller);

	if (!atomic_load(&fastmap_heap_calls.on) || !n ||
	    (!stream && atomic_load(&kept) + n > KEPT_MOST))
		return NULL;
	return heap_je_mallocx(n, flags);
}
