/* SPDX-License-Identifier: MIT */
/* views.h - a file that is mapped several times, and whether all of these
 * agree. */
#ifndef VIEWS_H
#define VIEWS_H

#include "ct.h"

struct views {
	char *const *map; /* of all of the file, */
	size_t maps;      /* so often; */
	int fd;
	size_t pages;
	size_t step; /* of which every such one is looked at */
};

/* Through one of them a byte is stored that is seen in all, and in the file. */
static size_t views_wrong(const struct views *v, size_t i)
{
	static unsigned stored;
	const size_t at = i / v->maps * PAGE + 100;
	size_t bad = 0;

	ct_store(v->map[i % v->maps] + at, (int)++stored);
	for (size_t k = 0; k < v->maps; k++)
		bad += ct_load(v->map[k] + at) != (int)(stored & 255);
	return bad + (ct_in_file(v->fd, (off_t)at) != (int)(stored & 255));
}

/* How many bytes are not what they must be. Page i begins with i. */
static size_t views_agree(const struct views *v)
{
	size_t bad = 0;

	for (size_t i = 0; i < v->pages; i += v->step)
		for (size_t k = 0; k < v->maps; k++)
			bad += ct_load(v->map[k] + i * PAGE) != (int)(i & 255);
	for (size_t i = 0; i < v->pages * v->maps; i += v->step)
		bad += views_wrong(v, i);
	return bad;
}

#endif
