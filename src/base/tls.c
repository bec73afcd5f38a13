/* SPDX-License-Identifier: MIT */
#include "tls.h"

#include <link.h>
#include <locale.h>
#include <stdint.h>
#include <string.h>

#include "sys.h"

#define MODULES 256
/* struct pthread: 2304 to 2368 bytes, glibc 2.36 to 2.41 */
#define TCB ((size_t)8192) /* ABI: glibc */
#define SLACK ((size_t)65536) /* size: bytes */
#define NOT_REGISTERED (-2) /* RSEQ_CPU_ID_REGISTRATION_FAILED */

static struct image {
	size_t below; /* the thread pointer */
	const void *init;
	size_t init_size;
} images[MODULES];
static size_t nimages, most, below;
static locale_t plain;

/* glibc 2.35. Where restartable sequences live, seen from the thread
 * pointer. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));

static const ElfW(Phdr) *tls_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			return &info->dlpi_phdr[i];
	return NULL;
}

/* What all can take together. Beyond it lies what was allocated by itself. */
static int add_most(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *p = tls_of(info);

	if (p)
		most += p->p_memsz + p->p_align;
	return 0;
}

static int add_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *p = tls_of(info);
	size_t at = fm_arch_thread_pointer() - (uintptr_t)info->dlpi_tls_data;

	if (!p || !info->dlpi_tls_data || at > most || nimages == MODULES)
		return 0;
	images[nimages].below = at;
	images[nimages].init = (const char *)info->dlpi_addr + p->p_vaddr;
	images[nimages++].init_size = p->p_filesz;
	if (at > below)
		below = at;
	return 0;
}

void fm_tls_init(void)
{
	if (nimages)
		return;
	most = SLACK;
	dl_iterate_phdr(add_most, NULL);
	dl_iterate_phdr(add_image, NULL);
	if (&__rseq_offset && __rseq_offset < 0 &&
	    (size_t)-__rseq_offset > below)
		below = (size_t)-__rseq_offset;
	plain = newlocale(LC_ALL_MASK, "C", NULL); /* static, libc's own */
}

size_t fm_tls_size(void)
{
	return ((below + 4095) & ~(size_t)4095) + TCB;
}

/* Memory that is locked (mlockall) is not given up. */
void fm_tls_clean(char *mem)
{
	if (fm_sys_madvise(mem, fm_tls_size(), MADV_DONTNEED))
		memset(mem, 0, fm_tls_size());
}

/* The canary and the key for stored pointers are the process's. */
static void copy_words(char *tp)
{
	const uintptr_t *mine = (const uintptr_t *)fm_arch_thread_pointer();
	uintptr_t *to = (uintptr_t *)tp;

	to[0] = (uintptr_t)tp; /* its own address */
	to[2] = (uintptr_t)tp; /* pthread_self() */
	to[5] = mine[5];       /* stack_guard */
	to[6] = mine[6];       /* pointer_guard */
}

void *fm_tls_block(char *mem)
{
	char *tp = mem + fm_tls_size() - TCB;

	for (size_t i = 0; i < nimages; i++)
		memcpy(tp - images[i].below, images[i].init,
		       images[i].init_size);
	copy_words(tp);
	/* Or sched_getcpu() finds everybody on CPU 0. */
	if (&__rseq_offset)
		((int32_t *)(void *)(tp + __rseq_offset))[1] = NOT_REGISTERED;
	return tp;
}

/* Without it <ctype.h> and what is built on it have no tables. */
void fm_tls_begin(void)
{
	if (plain)
		uselocale(plain);
}
