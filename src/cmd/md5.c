/* SPDX-License-Identifier: MIT */
#include "md5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t sine[64];

void md5_begin(struct md5 *m)
{
	static const uint32_t first[4] = { 0x67452301, 0xefcdab89, 0x98badcfe,
					   0x10325476 };

	for (int i = 0; !sine[63] && i < 64; i++)
		sine[i] = (uint32_t)(fabs(sin(i + 1)) * 4294967296.0);
	memcpy(m->state, first, sizeof(first));
	m->bytes = 0;
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
	switch (round) {
	case 0:
		return (b & c) | (~b & d);
	case 1:
		return (b & d) | (c & ~d);
	case 2:
		return b ^ c ^ d;
	default:
		return c ^ (b | ~d);
	}
}

static void block(struct md5 *m, const unsigned char *data)
{
	static const unsigned char turn[4][4] = { { 7, 12, 17, 22 },
						  { 5, 9, 14, 20 },
						  { 4, 11, 16, 23 },
						  { 6, 10, 15, 21 } };
	static const unsigned char step[4] = { 1, 5, 3, 7 },
				   from[4] = { 0, 1, 5, 0 };
	uint32_t a = m->state[0], b = m->state[1], c = m->state[2],
		 d = m->state[3], word[16];

	memcpy(word, data, sizeof(word)); /* little-endian, as we are */
	for (int i = 0; i < 64; i++) {
		const int r = i / 16, by = turn[r][i % 4];
		const uint32_t sum = a + mix(r, b, c, d) + sine[i] +
				     word[(i * step[r] + from[r]) % 16];

		a = d;
		d = c;
		c = b;
		b += sum << by | sum >> (32 - by);
	}
	m->state[0] += a;
	m->state[1] += b;
	m->state[2] += c;
	m->state[3] += d;
}

void md5_add(struct md5 *m, const void *data, size_t n)
{
	const unsigned char *p = data;
	size_t have = m->bytes % 64;

	m->bytes += n;
	while (n) {
		size_t take = 64 - have < n ? 64 - have : n;

		if (take == 64) {
			block(m, p);
		} else {
			memcpy(m->rest + have, p, take);
			if (have + take == 64)
				block(m, m->rest);
		}
		have = (have + take) % 64;
		p += take;
		n -= take;
	}
}

void md5_end(struct md5 *m, char ret_text[MD5_TEXT])
{
	static const unsigned char pad[64] = { 0x80 };
	const uint64_t bits = m->bytes * 8;
	unsigned char sum[16];

	md5_add(m, pad, 1 + (119 - m->bytes % 64) % 64);
	md5_add(m, &bits, sizeof(bits));
	memcpy(sum, m->state, sizeof(sum));
	for (int i = 0; i < 16; i++)
		sprintf(ret_text + 2 * i, "%02x", sum[i]);
}
