/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/types.h"
#include "io/io.h"
#include "tunables.h"

struct choice {
	unsigned turn, seen;
	int tid;
};

static void choose(const char *name, void *arg)
{
	struct choice *c = arg;
	const int tid = atoi(name);

	if (tid && tid != (int)fm_sys_gettid() && c->seen++ == c->turn)
		c->tid = tid;
}

/* One after the other. */
static int next_thread(struct fm_waits *w)
{
	static char buf[4096] __attribute__((aligned(8)));
	struct choice c = { .turn = w->turn };
	const int fd = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY,
				   0);

	if (fd < 0)
		return 0;
	fm_each_entry(fd, buf, sizeof(buf), choose, &c);
	fm_sys_close(fd);
	w->turn = c.tid ? w->turn + 1 : 0;
	w->threads = c.seen;
	return c.tid;
}

/* In uninterruptible sleep, as its stat says behind its name. */
static bool is_waiting(int tid)
{
	char path[64] = "/proc/self/task/", text[64];
	const char *name_end;

	fm_number_text(path + strlen(path), (uint64_t)tid);
	strcat(path, "/stat");
	if (fm_read_small(path, text, sizeof(text)) <= 0)
		return false;
	name_end = strrchr(text, ')');
	return name_end && !strncmp(name_end, ") D", 3);
}

static void tell(const struct fm_waits *w, dev_t dev)
{
	const uint64_t ns = w->ms * 1000000 * w->threads * w->waiting /
			    w->asked / w->major;

	if (ns)
		fm_device_waited(dev, (w->bytes >> FM_PAGE_SHIFT) / w->major,
				 ns);
}

void fm_waits_look(struct fm_waits *w, const struct fm_area_use *use, dev_t dev)
{
	const int tid = next_thread(w);

	if (!tid)
		return;
	w->asked++;
	w->waiting += is_waiting(tid);
	w->ms += use->ms;
	w->major += use->major;
	w->bytes += use->bytes;
	if (w->asked < fm_tune.device_group || w->major < fm_tune.device_group)
		return;
	tell(w, dev);
	*w = (struct fm_waits){ .turn = w->turn };
}
