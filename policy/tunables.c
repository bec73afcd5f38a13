/* SPDX-License-Identifier: MIT */
/* tunables.c - the values of tunables.def, and others for experiments. */
#include "tunables.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "set.h"

/* On lines of their own: nobody writes beside them. */
struct fm_tunables fm_tune __attribute__((aligned(64))) = {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	.name = value,
#include "tunables.def"
};

const struct fm_tunable fm_tunables[] = {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	{ #name, offsetof(struct fm_tunables, name), sizeof(fm_tune.name),  \
	  _Generic(fm_tune.name, double: true, default: false), least, most },
#include "tunables.def"
};
const unsigned fm_tunable_count = sizeof(fm_tunables) / sizeof(fm_tunables[0]);

static char *place_of(const struct fm_tunable *t)
{
	return (char *)&fm_tune + t->offset;
}

uint64_t fm_tunable_value(const struct fm_tunable *t)
{
	const char *at = place_of(t);
	uint32_t narrow;
	uint64_t v;
	double d;

	if (t->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	if (t->real) {
		memcpy(&d, at, sizeof(d));
		return (uint64_t)d;
	}
	memcpy(&v, at, sizeof(v));
	return v;
}

static void tunables_put(const struct fm_tunable *t, uint64_t v)
{
	const uint32_t narrow = (uint32_t)v;
	const double d = (double)v;

	if (t->size == sizeof(narrow))
		memcpy(place_of(t), &narrow, sizeof(narrow));
	else if (t->real)
		memcpy(place_of(t), &d, sizeof(d));
	else
		memcpy(place_of(t), &v, sizeof(v));
}

static const struct fm_tunable *tunables_find(const char *name)
{
	for (unsigned i = 0; i < fm_tunable_count; i++)
		if (!strcmp(fm_tunables[i].name, name))
			return &fm_tunables[i];
	return NULL;
}

/* v in decimal, at the end of the buffer. */
static const char *tunables_number(char *buf, size_t size, uint64_t v)
{
	char *p = buf + size - 1;

	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	return p;
}

static void tunables_complain(const char *item, const char *why,
			      const struct fm_tunable *t)
{
	const struct fm_origin from = { .file = "FASTMAP_TUNE" };
	char least[24], most[24], range[64] = "", used[128];

	if (t)
		fm_join(range, sizeof(range),
			tunables_number(least, sizeof(least), t->least), " to ",
			tunables_number(most, sizeof(most), t->most));
	fm_join(used, sizeof(used), range, t ? "; " : "",
		"ignored, the default stays");
	fm_complain(&from, why, item, used);
}

/* "NAME=VALUE" */
static bool set_one(char *item)
{
	char *value = strchr(item, '=');
	const struct fm_tunable *t = NULL;
	uint64_t v;

	if (value) {
		*value = 0;
		t = tunables_find(item);
		*value++ = '=';
	}
	if (t && !fm_parse_size(value, 0, &v) && v >= t->least &&
	    v <= t->most) {
		tunables_put(t, v);
		return true;
	}
	tunables_complain(item, t ? "not in the range" : "no such tunable", t);
	return false;
}

unsigned fm_tunables_set(const char *text)
{
	unsigned bad = 0;
	char item[128];

	while (*text) {
		const size_t n = strcspn(text, ",");
		const size_t len = n < sizeof(item) ? n : sizeof(item) - 1;

		memcpy(item, text, len);
		item[len] = 0;
		bad += len && !set_one(item);
		text += n + (text[n] != 0);
	}
	return bad;
}
