/* SPDX-License-Identifier: MIT */
/*
 * server_until.c - what a reason that a file is the kernel's forbids, and, for
 * who asks, what would change that.
 */
#include "server.h"

#define SPEED UINT32_MAX /* nothing forbids the engine */

#define NO_OTHERS "no other process uses it any more"
#define LOST "memory is not short, and the page cache has lost part of it"
#define WAITS "the program waits for it again and again"

static const struct {
	uint32_t veto; /* enum fm_veto; 0: FM_VETO_USE; or SPEED */
	const char *until; /* "when ..."; NULL: the program acts otherwise */
} table[FM_WHYS] = {
	[FM_WHY_DENIED] = { FM_VETO_SETTING, "deny does not name it" },
	[FM_WHY_NOT_ENGAGED] = { FM_VETO_SETTING,
				 "engage is yes for its path" },
	[FM_WHY_SERVE] = { FM_VETO_SETTING, "serve is auto for its path" },
	[FM_WHY_OBSERVED] = { FM_VETO_SETTING, "mode is on" },
	[FM_WHY_SHORT] = { FM_VETO_SETTING,
			   "min-size is no more than what is mapped of it" },
	[FM_WHY_ASKED] = { FM_VETO_ASKED,
			   "it is asked back: fastmap promote" },

	[FM_WHY_CACHED] = { SPEED, "it is mapped while less of it is in the "
			    "page cache, or warm is engine for its path" },
	[FM_WHY_WINDOW] = { SPEED, "more of it is mapped at once" },
	[FM_WHY_MANY_PEERS] = { SPEED, "there are fewer processes, and fewer files "
			   "that they have open" },
	[FM_WHY_REMAPPED] = { SPEED, "it stays mapped, or " WAITS },
	[FM_WHY_START] = { SPEED, "the engine has started for another file" },
	[FM_WHY_READERS] = { SPEED, NO_OTHERS },
	[FM_WHY_FITS] = { SPEED, WAITS },
	[FM_WHY_WRITTEN] = { SPEED, LOST },
	[FM_WHY_TRIED] = { SPEED, "the trial is over, within seconds, and the "
			   "kernel was not faster" },
	[FM_WHY_MEASURED] = { SPEED, "the kernel is measured to be no faster" },
	[FM_WHY_NOT_BETTER] = { SPEED, WAITS },
	[FM_WHY_OVER] = { SPEED, NULL },
	[FM_WHY_SLOWER] = { SPEED, NULL },
	[FM_WHY_LOSES] = { SPEED, NULL },

	[FM_WHY_NO_CACHE] = { FM_VETO_MEMORY, "there is memory for a cache" },
	[FM_WHY_NO_MEMORY] = { FM_VETO_MEANS, "there is some" },
	[FM_WHY_CACHE_GONE] = { FM_VETO_MEMORY, LOST },
	[FM_WHY_REGISTRY] = { FM_VETO_MEANS, "/dev/shm or /tmp is there, "
			      "with mode 1777" },
	[FM_WHY_NO_ENGINE] = { FM_VETO_MEANS, "the system allows it: fastmap "
			       "doctor says what is missing" },
	[FM_WHY_NO_OPEN] = { FM_VETO_MEANS, "this user may open it by its "
			     "path" },

	[FM_WHY_SHARED] = { FM_VETO_OTHERS, NO_OTHERS },
	[FM_WHY_PEER] = { FM_VETO_OTHERS, NO_OTHERS },
	[FM_WHY_PEER_WROTE] = { FM_VETO_OTHERS, NO_OTHERS },
	[FM_WHY_PEER_NATIVE] = { FM_VETO_OTHERS, NO_OTHERS },
	[FM_WHY_UNSEEN] = { FM_VETO_KERNEL, "that mapping is gone" },
	[FM_WHY_RESIDUE] = { FM_VETO_KERNEL, "that mapping is gone" },
	[FM_WHY_KERNEL_MAPS] = { FM_VETO_KERNEL, "that mapping is gone" },
	[FM_WHY_HANDED] = { FM_VETO_KERNEL, "the program starts again" },
	[FM_WHY_BEYOND] = { 0, "faults is signal" },
	[FM_WHY_UNREADABLE] = { 0, "faults is signal" },
	[FM_WHY_SENT] = { FM_VETO_GIVEN, NULL },
	[FM_WHY_INHERITED] = { FM_VETO_GIVEN, NULL },
	[FM_WHY_FORK] = { FM_VETO_GIVEN, NULL },
	[FM_WHY_LOCKED] = { FM_VETO_LOCKED, NULL },
	[FM_WHY_MLOCK] = { FM_VETO_LOCKED, NULL },
	[FM_WHY_MLOCKALL] = { FM_VETO_LOCKED, NULL },
	[FM_WHY_ASYNC] = { FM_VETO_RINGS, NULL },
	[FM_WHY_ASYNC_OPEN] = { FM_VETO_RINGS, NULL },
	[FM_WHY_AIO] = { FM_VETO_RINGS, NULL },
	[FM_WHY_RECORD_LOCKS] = { FM_VETO_RECORDS, NULL },
	[FM_WHY_FSIZE] = { FM_VETO_LIMITS, NULL },
	[FM_WHY_LIMIT] = { FM_VETO_LIMITS, NULL },
	[FM_WHY_PARTED] = { FM_VETO_TABLES, NULL },
};

uint32_t fm_server_reason_veto(enum fm_server_reason why)
{
	const uint32_t veto = table[why].veto;

	return !why || veto == SPEED ? 0 : veto ? veto : FM_VETO_USE;
}

const char *fm_server_reason_until(enum fm_server_reason why)
{
	return table[why].until ? table[why].until : "";
}
