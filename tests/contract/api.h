/* SPDX-License-Identifier: MIT */
/* api.h - for programs about fastmap.h. Natively the library is not there: what
 * only it can do is not done, and says so. */
#ifndef CT_API_H
#define CT_API_H

#include "ct.h"
#include "../../src/fastmap.h"

/* Did the call do what it promises: 0 with the library, ENOSYS without? */
CT_UNUSED static const char *api_rc(long rc)
{
	if (fastmap_available())
		return rc >= 0 ? "as promised" : strerrorname_np(errno);
	return rc == -1 && errno == ENOSYS ? "as promised" : "not missing";
}

/* Likewise for what has to fail. */
CT_UNUSED static const char *api_fails(long rc, int err)
{
	if (!fastmap_available())
		err = ENOSYS;
	return rc == -1 && errno == err ? "refused" : "not refused";
}

CT_UNUSED static char *api_map(int fd, size_t len, int prot, int flags)
{
	char *p = fastmap_map(NULL, len, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		ct_die("fastmap_map");
	return p;
}

/* All is read that can be: what does not fit is left out. */
CT_UNUSED static void api_prefetch(const struct fastmap_range *r, size_t n)
{
	const fastmap_ticket t = fastmap_prefetch(r, n, 0);

	if (t >= 0 && fastmap_wait(t, CT_PATIENCE))
		ct_die("fastmap_wait");
}

#endif
