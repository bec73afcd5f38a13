/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/types.h"
#include "io/io.h"
#include "tunables.h"

struct choice {
	unsigned turn, seen;
	char tid[12]; /* size: of a number */
};

static void waits_choose(const char *name, void *arg)
{
	struct choice *c = arg;

	if (atoi(name) != (int)fm_sys_gettid() && c->seen++ == c->turn)
		memcpy(c->tid, name, strnlen(name, sizeof(c->tid) - 1));
}

/* One after the other. False: there is none. */
static bool next_thread(struct fm_waits *w, struct choice *c)
{
	static char buf[4096] __attribute__((aligned(8)));

	*c = (struct choice){ .turn = w->turn };
	fm_each_thread(buf, sizeof(buf), waits_choose, c);
	w->turn = *c->tid ? w->turn + 1 : 0;
	w->threads = c->seen;
	return *c->tid;
}

static void waits_tell(const struct fm_waits *w, dev_t dev)
{
	const uint64_t ns = w->ms * 1000000 * w->threads * w->waiting /
			    w->asked / w->major;

	if (ns)
		fm_device_waited(dev, (w->bytes >> FM_PAGE_SHIFT) / w->major,
				 ns);
}

void fm_waits_look(struct fm_waits *w, const struct fm_advised_use *use,
		   dev_t dev)
{
	const unsigned enough = (unsigned)fm_tune.device_enough;
	struct choice c;

	if (!next_thread(w, &c))
		return;
	w->asked++;
	w->waiting += fm_proc_thread_waits(c.tid);
	w->ms += use->ms;
	w->major += use->major;
	w->bytes += use->bytes;
	if (w->asked < enough || w->major < enough)
		return;
	waits_tell(w, dev);
	*w = (struct fm_waits){ .turn = w->turn };
}
