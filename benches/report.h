/* SPDX-License-Identifier: MIT */
/* report.h - what the load generator prints and saves. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "members.h"

void report(const struct load *l, const struct outcome *o);
/* The bitmap of stored pages, and the trace. */
void save_records(struct load *l);

#endif
