/* SPDX-License-Identifier: MIT */
/*
 * up.h - upcalls: what a lower room wants of those above it.
 *
 * A lower room never calls a higher one, and does not know which there are. It
 * says in its header what it will call, as if it were a function:
 *
 *	FM_UPCALL(void, file_closing, struct fm_file *f);
 *
 * Each file above that has something to do then says so, at file scope:
 *
 *	static void maps_end(struct fm_file *f) ...
 *	FM_UP(file_closing, maps_end)
 *
 * and the lower room calls all of them, in no order, or the only one there is,
 * which is NULL where that file has not been linked (in a unit test):
 *
 *	FM_UP_EACH(file_closing, tell)
 *		tell(f);
 *
 *	fm_up_wb_idle *idle = FM_UP_ONE(wb_idle);
 *
 * The linker collects the pointers in a section for each kind. So nothing is
 * set when the program runs: an upcall may come before the engine has started,
 * in a child of fork, in the guardian. From where it comes the header says
 * ([fault], [any], [plain]); tests/checks/fault_context follows it like a call.
 *
 * Where more than a function is wanted, the kind is a struct (life.h,
 * control.h, shrinker.h), and has a macro of its own that fills one in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Weak: a unit test may link no file that has an entry. */
#define FM_UP_BOUNDS(kind)                                                \
	extern __attribute__((weak, visibility("hidden")))                \
	fm_up_##kind *const __start_fm_up_##kind[],                       \
		*const __stop_fm_up_##kind[]

#define FM_UPCALL(ret, kind, ...)                                         \
	typedef ret fm_up_##kind(__VA_ARGS__);                            \
	FM_UP_BOUNDS(kind)

#define FM_UP_STRUCT(type, kind)                                          \
	typedef type fm_up_##kind;                                        \
	FM_UP_BOUNDS(kind)

#define FM_UP(kind, what)                                                 \
	static fm_up_##kind *const up_##kind##_##what                     \
		__attribute__((used, section("fm_up_" #kind))) = &what;

#define FM_UP_EACH(kind, it)                                              \
	for (fm_up_##kind *const *at_##it = __start_fm_up_##kind, *it;    \
	     at_##it < __stop_fm_up_##kind && (it = *at_##it, true);      \
	     at_##it++)

#define FM_UP_ONE(kind)                                                   \
	(&__start_fm_up_##kind[0] < &__stop_fm_up_##kind[0]               \
		 ? __start_fm_up_##kind[0] : NULL)
