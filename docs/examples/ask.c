/* SPDX-License-Identifier: MIT */
/*
 * ask.c - what a program can ask of libfastmap (fastmap.h), in one: rows of a
 * large file, each batch asked for while the one before it is summed.
 *
 *	cc -O2 -o ask ask.c
 *	fastmap run -- ./ask FILE
 *
 * It needs no paths, and runs as well without the library. The sum is the same.
 */
#include <fastmap.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW 4096
#define ROWS 64 /* of a batch */
#define BATCHES 32

static unsigned char *table;
static size_t rows;

/* As a hash or an index would give them: here and there. */
static size_t chosen(size_t batch, size_t i)
{
	return (batch * ROWS + i) * 2654435761u % rows;
}

/* Returns at once. 0 is over; -1, without the library: no reason to stop. */
static fastmap_ticket ask(size_t batch)
{
	struct fastmap_range list[ROWS];

	for (size_t i = 0; i < ROWS; i++) {
		list[i].addr = table + chosen(batch, i) * ROW;
		list[i].len = ROW;
	}
	return fastmap_prefetch(list, ROWS, 0);
}

static unsigned long sum(size_t batch)
{
	unsigned long n = 0;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < ROW; k++)
			n += table[chosen(batch, i) * ROW + k];
	return n;
}

/* Waiting is never needed: a touch waits for its page. It is for a thread that
 * has other work until then. */
static void wait_by_poll(fastmap_ticket ticket)
{
	struct pollfd p = { .events = POLLIN };

	if (ticket < 0)
		return;
	p.fd = fastmap_ticket_fd(ticket);
	if (p.fd < 0)
		return;
	poll(&p, 1, 5000); /* beside the sockets of an event loop */
	close(p.fd);
}

static void report(void)
{
	struct fastmap_stat s;
	char text[256];

	if (fastmap_why(table, text, sizeof(text)) > 0)
		fprintf(stderr, "served by %s\n", text);
	if (fastmap_stat(&s, sizeof(s)) == 0)
		fprintf(stderr, "%lu pages read ahead, %lu faults, %lu KiB "
			"of %lu in memory\n", (unsigned long)s.ahead_pages,
			(unsigned long)s.answered,
			(unsigned long)(s.cache_resident >> 10),
			(unsigned long)(s.cache_limit >> 10));
}

static int work(size_t size)
{
	/* The head is needed all the time; all of it is done with at the end. */
	struct fastmap_range head = { table, ROW }, all = { table, size };
	unsigned long total = 0;

	fastmap_advise(&all, 1, FASTMAP_RANDOM, 0);
	if (fastmap_pin(&head, 1) && fastmap_available())
		perror("ask: not pinned");
	wait_by_poll(ask(0));
	for (size_t batch = 0; batch < BATCHES; batch++) {
		if (batch + 1 < BATCHES)
			ask(batch + 1);
		total += sum(batch);
	}
	fastmap_wait(fastmap_prefetch(&head, 1, 0), 1000);
	printf("%lu\n", total + table[0]);
	report();
	fastmap_unpin(&head, 1);
	fastmap_release(&all, 1);
	return fastmap_unmap(table, size) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) || st.st_size < ROW) {
		fprintf(stderr, "usage: ask FILE (a page or more)\n");
		return 2;
	}
	rows = (size_t)st.st_size / ROW;
	table = fastmap_map(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd,
			    0);
	close(fd);
	if (table == MAP_FAILED) {
		perror("ask");
		return 1;
	}
	return work((size_t)st.st_size);
}
