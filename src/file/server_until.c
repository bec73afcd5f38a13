/* SPDX-License-Identifier: MIT */
/*
 * server_until.c - what kind of reason it is that a file is the kernel's, and
 * what would change that. For who asks; nothing is decided by it.
 */
#include "server.h"

#define NO_OTHERS "no other process uses it any more"
#define LOST "memory is not short, and the page cache has lost part of it"
#define WAITS "the program waits for it again and again"

static const struct {
	enum fm_reason_kind kind;
	const char *until; /* "when ..."; NULL: when the program acts otherwise */
} table[FM_WHYS] = {
	[FM_WHY_DENIED] = { FM_REASON_SETTING, "deny does not name it" },
	[FM_WHY_NOT_ENGAGED] = { FM_REASON_SETTING,
				 "engage is yes for its path" },
	[FM_WHY_SERVE] = { FM_REASON_SETTING, "serve is auto for its path" },
	[FM_WHY_OBSERVED] = { FM_REASON_SETTING, "mode is on" },
	[FM_WHY_SHORT] = { FM_REASON_SETTING,
			   "min-size is no more than what is mapped of it" },
	[FM_WHY_ASKED] = { FM_REASON_SETTING,
			   "it is asked back: fastmap promote" },

	[FM_WHY_CACHED] = { FM_REASON_SPEED, "it is mapped while less of it is "
			    "in the page cache, or warm is engine for its path" },
	[FM_WHY_WINDOW] = { FM_REASON_SPEED, "more of it is mapped at once" },
	[FM_WHY_WEARY] = { FM_REASON_SPEED, "there are fewer processes, and "
			   "fewer files that they have open" },
	[FM_WHY_ANEW] = { FM_REASON_SPEED, "it stays mapped" },
	[FM_WHY_READERS] = { FM_REASON_SPEED, NO_OTHERS },
	[FM_WHY_FITS] = { FM_REASON_SPEED, WAITS },
	[FM_WHY_WRITTEN] = { FM_REASON_SPEED, LOST },
	[FM_WHY_TRIED] = { FM_REASON_SPEED, "the trial is over, within seconds, "
			   "and the kernel was not faster" },
	[FM_WHY_MEASURED] = { FM_REASON_SPEED,
			      "the kernel is measured to be no faster" },
	[FM_WHY_NOT_BETTER] = { FM_REASON_SPEED, WAITS },
	[FM_WHY_OVER] = { FM_REASON_SPEED, NULL },
	[FM_WHY_SLOWER] = { FM_REASON_SPEED, NULL },
	[FM_WHY_LOSES] = { FM_REASON_SPEED, NULL },

	[FM_WHY_NO_CACHE] = { FM_REASON_MEANS, "there is memory for a cache" },
	[FM_WHY_NO_MEMORY] = { FM_REASON_MEANS, "there is some" },
	[FM_WHY_CACHE_GONE] = { FM_REASON_MEANS, LOST },
	[FM_WHY_REGISTRY] = { FM_REASON_MEANS, "/dev/shm or /tmp is there, "
			      "with mode 1777" },
	[FM_WHY_NO_ENGINE] = { FM_REASON_MEANS, "the system allows it: fastmap "
			       "doctor says what is missing" },
	[FM_WHY_NO_OPEN] = { FM_REASON_MEANS, "this user may open it by its "
			     "path" },

	[FM_WHY_SHARED] = { FM_REASON_CORRECT, NO_OTHERS },
	[FM_WHY_PEER] = { FM_REASON_CORRECT, NO_OTHERS },
	[FM_WHY_PEER_WROTE] = { FM_REASON_CORRECT, NO_OTHERS },
	[FM_WHY_PEER_NATIVE] = { FM_REASON_CORRECT, NO_OTHERS },
	[FM_WHY_UNSEEN] = { FM_REASON_CORRECT, "that mapping is gone" },
	[FM_WHY_RESIDUE] = { FM_REASON_CORRECT, "that mapping is gone" },
	[FM_WHY_KERNEL_MAPS] = { FM_REASON_CORRECT, "that mapping is gone" },
	[FM_WHY_HANDED] = { FM_REASON_CORRECT, "the program starts again" },
	[FM_WHY_BEYOND] = { FM_REASON_CORRECT, "faults is signal" },
	[FM_WHY_UNREADABLE] = { FM_REASON_CORRECT, "faults is signal" },
};

enum fm_reason_kind fm_server_reason_kind(enum fm_server_reason why)
{
	return table[why].kind;
}

const char *fm_server_reason_until(enum fm_server_reason why)
{
	return table[why].until ? table[why].until : "";
}
