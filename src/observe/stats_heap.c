/* SPDX-License-Identifier: MIT */
/* stats_heap.c - the heap on a file (heap_calls.h): its sizes, what of it has
 * left memory, what of it the program has. */
#include "base/json.h"
#include "base/sys.h"
#include "stats_priv.h"

static struct fm_file *heap_file(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (fm_is_heap(f))
			return f;
	return NULL;
}

/* Of the kernel's pages nobody knows which are in memory. */
static void paged_out(struct fm_json *o, struct fm_file *f, uint64_t in_file)
{
	const uint64_t there = (uint64_t)fm_cache_of(f) << FM_PAGE_SHIFT;

	if (fm_kernel_serves(f)) {
		fm_json_text(o, "paged_out_bytes", NULL);
		return;
	}
	fm_json_uint(o, "paged_out_bytes", in_file > there ? in_file - there :
							       0);
}

void fm_stats_heap(struct fm_json *o, bool alone)
{
	struct fm_heap_bytes s;
	struct fm_file *f;

	if (!fm_heap_bytes_of(&s, !alone)) {
		fm_json_text(o, "heap", NULL);
		return;
	}
	f = heap_file();
	fm_json_open(o, "heap", '{');
	fm_json_uint(o, "limit_bytes", s.most);
	fm_json_uint(o, "file_bytes", s.in_file);
	fm_json_uint(o, "memory_bytes", s.in_memory);
	if (f)
		paged_out(o, f, s.in_file);
	else
		fm_json_uint(o, "paged_out_bytes", 0);
	if (s.used == UINT64_MAX)
		fm_json_text(o, "used_bytes", NULL);
	else
		fm_json_uint(o, "used_bytes", s.used);
	fm_json_uint(o, "page_outs", f ? atomic_load(&f->st->evictions) : 0);
	fm_json_uint(o, "written_bytes", f ? atomic_load(&f->st->wb_bytes) : 0);
	fm_json_close(o, '}');
}
