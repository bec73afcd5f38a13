/* SPDX-License-Identifier: MIT */
/* md5.h - the sum that md5sum(1) prints, of a stream (RFC 1321). */
#ifndef FM_CMD_MD5_H
#define FM_CMD_MD5_H

#include <stddef.h>
#include <stdint.h>

struct md5 {
	uint32_t state[4];
	uint64_t bytes;
	unsigned char rest[64]; /* of the last block: bytes % 64 */
};

#define MD5_TEXT 33

void md5_begin(struct md5 *m);
void md5_add(struct md5 *m, const void *data, size_t n);
void md5_end(struct md5 *m, char ret_text[MD5_TEXT]);

#endif
