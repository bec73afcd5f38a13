/* SPDX-License-Identifier: MIT */
/*
 * api.c - the library's own interface (src/fastmap.h). Where the library is
 * inert the kernel serves, and what has to do with the engine says so or has no
 * effect; no function is missing.
 */
#include "mm.h"

#define FASTMAP_LIBRARY
#include "fastmap.h"

/* -errno convention to errno convention, of what needs the engine's rooms. */
#define ANSWER(call) (fm_on() ? (call) : -ENOSYS)

FM_HOOK void *fastmap_map(void *addr, size_t len, int prot, int flags, int fd,
			  off_t off)
{
	return fm_do_map_asked(addr, len, prot, flags, fd, off);
}

FM_HOOK int fastmap_available(void)
{
	return fm_on();
}

FM_HOOK int fastmap_unmap(void *addr, size_t len)
{
	return fm_do_munmap(false, addr, len);
}

FM_HOOK int fastmap_sync(void *addr, size_t len)
{
	return fm_do_msync(false, addr, len, MS_SYNC);
}

FM_HOOK int fastmap_resident(void *addr, size_t len, unsigned char *vec)
{
	return fm_do_mincore(false, addr, len, vec);
}

FM_HOOK fastmap_ticket fastmap_prefetch(const struct fastmap_range *range,
					size_t n, unsigned flags)
{
	return fm_result(ANSWER(fm_api_prefetch(range, n, flags)));
}

FM_HOOK int fastmap_wait(fastmap_ticket ticket, int ms)
{
	return (int)fm_result(ANSWER(fm_api_wait(ticket, ms)));
}

FM_HOOK int fastmap_ticket_fd(fastmap_ticket ticket)
{
	return (int)fm_result(ANSWER(fm_api_ticket_fd(ticket)));
}

FM_HOOK int fastmap_release(const struct fastmap_range *range, size_t n)
{
	return (int)fm_result(ANSWER(fm_api_release(range, n)));
}

FM_HOOK int fastmap_pin(const struct fastmap_range *range, size_t n)
{
	return (int)fm_result(ANSWER(fm_api_pin(range, n, true)));
}

FM_HOOK int fastmap_unpin(const struct fastmap_range *range, size_t n)
{
	return (int)fm_result(ANSWER(fm_api_pin(range, n, false)));
}

FM_HOOK int fastmap_advise(const struct fastmap_range *range, size_t n,
			   int pattern, size_t depth)
{
	return (int)fm_result(ANSWER(fm_api_advise(range, n, pattern, depth)));
}

FM_HOOK int fastmap_stat(struct fastmap_stat *ret, size_t size)
{
	return (int)fm_result(ANSWER(fm_api_stat(ret, size)));
}

FM_HOOK int fastmap_set(const char *key, const char *value)
{
	return (int)fm_result(ANSWER(fm_api_set(key, value)));
}

FM_HOOK int fastmap_why(const void *addr, char *buf, size_t size)
{
	return (int)fm_result(ANSWER(fm_api_why(addr, buf, size)));
}
