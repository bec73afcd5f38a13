/* SPDX-License-Identifier: MIT */
/*
 * mapload.c - an ordinary mmap program that makes load and measures itself.
 *
 * It knows nothing of the engine: the same binary runs natively and
 * preloaded. One JSON object on stdout; exit status 1 when a wrong word was
 * read.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage_text[] =
	"mapload --file F [options]\n"
	"  --pattern uniform|zipf|seq|back|stride|streams|scanhot|fresh|pair|\n"
	"            foreign|fits\n"
	"  --op read|write|rmw     --touch word|all   (of each 4 KiB page)\n"
	"  --threads N             --seconds S | --ops N (per thread)\n"
	"  --offset B --range B    part of the file   --prefill B  read first\n"
	"  --theta X               zipf               --stride B\n"
	"  --streams N             --hot B --hot-percent P\n"
	"  --window B --touches N --live N            fresh\n"
	"  --settle S              fits: touches go on for S seconds\n"
	"  --hint none|random|sequential|willneed     --populate\n"
	"  --sample N              time each Nth access (0: none)\n"
	"  --gen N                 generation stored and accepted\n"
	"  --no-verify             do not check what is read\n"
	"  --written F             write a bitmap of stored pages to F\n"
	"  --trace F --trace-max N record every access (8 bytes each)\n"
	"  --seed N\n";

enum {
	O_FILE = 1, O_PATTERN, O_OP, O_TOUCH, O_THREADS, O_SECONDS, O_OPS,
	O_OFFSET, O_RANGE, O_PREFILL, O_THETA, O_STRIDE, O_STREAMS, O_HOT,
	O_HOTP, O_WINDOW, O_TOUCHES, O_LIVE, O_HINT, O_POPULATE, O_SAMPLE,
	O_GEN, O_NOVERIFY, O_WRITTEN, O_TRACE, O_TRACEMAX, O_SEED,
	O_SETTLE,
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
	{ "help", 0, 0, 'h' }, { 0 },
};

__attribute__((noreturn)) static void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static void fail(const char *what)
{
	fprintf(stderr, "mapload: %s: %s\n", what, strerror(errno));
	exit(1);
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
	case O_TRACE: l->trace_path = v; break;
	case O_TRACEMAX: l->trace_max = parse_size(v); break;
	case O_SEED: l->seed = parse_size(v); break;
	case 'h': fputs(usage_text, stdout); exit(0);
	default: usage();
	}
}

static void *zeroed(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		fail("memory for records");
	return p;
}

static void open_file(struct load *l)
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

static void map_file(struct load *l)
{
	int flags = MAP_SHARED | (l->populate ? MAP_POPULATE : 0);

	l->base = mmap(NULL, l->range, l->prot, flags, l->fd, (off_t)l->offset);
	if (l->base == MAP_FAILED)
		fail("mmap");
	give_hint(l);
	if (l->written_path)
		l->written =
			zeroed(((l->offset + l->range) / PAGE / 64 + 1) * 8);
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
 * of the range is read, so that a scan from its start finds nothing cached. */
static void prefill(struct load *l, struct worker *w)
{
	uint64_t n = l->prefill / PAGE, end = l->conf.pages;

	if (n)
		read_pages(l, w, n < end ? end - n : 0, end);
	for (unsigned k = 0; k < 2 && !strcmp(l->pattern, "scanhot"); k++)
		read_pages(l, w, 0, l->conf.hot_pages);
	atomic_store(&l->trace_n, 0);
}

static worker_fn *body(const char *pattern)
{
	if (!strcmp(pattern, "fresh"))
		return run_fresh;
	if (!strcmp(pattern, "pair"))
		return run_pair;
	if (!strcmp(pattern, "foreign"))
		return run_foreign;
	return run_pattern;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&w->load->start);
	body(w->load->pattern)(w);
	w->end_ns = now_ns();
	return NULL;
}

static void start_workers(struct load *l, struct worker *w)
{
	bool plain = body(l->pattern) == run_pattern;

	pthread_barrier_init(&l->start, NULL, l->threads + 1);
	for (unsigned i = 0; i < l->threads; i++) {
		w[i].load = l;
		w[i].id = i;
		if (pattern_init(&w[i].pat, &l->conf,
				 plain ? l->pattern : "uniform", i, l->threads,
				 l->seed))
			usage();
		if (pthread_create(&w[i].thread, NULL, worker_main, &w[i]))
			fail("pthread_create");
	}
}

static void wait_seconds(double s)
{
	struct timespec ts = { (time_t)s,
			       (long)((s - (double)(time_t)s) * 1e9) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Returns seconds from the start until the last thread was done. */
static double run_workers(struct load *l, struct worker *w)
{
	uint64_t t0, end = 0;

	start_workers(l, w);
	pthread_barrier_wait(&l->start);
	t0 = now_ns();
	if (!l->ops) {
		wait_seconds(l->seconds);
		atomic_store(&l->stop, true);
	}
	for (unsigned i = 0; i < l->threads; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].end_ns > end)
			end = w[i].end_ns;
	}
	return (double)(end - t0) / 1e9;
}

static double final_msync(const struct load *l)
{
	uint64_t t0 = now_ns();

	if (l->op == OP_READ)
		return 0;
	if (msync(l->base, l->range, MS_SYNC))
		fail("msync");
	return (double)(now_ns() - t0) / 1e9;
}

static void save(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		fail(path);
}

static void save_records(struct load *l)
{
	uint64_t n = atomic_load(&l->trace_n);

	if (l->written)
		save(l->written_path, (void *)l->written,
		     ((l->offset + l->range) / PAGE / 64 + 1) * 8);
	if (l->trace)
		save(l->trace_path, (void *)l->trace,
		     8 * (n < l->trace_max ? n : l->trace_max));
}

static void print_latency(const struct hist *h)
{
	printf(",\"timed\":%lu,\"lat_ns\":{\"p50\":%lu,\"p90\":%lu,\"p99\":%lu,"
	       "\"p999\":%lu,\"max\":%lu}", h->count, hist_quantile(h, 500),
	       hist_quantile(h, 900), hist_quantile(h, 990),
	       hist_quantile(h, 999), h->max);
}

static uint64_t report(const struct load *l, struct worker *w, double elapsed,
		       double sync_s)
{
	for (unsigned i = 1; i < l->threads; i++) {
		hist_merge(&w->hist, &w[i].hist);
		w->accesses += w[i].accesses;
		w->wrong += w[i].wrong;
		w->hot += w[i].hot;
		w->hot_hits += w[i].hot_hits;
	}
	printf(",\"elapsed_s\":%.6f,\"msync_s\":%.6f,\"accesses\":%lu,"
	       "\"wrong\":%lu", elapsed, sync_s, w->accesses, w->wrong);
	printf(",\"rate\":%.2f,\"rate_with_msync\":%.2f",
	       (double)w->accesses / elapsed,
	       (double)w->accesses / (elapsed + sync_s));
	print_latency(&w->hist);
	if (w->hot)
		printf(",\"hot\":%lu,\"hot_hit_ratio\":%.6f", w->hot,
		       (double)w->hot_hits / (double)w->hot);
	printf(",\"rss_bytes\":%lu,\"peak_rss_bytes\":%lu,\"pte_bytes\":%lu",
	       status_bytes("VmRSS:"), status_bytes("VmHWM:"),
	       status_bytes("VmPTE:"));
	printf(",\"anon_bytes\":%lu", status_bytes("RssAnon:"));
	return w->wrong;
}

static void print_head(const struct load *l)
{
	static const char *const ops[] = { "read", "write", "rmw" };

	printf("{\"pattern\":\"%s\",\"op\":\"%s\",\"threads\":%u,\"hint\":\"%s\","
	       "\"range\":%lu,\"touch\":\"%s\",\"gen\":%lu",
	       l->pattern, ops[l->op], l->threads, l->hint, l->range,
	       l->touch_all ? "all" : "word", l->gen);
}

int main(int argc, char **argv)
{
	static struct load l = {
		.pattern = "uniform", .hint = "none", .verify = true,
		.threads = 1, .sample = 1, .seconds = 3, .window = 65536,
		.accesses = 4, .trace_max = 1 << 24, .seed = 1,
		.conf = { .theta = 0.99, .stride = 16, .streams = 8,
			  .hot_percent = 50 },
	};
	double elapsed = 0, sync_s;
	struct usage before, after;
	struct worker *w;
	uint64_t wrong;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		option(&l, c, optarg);
	if (!l.file || optind != argc)
		usage();
	open_file(&l);
	pattern_setup(&l.conf, l.pattern);
	map_file(&l);
	w = zeroed(l.threads * sizeof(*w));
	w->load = &l;
	prefill(&l, w);
	print_head(&l);
	usage_get(&before, l.dev);
	if (!strcmp(l.pattern, "fits")) {
		uint64_t t0 = now_ns();

		l.threads = 1;
		run_fits(&l, w);
		elapsed = (double)(now_ns() - t0) / 1e9;
	} else {
		elapsed = run_workers(&l, w);
	}
	sync_s = final_msync(&l);
	usage_get(&after, l.dev);
	wrong = report(&l, w, elapsed, sync_s);
	usage_print(&before, &after);
	puts("}");
	save_records(&l);
	return wrong != 0;
}
