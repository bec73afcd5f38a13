/* SPDX-License-Identifier: MIT */
/* mapping.c - the file opened, mapped, advised, and read ahead of what is
 * measured. */
#include "load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void open_file(struct load *l)
{
	bool ro = l->op == OP_READ;
	struct stat st;

	l->fd = open(l->file, (ro ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (l->fd < 0 || fstat(l->fd, &st))
		fail(l->file);
	l->dev = st.st_dev;
	l->prot = ro ? PROT_READ : PROT_READ | PROT_WRITE;
	if (l->offset % PAGE || l->offset >= (uint64_t)st.st_size)
		usage();
	if (!l->range || l->offset + l->range > (uint64_t)st.st_size)
		l->range = (uint64_t)st.st_size - l->offset;
	l->conf.pages = l->range / PAGE;
	l->conf.hot_pages = l->hot / PAGE;
	if (!l->conf.pages || !l->threads || !l->conf.stride ||
	    !l->conf.streams || l->window < PAGE || l->window > l->range)
		usage();
}

static void give_hint(const struct load *l)
{
	int advice;

	if (!strcmp(l->hint, "none"))
		return;
	else if (!strcmp(l->hint, "random"))
		advice = MADV_RANDOM;
	else if (!strcmp(l->hint, "sequential"))
		advice = MADV_SEQUENTIAL;
	else if (!strcmp(l->hint, "willneed"))
		advice = MADV_WILLNEED;
	else
		usage();
	if (madvise(l->base, l->range, advice))
		fail("madvise");
}

void map_file(struct load *l)
{
	int flags = MAP_SHARED | (l->populate ? MAP_POPULATE : 0);

	l->base = mmap(NULL, l->range, l->prot, flags, l->fd, (off_t)l->offset);
	if (l->base == MAP_FAILED)
		fail("mmap");
	give_hint(l);
	if (l->trace_path)
		l->trace = zeroed(l->trace_max * 8);
}

struct part {
	struct worker w;
	uint64_t from, to;
};

static void *read_part(void *arg)
{
	struct part *t = arg;

	for (uint64_t p = t->from; p < t->to; p++)
		touch(&t->w, t->w.load->base + p * PAGE, p, OP_READ);
	return NULL;
}

/* By several threads where there is no readahead: one would take long. */
#define FILLERS 16
static void read_pages(struct load *l, struct worker *w, uint64_t from,
		       uint64_t to)
{
	unsigned n = strcmp(l->hint, "random") ? 1 : FILLERS;
	uint64_t step = (to - from + n - 1) / n;
	struct part *part = calloc(n, sizeof(*part));

	if (!part)
		fail("calloc");
	for (unsigned k = 0; k < n; k++) {
		uint64_t at = from + k * step, end = at + step;

		part[k].w.load = l;
		part[k].from = at;
		part[k].to = end < to ? end : to;
		if (pthread_create(&part[k].w.thread, NULL, read_part,
				   &part[k]))
			fail("pthread_create");
	}
	for (unsigned k = 0; k < n; k++) {
		pthread_join(part[k].w.thread, NULL);
		w->wrong += part[k].w.wrong;
	}
	free(part);
}

/* Memory is full and eviction is at work before anything is measured. The end
 * of the range is read, so that a scan from its start finds nothing cached;
 * each member reads its share of it, and all read the hot set. */
void prefill(struct load *l, struct worker *w)
{
	uint64_t n = l->prefill / PAGE, end = l->conf.pages, from;

	if (n > end)
		n = end;
	from = end - n;
	read_pages(l, w, from + n * l->member / l->members,
		   from + n * (l->member + 1) / l->members);
	for (unsigned k = 0; k < 2 && !strcmp(l->pattern, "scanhot"); k++)
		read_pages(l, w, 0, l->conf.hot_pages);
	atomic_store(&l->trace_n, 0);
}
