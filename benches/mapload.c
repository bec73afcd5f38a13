/* SPDX-License-Identifier: MIT */
/*
 * mapload.c - an ordinary mmap program that makes load and measures itself.
 *
 * It knows nothing of the engine: the same binary runs natively and
 * preloaded. One JSON object on stdout; exit status 1 when a wrong word was
 * read.
 */
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char usage_text[] =
	"mapload --file F [options]\n"
	"  --pattern uniform|zipf|seq|back|stride|streams|scanhot|spread|fresh|\n"
	"            pair|foreign|fits\n"
	"  --op read|write|rmw     --touch word|all   (of each 4 KiB page)\n"
	"  --threads N             --seconds S | --ops N (per thread)\n"
	"  --forked N              N workers, forked after the map\n"
	"  --processes N           N programs that map the file themselves\n"
	"  --offset B --range B    part of the file   --prefill B  read first\n"
	"  --theta X               zipf               --stride B\n"
	"  --streams N             --hot B (scanhot, spread) --hot-percent P\n"
	"  --window B --touches N --live N            fresh\n"
	"  --settle S              fits: touches go on for S seconds\n"
	"  --hint none|random|sequential|willneed     --populate\n"
	"  --sample N              time each Nth access (0: none)\n"
	"  --gen N                 generation stored and accepted\n"
	"  --no-verify             do not check what is read\n"
	"  --written F             write a bitmap of stored pages to F\n"
	"  --progress F            how far it is, each quarter of a second\n"
	"  --trace F --trace-max N record every access (8 bytes each)\n"
	"  --seed N\n";

enum {
	O_FILE = 1, O_PATTERN, O_OP, O_TOUCH, O_THREADS, O_SECONDS, O_OPS,
	O_OFFSET, O_RANGE, O_PREFILL, O_THETA, O_STRIDE, O_STREAMS, O_HOT,
	O_HOTP, O_WINDOW, O_TOUCHES, O_LIVE, O_HINT, O_POPULATE, O_SAMPLE,
	O_GEN, O_NOVERIFY, O_WRITTEN, O_TRACE, O_TRACEMAX, O_SEED,
	O_SETTLE, O_FORKED, O_PROCESSES, O_MEMBER, O_PROGRESS,
};

static const struct option options[] = {
	{ "file", 1, 0, O_FILE }, { "pattern", 1, 0, O_PATTERN },
	{ "op", 1, 0, O_OP }, { "touch", 1, 0, O_TOUCH },
	{ "threads", 1, 0, O_THREADS }, { "seconds", 1, 0, O_SECONDS },
	{ "ops", 1, 0, O_OPS }, { "offset", 1, 0, O_OFFSET },
	{ "range", 1, 0, O_RANGE }, { "prefill", 1, 0, O_PREFILL },
	{ "theta", 1, 0, O_THETA }, { "stride", 1, 0, O_STRIDE },
	{ "streams", 1, 0, O_STREAMS }, { "hot", 1, 0, O_HOT },
	{ "hot-percent", 1, 0, O_HOTP }, { "window", 1, 0, O_WINDOW },
	{ "touches", 1, 0, O_TOUCHES }, { "live", 1, 0, O_LIVE },
	{ "hint", 1, 0, O_HINT }, { "populate", 0, 0, O_POPULATE },
	{ "sample", 1, 0, O_SAMPLE }, { "gen", 1, 0, O_GEN },
	{ "no-verify", 0, 0, O_NOVERIFY }, { "written", 1, 0, O_WRITTEN },
	{ "trace", 1, 0, O_TRACE }, { "trace-max", 1, 0, O_TRACEMAX },
	{ "seed", 1, 0, O_SEED }, { "settle", 1, 0, O_SETTLE },
	{ "forked", 1, 0, O_FORKED }, { "processes", 1, 0, O_PROCESSES },
	{ "member", 1, 0, O_MEMBER }, /* what a program of --processes gets */
	{ "progress", 1, 0, O_PROGRESS },
	{ "help", 0, 0, 'h' }, { 0 },
};

void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

void fail(const char *what)
{
	fprintf(stderr, "mapload: %s: %s\n", what, strerror(errno));
	exit(1);
}

void *zeroed(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		fail("memory for records");
	return p;
}

static enum op parse_op(const char *s)
{
	if (!strcmp(s, "read"))
		return OP_READ;
	if (!strcmp(s, "write"))
		return OP_WRITE;
	if (strcmp(s, "rmw"))
		usage();
	return OP_RMW;
}

static void option(struct load *l, int c, const char *v)
{
	switch (c) {
	case O_FILE: l->file = v; break;
	case O_PATTERN: l->pattern = v; break;
	case O_OP: l->op = parse_op(v); break;
	case O_TOUCH: l->touch_all = !strcmp(v, "all"); break;
	case O_THREADS: l->threads = (unsigned)atoi(v); break;
	case O_SECONDS: l->seconds = atof(v); break;
	case O_SETTLE: l->settle = atof(v); break;
	case O_FORKED: l->forked = (unsigned)atoi(v); break;
	case O_PROCESSES: l->processes = (unsigned)atoi(v); break;
	case O_MEMBER: l->member_text = v; break;
	case O_OPS: l->ops = parse_size(v); break;
	case O_OFFSET: l->offset = parse_size(v); break;
	case O_RANGE: l->range = parse_size(v); break;
	case O_PREFILL: l->prefill = parse_size(v); break;
	case O_THETA: l->conf.theta = atof(v); break;
	case O_STRIDE: l->conf.stride = (unsigned)(parse_size(v) / PAGE); break;
	case O_STREAMS: l->conf.streams = (unsigned)atoi(v); break;
	case O_HOT: l->hot = parse_size(v); break;
	case O_HOTP: l->conf.hot_percent = (unsigned)atoi(v); break;
	case O_WINDOW: l->window = parse_size(v); break;
	case O_TOUCHES: l->accesses = parse_size(v); break;
	case O_LIVE: l->live = parse_size(v); break;
	case O_HINT: l->hint = v; break;
	case O_POPULATE: l->populate = true; break;
	case O_SAMPLE: l->sample = (unsigned)atoi(v); break;
	case O_GEN: l->gen = parse_size(v); break;
	case O_NOVERIFY: l->verify = false; break;
	case O_WRITTEN: l->written_path = v; break;
	case O_PROGRESS: l->progress_path = v; break;
	case O_TRACE: l->trace_path = v; break;
	case O_TRACEMAX: l->trace_max = parse_size(v); break;
	case O_SEED: l->seed = parse_size(v); break;
	case 'h': fputs(usage_text, stdout); exit(0);
	default: usage();
	}
}

/* Members: how many processes there are that work. */
static void count_members(struct load *l)
{
	l->members = l->forked ? l->forked : l->processes ? l->processes : 1;
	if (l->members > MAX_MEMBERS || (l->forked && l->processes) ||
	    (l->members > 1 && l->trace_path))
		usage();
	if (!strcmp(l->pattern, "fits"))
		l->threads = 1;
}

static struct load load = {
	.pattern = "uniform", .hint = "none", .verify = true,
	.threads = 1, .sample = 1, .seconds = 3, .window = 65536,
	.accesses = 4, .trace_max = 1 << 24, .seed = 1,
	.conf = { .theta = 0.99, .stride = 16, .streams = 8,
		  .hot_percent = 50 },
};
static struct outcome outcome;

int main(int argc, char **argv)
{
	struct load *l = &load;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		option(l, c, optarg);
	if (!l->file || optind != argc)
		usage();
	count_members(l);
	open_file(l);
	pattern_setup(&l->conf, l->pattern);
	if (l->member_text) {
		shared_open(l, l->member_text);
		map_file(l);
		member_run(l);
		return 0;
	}
	shared_make(l);
	if (!l->processes)
		map_file(l);
	members_run(l, argv, &outcome);
	report(l, &outcome);
	save_records(l);
	return outcome.sum.wrong != 0;
}
