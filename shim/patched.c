/* SPDX-License-Identifier: MIT */
/*
 * patched.c - libraries that want to hear of memory write a jump over the first
 * bytes of the function that they find (UCX's bistro, Open MPI's patcher). They
 * find our hook, and hear what the program calls. Natively they hear libc's own
 * calls as well, malloc's munmap, which go to the function that is behind the
 * hook: it gets the same jump, and loses it with the hook.
 *
 * What they jump to goes on by syscall(), or by the hook from behind the jump.
 * There is only the kernel behind the hook then: libc's function would lead
 * back to them.
 */
#include "shim.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define TEXT_PROT (PROT_READ | PROT_EXEC)

/* Bounds of the library's code; provided by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);

static bool patched_is_ours(const void *p)
{
	return (const char *)p >= __ehdr_start && (const char *)p < etext;
}

/* Where the code of a hook jumps to that somebody has patched, or NULL. */
static const uint8_t *jump_of(const uint8_t *c)
{
	const uint8_t *to = fm_arch_jump_of(c);

	return patched_is_ours(to) ? NULL : to;
}

/* As the patcher did it: other threads may run there, natively, too. */
static int write_code(void *at, const uint8_t *code)
{
	const uintptr_t from = (uintptr_t)at & ~4095ul;
	const size_t n = (uintptr_t)at + FM_ARCH_JUMP - from;
	long r = fm_syscall(SYS_mprotect, from, n, TEXT_PROT | PROT_WRITE);

	if (r)
		return (int)r;
	memcpy(at, code, FM_ARCH_JUMP);
	__builtin___clear_cache(at, (char *)at + FM_ARCH_JUMP);
	fm_syscall(SYS_mprotect, from, n, TEXT_PROT);
	return 0;
}

/* Before the lock is taken: the dynamic linker may take one of its own. */
static bool look_behind(const struct fm_next *e)
{
	struct fm_patch *patch = fm_next_patch(e);
	const struct link_map *m;

	if (!patch || !jump_of(fm_next_ours(e)))
		return patch && patch->to;
	patch->found = fm_behind_us(fm_next_name(e));
	m = fm_module_of(patch->found);
	patch->over_libc = m && fm_is_libc(m);
	return true;
}

/* Its pointer goes when that can be seen: fm_next_find. */
static void put_jump(const struct fm_next *e, struct fm_patch *patch,
		     const void *to)
{
	const void *was = patch->to;
	uint8_t code[FM_ARCH_JUMP];
	int r;

	if (!was)
		memcpy(patch->was, patch->found, FM_ARCH_JUMP);
	fm_arch_jump_make(code, to);
	atomic_store(&patch->to, to);
	__atomic_store_n(fm_next_slot(e), NULL, __ATOMIC_SEQ_CST);
	r = write_code(patch->found, code);
	if (!r)
		return;
	atomic_store(&patch->to, was);
	fm_log(FM_LOG_WARN, "%s is patched, but not in libc: %s",
	       fm_next_name(e), strerrordesc_np(-r));
}

static void take_jump(struct fm_patch *patch)
{
	if (!write_code(patch->found, patch->was))
		atomic_store(&patch->to, NULL);
}

static void patched_follow(const struct fm_next *e)
{
	struct fm_patch *patch = fm_next_patch(e);
	const uint8_t *to = patch ? jump_of(fm_next_ours(e)) : NULL;

	if (!patch || to == patch->to)
		return;
	if (!to)
		take_jump(patch);
	else if (patch->over_libc)
		put_jump(e, patch, to);
}

void fm_patches_follow(void)
{
	const struct fm_next *e;
	bool any = false;
	uint64_t old;

	for (e = __start_fm_next; e < __stop_fm_next; e++)
		any |= look_behind(e);
	if (!any)
		return;
	fm_block_signals(&old);
	fm_lock_quietly(&lock);
	for (e = __start_fm_next; e < __stop_fm_next; e++)
		patched_follow(e);
	fm_unlock(&lock);
	fm_restore_signals(&old);
}

void fm_patches_seen(const void *addr, size_t len, int prot)
{
	const uintptr_t from = (uintptr_t)addr;

	if ((prot & (TEXT_PROT | PROT_WRITE)) == TEXT_PROT &&
	    from < (uintptr_t)etext &&
	    from + len > (uintptr_t)__ehdr_start)
		fm_patches_follow();
}
