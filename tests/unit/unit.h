/* SPDX-License-Identifier: MIT */
/*
 * unit.h - cmocka with the headers it wants before it.
 *
 * The files are one program, which is linked once: `unit NAME` runs what
 * FM_UNIT(NAME) stands before, as main. A file that defines what the engine
 * has, or has a start of its own, is a program by itself.
 */
#ifndef FM_UNIT_H
#define FM_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit {
	const char *name;
	int (*run)(void);
};

#define FM_UNIT(name)                                                   \
	static int unit_##name(void);                                   \
	static const struct unit unit_is_##name = { #name, unit_##name }; \
	static const struct unit *const unit_entry_##name               \
		__attribute__((used, section("fm_units"))) =            \
		&unit_is_##name;                                        \
	static int unit_##name(void)

#endif
