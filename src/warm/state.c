/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <string.h>

#include "base/sys.h"

#define UNIT FM_HUGE_PAGES
#define MAGIC "FMWARM1\n"
#define UNIT_ROOM (UNIT / 4 + 12) /* size: bytes of a record at most */

/* As it lies in the file. */
struct disk_head {
	char magic[8];
	uint32_t crc; /* of all that follows it */
	uint32_t path_len;
	uint64_t len; /* of the whole */
	uint64_t ino, born, size;
	int64_t mtime, saved;
	uint64_t live;
};

enum { WHOLE, BITS, PAIRS, RUNS }; /* form, in two bits; then the level */

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t table[256], c;

	for (uint32_t i = 0; i < 256; i++) {
		c = i;
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
		table[i] = c;
	}
	c = ~0u;
	for (size_t i = 0; i < n; i++)
		c = c >> 8 ^ table[(c ^ p[i]) & 0xff];
	return ~c;
}

/* ---- writing ----------------------------------------------------------- */

static uint8_t *put_number(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static uint64_t run_from(const uint8_t *level, uint64_t i)
{
	uint64_t n = 1;

	while (i + n < UNIT && level[i + n] == level[i])
		n++;
	return n;
}

/* The runs of a unit that are hot; 0: they take no less than `most` bytes. */
static size_t put_runs(uint8_t *at, const uint8_t *level, size_t most)
{
	uint8_t *count = at++, *const start = count;
	uint64_t skip = 0, n;

	*count = 0;
	for (uint64_t i = 0; i < UNIT; i += n) {
		n = run_from(level, i);
		skip += level[i] ? 0 : n;
		if (!level[i])
			continue;
		if ((size_t)(at - start) + 4 >= most)
			return 0;
		at = put_number(at, skip);
		at = put_number(at, (n - 1) << 2 | level[i]);
		++*count;
		skip = 0;
	}
	return (size_t)(at - start);
}

static uint8_t *put_bits(uint8_t *at, const uint8_t *level, unsigned bits)
{
	const size_t n = UNIT * bits / 8;

	memset(at, 0, n);
	for (uint64_t i = 0; i < UNIT; i++)
		at[i * bits / 8] |= (uint8_t)((bits == 1 ? !!level[i] :
						level[i])
					       << i * bits % 8);
	return at + n;
}

/* The one level that there is in a unit; 0: there are several. */
static unsigned only_level(const uint8_t *level)
{
	unsigned only = 0;

	for (uint64_t i = 0; i < UNIT; i++) {
		if (level[i] && only && level[i] != only)
			return 0;
		if (level[i])
			only = level[i];
	}
	return only;
}

static uint8_t *put_unit(uint8_t *at, const uint8_t *level)
{
	const unsigned only = only_level(level);
	size_t n;

	if (only && run_from(level, 0) == UNIT) {
		*at++ = (uint8_t)(WHOLE | only << 2);
		return at;
	}
	n = put_runs(at + 1, level, only ? UNIT / 8 : UNIT / 4);
	if (n) {
		*at = RUNS;
		return at + 1 + n;
	}
	*at++ = (uint8_t)(only ? BITS | only << 2 : PAIRS);
	return put_bits(at, level, only ? 1 : 2);
}

static uint8_t *put_pages(uint8_t *at, const struct fm_warm_pages *p)
{
	uint64_t next = 0; /* unit, if none is left out */

	for (uint64_t i = fm_warm_next(p, 0, FM_HOT_PAST); i < p->n;
	     i = fm_warm_next(p, next * UNIT, FM_HOT_PAST)) {
		const uint64_t unit = i / UNIT;
		uint8_t level[UNIT];

		for (uint64_t k = 0; k < UNIT; k++)
			level[k] = (uint8_t)fm_warm_level(p, unit * UNIT + k);
		at = put_number(at, unit - next);
		at = put_unit(at, level);
		next = unit + 1;
	}
	return at;
}

size_t fm_warm_state_room(const struct fm_warm_head *h,
			  const struct fm_warm_pages *p)
{
	return sizeof(struct disk_head) + h->path_len +
	       (p->n + UNIT - 1) / UNIT * UNIT_ROOM;
}

#define AFTER_CRC (offsetof(struct disk_head, crc) + sizeof(uint32_t))

void fm_warm_state_seal(uint8_t *buf, size_t len)
{
	struct disk_head d;

	if (len < sizeof(d))
		return;
	memcpy(&d, buf, sizeof(d));
	memcpy(d.magic, MAGIC, sizeof(d.magic));
	d.len = len;
	memcpy(buf, &d, sizeof(d));
	d.crc = crc32c(buf + AFTER_CRC, len - AFTER_CRC);
	memcpy(buf, &d, sizeof(d));
}

size_t fm_warm_state_write(const struct fm_warm_head *h,
			   const struct fm_warm_pages *p, uint8_t *buf)
{
	struct disk_head d = {
		.path_len = (uint32_t)h->path_len, .ino = h->ino,
		.born = h->born, .size = h->size, .mtime = h->mtime,
		.saved = h->saved, .live = h->live,
	};
	uint8_t *at = buf + sizeof(d);

	memcpy(buf, &d, sizeof(d));
	memcpy(at, h->path, h->path_len);
	at = put_pages(at + h->path_len, p);
	fm_warm_state_seal(buf, (size_t)(at - buf));
	return (size_t)(at - buf);
}

/* ---- reading ----------------------------------------------------------- */

int fm_warm_state_head(const uint8_t *buf, size_t len,
		       struct fm_warm_head *ret)
{
	struct disk_head d;

	if (len < sizeof(d))
		return -EBADMSG;
	memcpy(&d, buf, sizeof(d));
	if (memcmp(d.magic, MAGIC, sizeof(d.magic)) || d.len != len ||
	    d.path_len > len - sizeof(d) || d.path_len >= FM_WARM_PATH ||
	    d.crc != crc32c(buf + AFTER_CRC, len - AFTER_CRC))
		return -EBADMSG;
	*ret = (struct fm_warm_head){
		.ino = d.ino, .born = d.born, .size = d.size, .mtime = d.mtime,
		.saved = d.saved, .live = d.live,
		.path = (const char *)buf + sizeof(d), .path_len = d.path_len,
	};
	return 0;
}

struct input {
	const uint8_t *at, *end;
};

static bool get_number(struct input *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; in->at < in->end && shift < 63; shift += 7) {
		const uint8_t b = *in->at++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool get_byte(struct input *in, uint8_t *ret)
{
	if (in->at == in->end)
		return false;
	*ret = *in->at++;
	return true;
}

static void set_run(struct fm_warm_pages *p, uint64_t first, uint64_t n,
		    unsigned level)
{
	for (uint64_t i = first; i < first + n; i++)
		fm_warm_raise(p, i, level);
}

static bool get_runs(struct input *in, uint64_t first, struct fm_warm_pages *p)
{
	uint64_t i = 0, skip, v;
	uint8_t n;

	if (!get_byte(in, &n))
		return false;
	while (n--) {
		if (!get_number(in, &skip) || !get_number(in, &v) ||
		    skip > UNIT || (v >> 2) >= UNIT ||
		    i + skip + (v >> 2) + 1 > UNIT)
			return false;
		set_run(p, first + i + skip, (v >> 2) + 1, v & 3);
		i += skip + (v >> 2) + 1;
	}
	return true;
}

static bool get_bits(struct input *in, uint64_t first, struct fm_warm_pages *p,
		     unsigned bits, unsigned level)
{
	const size_t n = UNIT * bits / 8;

	if ((size_t)(in->end - in->at) < n)
		return false;
	for (uint64_t i = 0; i < UNIT; i++) {
		const unsigned v = in->at[i * bits / 8] >> i * bits % 8 &
				   (bits == 1 ? 1 : 3);

		fm_warm_raise(p, first + i, bits == 1 ? v * level : v);
	}
	in->at += n;
	return true;
}

static bool get_unit(struct input *in, uint64_t first, struct fm_warm_pages *p)
{
	uint8_t form;

	if (!get_byte(in, &form) || form >> 4)
		return false;
	switch (form & 3) {
	case WHOLE:
		set_run(p, first, UNIT, form >> 2);
		return true;
	case BITS:
		return get_bits(in, first, p, 1, form >> 2);
	case PAIRS:
		return get_bits(in, first, p, 2, 0);
	default:
		return get_runs(in, first, p);
	}
}

/* What lies beyond the pages of p is another size's, and is left out. */
int fm_warm_state_pages(const struct fm_warm_head *h, const uint8_t *buf,
			size_t len, struct fm_warm_pages *p)
{
	struct input in = { (const uint8_t *)h->path + h->path_len, buf + len };
	uint64_t unit = 0, skip;

	for (; in.at < in.end; unit++) {
		if (!get_number(&in, &skip) || skip > FM_WARM_MOST ||
		    unit + skip >= FM_WARM_MOST)
			return -EBADMSG;
		unit += skip;
		if (!get_unit(&in, unit * UNIT, p))
			return -EBADMSG;
	}
	return 0;
}
