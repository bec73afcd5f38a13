/* SPDX-License-Identifier: MIT */
/* stats_fields.c - the counters of a file: their names in the statistics and
 * the metrics, and what they count. */
#include <stddef.h>

#include "file/file.h"
#include "stats_priv.h"

#define FIELD(m, text) { #m, text, offsetof(struct fm_file_stats, m) }
static const struct {
	const char *name, *help;
	size_t offset;
} fields[] = {
	FIELD(faults_read, "Loads of a page that was not there"),
	FIELD(faults_write, "Stores to a page that was not there"),
	FIELD(faults_wp, "First stores to a page that was only read"),
	FIELD(loads, "Requests to the device for pages"),
	FIELD(load_bytes, "Bytes that were read for pages, holes of the files among them"),
	FIELD(hits_ahead, "Faults whose page readahead had"),
	FIELD(hits_alias, "Faults whose page another mapping had"),
	FIELD(hits_standby, "Faults whose page was kept beside the mappings"),
	FIELD(hits_kept, "Pages still there when the file was mapped again"),
	FIELD(rewritten, "Pages changed in place by write(2) and its like"),
	FIELD(lazy, "Evicted pages that stayed readable"),
	FIELD(lazy_lost, "Evicted pages that the kernel took after all"),
	FIELD(evictions, "Pages that left the cache to make room"),
	FIELD(collapsed, "Units of 2 MiB that were made huge pages"),
	FIELD(writebacks, "Pages that were written to the file"),
	FIELD(wb_bytes, "Bytes that were written to the file"),
	FIELD(wb_errors, "Writes that failed"),
	FIELD(ahead_pages, "Pages that were read ahead"),
	FIELD(ahead_waste, "Pages that were read ahead and dropped untouched"),
	FIELD(ahead_refused, "Pages of MADV_WILLNEED that there was no room for"),
	FIELD(read_errors, "Reads that failed"),
	FIELD(mappings, "Mappings that the engine was given"),
	FIELD(demotions, "Times that a file was handed to the kernel"),
	FIELD(promoted, "Times that a file was promoted from the kernel"),
	FIELD(engine_trials, "Times that the engine was tried for a file that "
	      "the program waited for"),
	FIELD(engine_kept, "Of these, times that it did better"),
	FIELD(spent_ns, "Time that threads spent in the engine's faults"),
	FIELD(unmapped_ns, "Of it, for pages that an unmap had lost"),
	FIELD(room_ns, "Of it, to make room for what is stored to holes"),
	FIELD(words_ns, "Time that threads took to write what they had stored "
	      "before word went to other processes"),
};

_Static_assert(sizeof(fields) / sizeof(fields[0]) == FM_STATS_FIELDS,
	       "each counter has its row");

const char *fm_stats_field_name(unsigned i)
{
	return fields[i].name;
}

const char *fm_stats_field_help(unsigned i)
{
	return fields[i].help;
}

static _Atomic uint64_t *stats_fields_field(const struct fm_file_stats *st,
					    unsigned i)
{
	return (_Atomic uint64_t *)((char *)(uintptr_t)st + fields[i].offset);
}

uint64_t fm_stats_field(const struct fm_file_stats *st, unsigned i)
{
	return atomic_load(stats_fields_field(st, i));
}

void fm_stats_add(struct fm_file_stats *to, const struct fm_file_stats *from)
{
	for (unsigned i = 0; i < FM_STATS_FIELDS; i++)
		atomic_fetch_add(stats_fields_field(to, i),
				 fm_stats_field(from, i));
}

void fm_stats_sum(struct fm_file_stats *to, const struct fm_file_stats *from)
{
	fm_stats_add(to, from);
	fm_served_add(&to->served, &from->served);
}
