/* SPDX-License-Identifier: MIT */
/*
 * boot.c - the constructor. Loads the policy and prepares the engine (which
 * starts with the first managed mapping, not here). Until it ends, every hook
 * is a raw system call.
 */
#include "shim.h"
#include "io_stream.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

_Atomic bool fm_shim_on;
const char *fm_library;
static bool booted, keep_deepbind;

/* The function of libc, by libc's name: the next definition may be somebody
 * else's. */
static void find_clock(void)
{
	void *p = fm_in_libc("clock_gettime");

	if (p)
		fm_clock_found((fm_clock_fn *)(uintptr_t)p);
}

/* Preloaded (or linked) means that symbol search meets us before libc. After
 * dlopen we stand behind it: nothing of the program would reach our hooks
 * reliably, and static TLS may be short. */
static bool ahead_of_libc(void)
{
	if (!fm_module_libc())
		return false;
	fm_library = fm_module_ours()->l_name;
	return true;
}

static const char *boot_env_get(char **envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (**envp == *name && !strncmp(*envp, name, n) &&
		    (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static bool wants_kept(char **envp)
{
	const char *deepbind = boot_env_get(envp, "FASTMAP_DEEPBIND");

	return deepbind && !strcmp(deepbind, "keep");
}

bool fm_dl_kept(void)
{
	return booted ? keep_deepbind || !fm_on() : wants_kept(environ);
}

/* ---- fastmap.h ----------------------------------------------------------- */

/* 0: it has none. */
static uintptr_t dynamic_of(const struct link_map *map, ElfW(Sxword) tag)
{
	const ElfW(Dyn) *d = map->l_ld;

	while (d && d->d_tag != DT_NULL && d->d_tag != tag)
		d++;
	return d && d->d_tag == tag ? d->d_un.d_ptr : 0;
}

/* Does the program itself look for what is ours alone? The header makes it do
 * so by the table of addresses that the loader fills in; its own addresses,
 * which may be many, stand first there. */
static bool program_asks(const struct link_map *map)
{
	const ElfW(Rela) *r = (void *)dynamic_of(map, DT_RELA);
	const ElfW(Sym) *syms = (void *)dynamic_of(map, DT_SYMTAB);
	const char *names = (void *)dynamic_of(map, DT_STRTAB);
	const size_t n = dynamic_of(map, DT_RELASZ) / sizeof(*r);

	for (size_t i = dynamic_of(map, DT_RELACOUNT); r && i < n; i++)
		if (!strcmp(names + syms[ELF64_R_SYM(r[i].r_info)].st_name,
			    "fastmap_map"))
			return true;
	return false;
}

/* The first of all that are loaded is the program. */
static bool boot_asked(void)
{
	const struct link_map *map = fm_module_ours();

	while (map && map->l_prev)
		map = map->l_prev;
	return map && program_asks(map);
}

static bool boot_wanted(int argc, char **argv, char **envp)
{
	bool served, heap;

	if (getauxval(AT_SECURE))
		return false;
	if (!ahead_of_libc()) {
		fm_log(FM_LOG_WARN,
		       "loaded by dlopen, staying passive; use LD_PRELOAD");
		return false;
	}
	served = fm_engine_init(argc > 0 && argv[0] ? argv[0] : "", envp);
	heap = fm_heap_here();
	return served || ((heap || boot_asked()) && fm_engine_init_asked());
}

__attribute__((constructor)) static void boot(int argc, char **argv,
					      char **envp)
{
	const int saved = errno;

	fm_patches_follow();
	fm_next_begin();
	if (boot_wanted(argc, argv, envp)) {
		find_clock();
		keep_deepbind = wants_kept(envp);
		fm_sig_boot();
		fm_altstack_boot();
		fm_proc_boot();
		atomic_store(&fm_shim_on, true);
		fm_heap_boot();
		fm_stream_boot();
	}
	booted = true;
	errno = saved;
}
