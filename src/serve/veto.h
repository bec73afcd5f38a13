/* SPDX-License-Identifier: MIT */
/*
 * veto.h - what forbids the engine a file, whatever it would cost.
 *
 * A bit for each cause, in the file's entry (table.h), as it was when somebody
 * looked last. Who changes a file's server says them all, by the reason of that
 * (fm_server_reason_veto); what may be over without a word is looked at anew by
 * who decides (mmap/vetoes.h). Speed forbids nothing: that is a matter of costs
 * (cost.h).
 */
#pragma once

enum fm_veto {
	/* correctness: else the bytes might be wrong */
	FM_VETO_OTHERS = 1 << 0,   /* another process uses it */
	FM_VETO_GIVEN = 1 << 1,    /* another has its descriptor by now */
	FM_VETO_KERNEL = 1 << 2,   /* the kernel serves a mapping of it */
	FM_VETO_PRIVATE = 1 << 3,  /* it is mapped privately */
	FM_VETO_USE = 1 << 4,      /* calls of the program on its memory */
	FM_VETO_INFLIGHT = 1 << 5, /* the same, that no hook has seen begin */
	FM_VETO_LOCKED = 1 << 6,   /* memory is locked */
	FM_VETO_RINGS = 1 << 7,    /* rings of the program */
	FM_VETO_RECORDS = 1 << 8,  /* record locks, which a close would drop */
	FM_VETO_LIMITS = 1 << 9,   /* RLIMIT_FSIZE, RLIMIT_AS */
	FM_VETO_TABLES = 1 << 10,  /* tables of descriptors of threads */
	/* means: the engine cannot */
	FM_VETO_MEMORY = 1 << 11,   /* there is none for a cache */
	FM_VETO_MEANS = 1 << 12,    /* it does not run, or cannot open it */
	FM_VETO_UNMAPPED = 1 << 13, /* nothing of it is mapped */
	/* a setting: somebody said so */
	FM_VETO_SETTING = 1 << 14,
	FM_VETO_ASKED = 1 << 15, /* by a command */
};
