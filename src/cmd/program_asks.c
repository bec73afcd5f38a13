/* SPDX-License-Identifier: MIT */
/*
 * program_asks.c - does a program call the library by name (fastmap.h)? By what
 * the library goes by when it is loaded (shim/boot.c), read from the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* 0: it has none. */
static uint64_t image_dynamic(const struct image *m, int64_t tag)
{
	const Elf64_Phdr *p;
	const Elf64_Dyn *d;
	unsigned i = 0;

	while ((p = image_header(m, i)) && p->p_type != PT_DYNAMIC)
		i++;
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

bool program_asks(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct image m;
	struct stat st;
	void *at;
	bool asks;

	if (fd < 0)
		return false;
	at = fstat(fd, &st) ? MAP_FAILED :
			      mmap(NULL, (size_t)st.st_size, PROT_READ,
				   MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	m = (struct image){ at, (uint64_t)st.st_size };
	asks = m.len > EI_NIDENT && !memcmp(at, ELFMAG, SELFMAG) &&
	       m.at[EI_CLASS] == ELFCLASS64 && image_asks(&m);
	munmap(at, (size_t)st.st_size);
	return asks;
}
