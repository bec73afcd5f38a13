/* SPDX-License-Identifier: MIT */
#include "go_binary.h"

#include <elf.h>
#include <link.h>
#include <string.h>

static bool found;

/* Go's linker leaves the build's id in a note of this name. */
static bool is_go(const ElfW(Nhdr) *note)
{
	return note->n_namesz == 4 && !memcmp(note + 1, "Go\0", 4);
}

static size_t up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static void look_at_notes(const char *at, size_t len, size_t align)
{
	const ElfW(Nhdr) *note;

	if (align != 8)
		align = 4;
	while (len >= sizeof(*note)) {
		size_t n;

		note = (const void *)at;
		found |= is_go(note);
		n = up(sizeof(*note) + up(note->n_namesz, 4) + note->n_descsz,
		       align);
		if (n > len)
			return;
		at += n;
		len -= n;
	}
}

/* Notes need not have been loaded. */
static bool is_loaded(const struct dl_phdr_info *module, const ElfW(Phdr) *p)
{
	for (int i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &module->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && (load->p_flags & PF_R) &&
		    p->p_vaddr >= load->p_vaddr &&
		    p->p_vaddr + p->p_memsz <= load->p_vaddr + load->p_filesz)
			return true;
	}
	return false;
}

static int look_at_module(struct dl_phdr_info *module, size_t size, void *arg)
{
	for (int i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &module->dlpi_phdr[i];

		if (p->p_type == PT_NOTE && is_loaded(module, p))
			look_at_notes((const char *)module->dlpi_addr +
				      p->p_vaddr, p->p_memsz, p->p_align);
	}
	return found;
}

void fm_rawcalls_start(void)
{
	dl_iterate_phdr(look_at_module, NULL);
}

bool fm_go_binary(void)
{
	return found;
}
