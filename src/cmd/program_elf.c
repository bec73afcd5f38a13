/* SPDX-License-Identifier: MIT */
/*
 * program_elf.c - what stands in the file of a program: its loader, whether it
 * calls the library by name (fastmap.h), by what the library goes by when it is
 * loaded (shim/boot.c), and whether it is the library.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "glob.h"
#include "program.h"

struct image {
	const char *at;
	uint64_t len;
};

/* So many bytes of the file, or NULL. */
static const void *image_part(const struct image *m, uint64_t off, uint64_t n)
{
	return off <= m->len && n <= m->len - off ? m->at + off : NULL;
}

static const Elf64_Phdr *image_header(const struct image *m, unsigned i)
{
	const Elf64_Ehdr *h = image_part(m, 0, sizeof(*h));

	return h && i < h->e_phnum ?
		       image_part(m, h->e_phoff + i * sizeof(Elf64_Phdr),
				  sizeof(Elf64_Phdr)) :
		       NULL;
}

/* What the loader puts at this address. */
static const void *image_at(const struct image *m, uint64_t addr, uint64_t n)
{
	const Elf64_Phdr *p;

	for (unsigned i = 0; (p = image_header(m, i)); i++)
		if (p->p_type == PT_LOAD && addr >= p->p_vaddr &&
		    addr - p->p_vaddr < p->p_filesz)
			return image_part(m, addr - p->p_vaddr + p->p_offset,
					  n);
	return NULL;
}

static const Elf64_Phdr *image_find(const struct image *m, uint32_t type)
{
	const Elf64_Phdr *p;
	unsigned i = 0;

	while ((p = image_header(m, i)) && p->p_type != type)
		i++;
	return p;
}

/* 0: it has none. */
static uint64_t image_dynamic(const struct image *m, int64_t tag)
{
	const Elf64_Phdr *p = image_find(m, PT_DYNAMIC);
	const Elf64_Dyn *d;

	for (uint64_t k = 0; p && k < p->p_filesz / sizeof(*d); k++) {
		d = image_part(m, p->p_offset + k * sizeof(*d), sizeof(*d));
		if (!d || d->d_tag == DT_NULL)
			break;
		if (d->d_tag == tag)
			return d->d_un.d_val;
	}
	return 0;
}

static bool image_asks(const struct image *m)
{
	static const char name[] = "fastmap_map";
	const uint64_t rela = image_dynamic(m, DT_RELA);
	const uint64_t syms = image_dynamic(m, DT_SYMTAB);
	const uint64_t names = image_dynamic(m, DT_STRTAB);
	const uint64_t n = image_dynamic(m, DT_RELASZ) / sizeof(Elf64_Rela);

	for (uint64_t i = image_dynamic(m, DT_RELACOUNT); i < n; i++) {
		const Elf64_Rela *r = image_at(m, rela + i * sizeof(*r),
					       sizeof(*r));
		const Elf64_Sym *s =
			!r ? NULL :
			     image_at(m, syms + ELF64_R_SYM(r->r_info) *
						sizeof(*s), sizeof(*s));
		const char *at = !s ? NULL :
				      image_at(m, names + s->st_name,
					       sizeof(name));

		if (at && !memcmp(at, name, sizeof(name)))
			return true;
	}
	return false;
}

/* ---- the file ----------------------------------------------------------- */

/* False: no ELF file, or none that may be read. */
static bool image_open(struct image *m, int fd)
{
	struct stat st;
	void *at = fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr) ?
		MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ,
				  MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return false;
	*m = (struct image){ at, (uint64_t)st.st_size };
	if (!memcmp(at, ELFMAG, SELFMAG))
		return true;
	munmap(at, m->len);
	return false;
}

static bool image_for_us(const struct image *m)
{
	return m->at[EI_CLASS] == ELFCLASS64 &&
	       ((const Elf64_Ehdr *)(const void *)m->at)->e_machine ==
		       FM_ARCH_ELF;
}

static bool image_is_library(const struct image *m)
{
	static const char ours[] = "libfastmap.so";
	const char *name = image_at(m, image_dynamic(m, DT_STRTAB) +
				    image_dynamic(m, DT_SONAME),
				    sizeof(ours) - 1);

	return ((const Elf64_Ehdr *)(const void *)m->at)->e_type == ET_DYN &&
	       name && !memcmp(name, ours, sizeof(ours) - 1);
}

/* Another libc's loader looks for glibc's symbols in our library, and stops. */
static void look_at_loader(const struct image *m, const Elf64_Phdr *p,
			   struct program *ret)
{
	const size_t n = p->p_filesz < sizeof(ret->loader) ?
				 p->p_filesz : sizeof(ret->loader) - 1;
	const char *loader = image_part(m, p->p_offset, n);

	if (!loader)
		return;
	memcpy(ret->loader, loader, n);
	ret->harmed = strncmp(fm_base_name(ret->loader), "ld-linux", 8);
}

bool program_reach(int fd, struct program *ret, const char **ret_why)
{
	const Elf64_Phdr *p;
	struct image m;

	*ret_why = NULL;
	if (!image_open(&m, fd))
		return true; /* no program, or for binfmt_misc */
	p = image_for_us(&m) ? image_find(&m, PT_INTERP) : NULL;
	if (!image_for_us(&m))
		*ret_why = "not a program for this processor";
	else if (!p)
		*ret_why = "statically linked";
	else
		look_at_loader(&m, p, ret);
	munmap((void *)(uintptr_t)m.at, m.len);
	return *ret_why;
}

static bool file_is(const char *file, bool (*is)(const struct image *m))
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct image m;
	bool yes = false;

	if (fd < 0)
		return false;
	if (image_open(&m, fd)) {
		yes = image_for_us(&m) && is(&m);
		munmap((void *)(uintptr_t)m.at, m.len);
	}
	close(fd);
	return yes;
}

bool program_asks(const char *file)
{
	return file_is(file, image_asks);
}

bool program_is_library(const char *file)
{
	return file_is(file, image_is_library);
}
