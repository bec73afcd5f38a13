/* SPDX-License-Identifier: MIT */
/* jump.h - jumps that somebody writes over the first bytes of a function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FM_ARCH_JUMP 20 /* size: of the jump that is made, bytes */
#define FM_ARCH_BTI_C 0xd503245fu
#define FM_ARCH_BR 0xd61f0000u
#define FM_ARCH_MOVZ 0xd2800000u
#define FM_ARCH_MOVK 0xf2800000u

static inline uint32_t fm_arch_word(const uint8_t *c, int i)
{
	uint32_t w;

	memcpy(&w, c + 4 * i, sizeof(w));
	return w;
}

/* movz reg, #...; movk reg, #...; br reg: where to, or NULL */
static inline const uint8_t *fm_arch_by_register(const uint8_t *c)
{
	const uint32_t first = fm_arch_word(c, 0), reg = first & 31;
	uintptr_t to = 0;

	if ((first & 0xff800000u) != FM_ARCH_MOVZ)
		return NULL;
	for (int i = 0; i < 5; i++) {
		const uint32_t w = fm_arch_word(c, i);

		if (w == (FM_ARCH_BR | reg << 5))
			return (const uint8_t *)to;
		if ((i && (w & 0xff800000u) != FM_ARCH_MOVK) ||
		    (w & 31) != reg)
			return NULL;
		to |= (uintptr_t)(w >> 5 & 0xffff) << (w >> 21 & 3) * 16;
	}
	return NULL;
}

/* [plain] Where the code of a function jumps to first, or NULL: by a register
 * that is given a number, or that is loaded from behind the jump (ldr, br), or
 * to near by. */
static inline const uint8_t *fm_arch_jump_of(const uint8_t *c)
{
	const uint8_t *to;
	uint32_t w;

	if (fm_arch_word(c, 0) == FM_ARCH_BTI_C)
		c += 4;
	w = fm_arch_word(c, 0);
	if ((w & 0xffffffe0u) == 0x58000040u &&
	    fm_arch_word(c, 1) == (FM_ARCH_BR | (w & 31) << 5)) {
		memcpy(&to, c + 8, sizeof(to));
		return to;
	}
	if (w >> 26 == 5)
		return c + ((int32_t)(w << 6) >> 4);
	return fm_arch_by_register(c);
}

/* [plain] x17 is the linker's, too, for its jumps. */
static inline void fm_arch_jump_make(uint8_t code[FM_ARCH_JUMP], const void *to)
{
	const uint32_t br = FM_ARCH_BR | 17 << 5;

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t part = (uintptr_t)to >> 16 * i & 0xffff,
			       w = (i ? FM_ARCH_MOVK : FM_ARCH_MOVZ) |
				   i << 21 | part << 5 | 17;

		memcpy(code + 4 * i, &w, sizeof(w));
	}
	memcpy(code + 16, &br, sizeof(br));
}
