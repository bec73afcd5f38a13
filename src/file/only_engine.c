/* SPDX-License-Identifier: MIT */
#include "only_engine.h"

#include <stdatomic.h>

#include "server.h"

/* Whatever the file: a program does the same with all that it has. */
static _Atomic bool told[FM_WHYS];

int fm_only_engine_refuse(const char *path, const char *source,
			  enum fm_server_reason why)
{
	const char *remedy = fm_server_reason_remedy(why);

	if (!atomic_exchange(&told[why], true))
		fm_log(FM_LOG_ERROR, "%s: refused: %s, and the kernel cannot "
		       "serve what comes from %s (%s)", path,
		       fm_server_reason_text(why), source,
		       *remedy ? remedy : "docs/stores.md");
	return -EOPNOTSUPP;
}
