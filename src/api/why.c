/* SPDX-License-Identifier: MIT */
/* why.c - who serves an address, in a line. */
#include <errno.h>
#include <stdio.h>

#include "advise/advise.h"
#include "api.h"
#include "base/epoch.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"

static bool engine_has(uintptr_t a)
{
	const unsigned slot = fm_epoch_enter();
	const bool has = fm_space_find(a) != NULL;

	fm_epoch_leave(slot);
	return has;
}

static int say_kernel(enum fm_server_reason why, char *buf, size_t size)
{
	const char *remedy = fm_server_reason_remedy(why);

	return snprintf(buf, size, "the kernel: %s%s%s",
			fm_server_reason_text(why), *remedy ? "; " : "",
			remedy);
}

int fm_api_why(const void *addr, char *buf, size_t size)
{
	const uintptr_t a = (uintptr_t)addr;
	struct fm_krange r;

	if (fm_overlaps(addr, 1) && engine_has(a))
		return snprintf(buf, size, "the engine");
	if (!fm_krange_first(a, a + 1, &r))
		return -ENOMEM;
	return say_kernel(r.why, buf, size);
}
