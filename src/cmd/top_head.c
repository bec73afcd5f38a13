/* SPDX-License-Identifier: MIT */
/* top_head.c - the lines above the table of `fastmap top`. */
#include <stdio.h>
#include <time.h>

#include "shown.h"
#include "top_screen.h"

struct sums {
	uint64_t limit, resident, dirty, lazy;
	double rate[TOP_TOTALS];
	unsigned files;
};

static struct sums top_head_sum(const struct top_view *v)
{
	struct sums s = { 0 };

	for (unsigned i = 0; i < v->processes; i++) {
		const struct top_process *p = v->process[i];

		s.limit += p->limit;
		s.resident += p->resident;
		s.dirty += p->dirty;
		s.lazy += p->lazy;
		s.files += p->files;
		for (enum top_total t = 0; t < TOP_TOTALS; t++)
			s.rate[t] += p->rate[t];
	}
	return s;
}

static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

void top_head_title(const struct top_view *v, unsigned columns, wchar_t *ret)
{
	const time_t now = time(NULL);
	const unsigned files = top_head_sum(v).files;
	char text[256], clock[16];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	snprintf(text, sizeof(text),
		 "fastmap top - %s, %s%g s; %u process%s, %u file%s", clock,
		 v->paused ? "paused, " : "every ", v->interval, v->processes,
		 v->processes == 1 ? "" : "es", files, plural(files));
	shown_text(text, columns, true, ret);
}

static const char *top_head_hits(const struct sums *s, char *buf, size_t size)
{
	if (s->rate[TOP_ABSENT] <= 0)
		return "-";
	snprintf(buf, size, "%.0f%%", s->rate[TOP_HITS] >= s->rate[TOP_ABSENT] ?
		 100 : s->rate[TOP_HITS] / s->rate[TOP_ABSENT] * 100);
	return buf;
}

void top_head_sums(const struct top_view *v, unsigned columns, wchar_t *ret)
{
	const struct sums s = top_head_sum(v);
	char b[4][SHOWN_NUMBER], text[256];

	snprintf(text, sizeof(text),
		 "cache %s of %s, dirty %s, kept though evicted %s",
		 shown_bytes(s.resident, b[0]), shown_bytes(s.limit, b[1]),
		 shown_bytes(s.dirty, b[2]), shown_bytes(s.lazy, b[3]));
	shown_text(text, columns, true, ret);
}

void top_head_rates(const struct top_view *v, unsigned columns, wchar_t *ret)
{
	const struct sums s = top_head_sum(v);
	char b[3][SHOWN_NUMBER], percent[16], text[256];

	snprintf(text, sizeof(text),
		 "%s faults/s, hits %s, read %s/s, written %s/s",
		 shown_count(s.rate[TOP_FAULTS], b[0]),
		 top_head_hits(&s, percent, sizeof(percent)),
		 shown_bytes((uint64_t)s.rate[TOP_READ], b[1]),
		 shown_bytes((uint64_t)s.rate[TOP_WRITTEN], b[2]));
	shown_text(text, columns, true, ret);
}

static const char *top_head_heap(const struct top_process *p, char *buf,
				 size_t size)
{
	char b[2][SHOWN_NUMBER];
	size_t n = 0;

	*buf = 0;
	if (!p->heap)
		return buf;
	n = (size_t)snprintf(buf, size, " heap %s, paged out %s",
			     shown_bytes(p->heap, b[0]),
			     shown_bytes(p->heap_out, b[1]));
	if (p->heap_used >= 0)
		n += (size_t)snprintf(buf + n, size - n, ", used %.0f %%",
				      p->heap_used);
	snprintf(buf + n, size - n, ";");
	return buf;
}

/* Of the process whose row is selected. */
void top_head_process(const struct top_view *v, unsigned columns, wchar_t *ret)
{
	const struct top_process *p =
		v->selected < v->rows ? v->row[v->selected].process : NULL;
	const unsigned long up = p ? (unsigned long)p->uptime : 0;
	char b[4][SHOWN_NUMBER], heap[96], text[512] = "";

	if (p)
		snprintf(text, sizeof(text),
			 "%d %.200s: cache %s of %s;%s "
			 "fault p50 %s, p99 %s; up %lu:%02lu:%02lu",
			 p->pid, p->program, shown_bytes(p->resident, b[0]),
			 shown_bytes(p->limit, b[1]),
			 top_head_heap(p, heap, sizeof(heap)),
			 shown_time(p->p50, b[2]),
			 shown_time(p->p99, b[3]), up / 3600, up / 60 % 60,
			 up % 60);
	shown_text(text, columns, true, ret);
}
