/* SPDX-License-Identifier: MIT */
/* jump.h - jumps that somebody writes over the first bytes of a function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FM_ARCH_JUMP 13 /* size: of the jump that is made, bytes */

static inline const uint8_t *fm_arch_word_at(const uint8_t *at)
{
	const uint8_t *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

static inline const uint8_t *fm_arch_relative(const uint8_t *at)
{
	int32_t off;

	memcpy(&off, at, sizeof(off));
	return at + sizeof(off) + off;
}

/* movabs $to, %reg; jmp *%reg */
static inline bool fm_arch_by_register(const uint8_t *c)
{
	const bool high = c[0] == 0x49;
	const uint8_t *jump = c + 10 + high, reg = c[1] & 7;

	return (c[0] == 0x48 || high) && (c[1] & ~7) == 0xb8 &&
	       (!high || c[10] == 0x41) && jump[0] == 0xff &&
	       jump[1] == (0xe0 | reg);
}

/* [plain] Where the code of a function jumps to first, or NULL. */
static inline const uint8_t *fm_arch_jump_of(const uint8_t *c)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (!memcmp(c, endbr, sizeof(endbr)))
		c += sizeof(endbr);
	if (fm_arch_by_register(c))
		return fm_arch_word_at(c + 2);
	if (c[0] == 0xff && c[1] == 0x25)
		return fm_arch_word_at(fm_arch_relative(c + 2));
	return c[0] == 0xe9 ? fm_arch_relative(c + 1) : NULL;
}

/* [plain] */
static inline void fm_arch_jump_make(uint8_t code[FM_ARCH_JUMP], const void *to)
{
	static const uint8_t movabs[] = { 0x49, 0xbb },
			     jmp[] = { 0x41, 0xff, 0xe3 };

	memcpy(code, movabs, sizeof(movabs));
	memcpy(code + sizeof(movabs), &to, sizeof(to));
	memcpy(code + sizeof(movabs) + sizeof(to), jmp, sizeof(jmp));
}
