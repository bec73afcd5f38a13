/* SPDX-License-Identifier: MIT */
/*
 * patcher.c - a library that hears what is mapped and unmapped by a jump that it
 * writes over the functions it finds, as UCX and Open MPI do (dl_patched).
 */
#include "patcher.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 14

struct function {
	const char *name;
	void *handler;
	uint8_t *at, was[MOST];
};

static struct heard heard;
static enum patch now;

static long go_on(struct function *f, long nr, long a, long b, long c, long d,
		  long e, long g);

static void *on_map(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off);
static int on_unmap(void *addr, size_t len);
static void *on_move(void *old, size_t old_len, size_t len, int flags, ...);
static int on_advice(void *addr, size_t len, int advice);
static void *on_attach(int id, const void *addr, int flags);
static int on_detach(const void *addr);

enum { MAP, UNMAP, MOVE, ADVICE, ATTACH, DETACH, FUNCTIONS };
static struct function functions[FUNCTIONS] = {
	{ .name = "mmap", .handler = (void *)on_map },
	{ .name = "munmap", .handler = (void *)on_unmap },
	{ .name = "mremap", .handler = (void *)on_move },
	{ .name = "madvise", .handler = (void *)on_advice },
	{ .name = "shmat", .handler = (void *)on_attach },
	{ .name = "shmdt", .handler = (void *)on_detach },
};

static void *on_map(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off)
{
	heard.maps++;
	return (void *)go_on(&functions[MAP], SYS_mmap, (long)addr, (long)len,
			     prot, flags, fd, off);
}

static int on_unmap(void *addr, size_t len)
{
	heard.unmaps++;
	return (int)go_on(&functions[UNMAP], SYS_munmap, (long)addr, (long)len,
			  0, 0, 0, 0);
}

static void *on_move(void *old, size_t old_len, size_t len, int flags, ...)
{
	va_list ap;
	long to;

	heard.moves++;
	va_start(ap, flags);
	to = flags & MREMAP_FIXED ? va_arg(ap, long) : 0;
	va_end(ap);
	return (void *)go_on(&functions[MOVE], SYS_mremap, (long)old,
			     (long)old_len, (long)len, flags, to, 0);
}

static int on_advice(void *addr, size_t len, int advice)
{
	heard.advised++;
	return (int)go_on(&functions[ADVICE], SYS_madvise, (long)addr,
			  (long)len, advice, 0, 0, 0);
}

static void *on_attach(int id, const void *addr, int flags)
{
	heard.attached++;
	return (void *)go_on(&functions[ATTACH], SYS_shmat, id, (long)addr,
			     flags, 0, 0, 0);
}

static int on_detach(const void *addr)
{
	heard.detached++;
	return (int)go_on(&functions[DETACH], SYS_shmdt, (long)addr, 0, 0, 0,
			  0, 0);
}

static void protect(const void *at, int prot)
{
	const uintptr_t from = (uintptr_t)at & ~4095ul;

	if (mprotect((void *)from, (uintptr_t)at + MOST - from, prot))
		abort();
}

static void put(uint8_t *at, const uint8_t *code, size_t n)
{
	protect(at, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(at, code, n);
	protect(at, PROT_READ | PROT_EXEC);
}

static size_t by_register(uint8_t *code, const void *to)
{
	memcpy(code, "\x49\xbb", 2);
	memcpy(code + 2, &to, 8);
	memcpy(code + 10, "\x41\xff\xe3", 3);
	return 13;
}

static size_t by_memory(uint8_t *code, const void *to)
{
	memcpy(code, "\xff\x25\0\0\0\0", 6);
	memcpy(code + 6, &to, 8);
	return 14;
}

static uint8_t *place_near(const uint8_t *at)
{
	const uintptr_t page = (uintptr_t)at & ~4095ul;
	void *p;

	for (uintptr_t i = 1ul << 20; i < 1ul << 30; i += 1ul << 20) {
		p = (void *)syscall(SYS_mmap, page - i, 4096,
				    PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS |
					    MAP_FIXED_NOREPLACE,
				    -1, 0);
		if (p == (void *)(page - i))
			return p;
	}
	abort();
}

static size_t by_place(uint8_t *code, const uint8_t *at, const void *to)
{
	uint8_t *near = place_near(at);
	const int32_t off = (int32_t)(near - (at + 5));

	by_memory(near, to);
	code[0] = 0xe9;
	memcpy(code + 1, &off, 4);
	return 5;
}

static void patch(struct function *f)
{
	uint8_t code[MOST];
	size_t n;

	if (now == PATCH_MEMORY)
		n = by_memory(code, f->handler);
	else if (now == PATCH_NEAR)
		n = by_place(code, f->at, f->handler);
	else
		n = by_register(code, f->handler);
	put(f->at, code, n);
}

static long go_on(struct function *f, long nr, long a, long b, long c, long d,
		  long e, long g)
{
	long (*again)(long, long, long, long, long, long), r;

	if (now != PATCH_AGAIN)
		return syscall(nr, a, b, c, d, e, g);
	again = (long (*)(long, long, long, long, long, long))(uintptr_t)f->at;
	put(f->at, f->was, MOST);
	r = again(a, b, c, d, e, g);
	patch(f);
	return r;
}

static void find(struct function *f)
{
	f->at = dlsym(RTLD_NEXT, f->name);
	if (!f->at)
		abort();
	memcpy(f->was, f->at, MOST);
}

void patcher_patch(enum patch how)
{
	now = how;
	for (int i = 0; i < FUNCTIONS; i++) {
		struct function *f = &functions[i];

		if (!f->at)
			find(f);
		patch(f);
	}
}

void patcher_restore(void)
{
	for (int i = 0; i < FUNCTIONS; i++)
		put(functions[i].at, functions[i].was, MOST);
}

struct heard patcher_heard(void)
{
	const struct heard was = heard;

	memset(&heard, 0, sizeof(heard));
	return was;
}

__attribute__((constructor)) static void begin(void)
{
	patcher_patch(PATCH_REGISTER);
}
