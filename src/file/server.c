/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "base/types.h"

struct reason {
	const char *text;
	const char *remedy; /* NULL: it costs nothing, or cannot be helped */
	bool passes; /* the engine may serve it again some day */
};

#define SHARING "several processes on one file: docs/sharing.md"

static const struct reason reasons[FM_WHYS] = {
	[FM_WHY_NONE] = { .text = "" },
	[FM_WHY_DENIED] = { .text = "named by the deny list" },
	[FM_WHY_NOT_ENGAGED] = { .text = "engage is off for its path" },
	[FM_WHY_SEALS] = { .text = "it can be sealed" },
	[FM_WHY_SERVE] = { .text = "serve says so" },
	[FM_WHY_OBSERVED] = { .text = "mode=observe: would be served" },
	[FM_WHY_SHORT] = { .text = "shorter than min-size" },
	[FM_WHY_EXECUTABLE] = { .text = "executable" },
	[FM_WHY_KIND] = {
		.text = "a flag that stays the kernel's, or a huge offset",
	},
	[FM_WHY_CACHED] = {
		.text = "already in the page cache",
		.passes = true,
	},
	[FM_WHY_WINDOW] = {
		.text = "a window of a file that is mapped piece by piece",
	},
	[FM_WHY_NO_CACHE] = {
		.text = "no memory for a cache",
		.remedy = "raise the limit of the control group",
		.passes = true,
	},
	[FM_WHY_NO_MEMORY] = {
		.text = "no memory or address space for it",
		.remedy = "ulimit -v, vm.max_map_count, "
			"vm.overcommit_memory=2",
	},
	[FM_WHY_LOCKED] = { .text = "memory is locked" },
	[FM_WHY_FSIZE] = {
		.text = "it is larger than RLIMIT_FSIZE",
		.remedy = "raise ulimit -f",
	},
	[FM_WHY_RECORD_LOCKS] = {
		.text = "it has record locks, and there is no io_uring",
		.remedy = "allow io_uring, see fastmap doctor",
	},
	[FM_WHY_SHARED] = {
		.text = "another process uses it",
		.remedy = SHARING,
		.passes = true,
	},
	[FM_WHY_UNSEEN] = {
		.text = "mapped here before, by a call that was not seen",
	},
	[FM_WHY_REGISTRY] = {
		.text = "no registry of processes that can be trusted",
	},
	[FM_WHY_MANY_PEERS] = {
		.text = "looking for other processes takes too long",
	},
	[FM_WHY_REMAPPED] = {
		.text = "it, or files alike, are mapped and unmapped again and again",
		.passes = true,
	},
	[FM_WHY_START] = {
		.text = "it is read in less time than the engine takes to start",
	},
	[FM_WHY_RESIDUE] = {
		.text = "the kernel still serves another mapping of it",
	},
	[FM_WHY_HANDED] = { .text = "handed to the kernel before" },
	[FM_WHY_NO_ENGINE] = {
		.text = "the engine cannot run here, see delivery",
	},
	[FM_WHY_NO_OPEN] = { .text = "the engine cannot open it" },
	[FM_WHY_PARTED] = {
		.text = "a thread has a table of descriptors of its own",
	},
	[FM_WHY_ASYNC] = {
		.text = "the program has io_uring or libaio, and it is open",
		.remedy = "close it once it is mapped, or make no ring",
	},
	[FM_WHY_OTHERS] = { .text = "other reasons" },

	[FM_WHY_PEER] = {
		.text = "another process",
		.remedy = SHARING,
		.passes = true,
	},
	[FM_WHY_PEER_WROTE] = {
		.text = "another process has had it open for writing",
		.remedy = SHARING,
		.passes = true,
	},
	[FM_WHY_PEER_NATIVE] = {
		.text = "another process uses it natively",
		.remedy = SHARING,
		.passes = true,
	},
	[FM_WHY_READERS] = {
		.text = "others read it, too: the page cache is one for all",
		.passes = true,
	},
	[FM_WHY_SENT] = {
		.text = "descriptor sent to another process",
		.remedy = SHARING,
	},
	[FM_WHY_INHERITED] = {
		.text = "its descriptor is inherited by another program",
		.remedy = "open it with O_CLOEXEC",
	},
	[FM_WHY_ASYNC_OPEN] = {
		.text = "io_uring or libaio, and it is open",
		.remedy = "close it once it is mapped, or make no ring",
	},
	[FM_WHY_AIO] = { .text = "aio", .remedy = "faults=thread" },
	[FM_WHY_SPLICE] = { .text = "splice", .remedy = "faults=thread" },
	[FM_WHY_LIMIT] = {
		.text = "RLIMIT_FSIZE",
		.remedy = "raise ulimit -f",
	},
	[FM_WHY_CACHE_GONE] = {
		.text = "no memory for a cache",
		.passes = true,
	},
	[FM_WHY_FITS] = {
		.text = "it fits into memory, but not beside what must stay "
			"free",
		.remedy = "raise the limit of the control group",
		.passes = true,
	},
	[FM_WHY_BEYOND] = {
		.text = "access beyond the end of the file, in thread "
			"delivery",
	},
	[FM_WHY_UNREADABLE] = { .text = "I/O error, in thread delivery" },
	[FM_WHY_PINNED] = { .text = "pinned alias" },
	[FM_WHY_CHANGED] = { .text = "file changed under a system call" },
	[FM_WHY_KERNEL_MAPS] = { .text = "a mapping that stays the kernel's" },
	[FM_WHY_FORK] = { .text = "fork" },
	[FM_WHY_ALONE] = { .text = "unshare or setns wants one thread" },
	[FM_WHY_EXEC] = { .text = "the program executes another" },
	[FM_WHY_ENDS] = { .text = "the program ends" },
	[FM_WHY_MADVISE] = { .text = "madvise" },
	[FM_WHY_MLOCK] = { .text = "mlock" },
	[FM_WHY_MLOCKALL] = { .text = "mlockall" },
	[FM_WHY_MERGE] = { .text = "same-page merging" },
	[FM_WHY_MREMAP] = { .text = "mremap" },
	[FM_WHY_MREMAP_PIECES] = { .text = "mremap of pieces" },
	[FM_WHY_REMAP] = { .text = "remap_file_pages" },
	[FM_WHY_PKEYS] = { .text = "protection keys" },
	[FM_WHY_MSEAL] = { .text = "mseal" },
	[FM_WHY_FLAGS] = { .text = "its flags are changed" },
	[FM_WHY_IOCTL] = { .text = "ioctl of unknown extent" },
	[FM_WHY_SYSCALL] = {
		.text = "a system call that uses it later, or finds it by a "
			"pointer",
	},
	[FM_WHY_FUTEX] = { .text = "futex" },
	[FM_WHY_SEMAPHORE] = { .text = "semaphore" },
	[FM_WHY_MUTEX] = { .text = "mutex" },
	[FM_WHY_CONDITION] = { .text = "condition variable" },
	[FM_WHY_RWLOCK] = { .text = "rwlock" },
	[FM_WHY_BARRIER] = { .text = "barrier" },
	[FM_WHY_ASKED] = { "a command asked for it", NULL, true },
	[FM_WHY_WRITTEN] = {
		.text = "it fits into memory, and write(2) changes its "
			"mapped pages",
		.passes = true,
	},
	[FM_WHY_TRIED] = {
		.text = "to see whether the kernel is faster here",
		.passes = true,
	},
	[FM_WHY_MEASURED] = {
		.text = "the kernel is faster here, as measured",
		.passes = true,
	},

	[FM_WHY_NOT_BETTER] = {
		.text = "the engine is not faster here, as measured",
		.passes = true,
	},

	[FM_WHY_OVER] = { .text = "what kept the engine away is over" },
	[FM_WHY_SLOWER] = {
		.text = "the kernel is not faster here, as measured",
	},
	[FM_WHY_LOSES] = {
		.text = "the page cache has lost it, and the program waits "
			"for it",
	},
};

bool fm_server_reason_passes(enum fm_server_reason why)
{
	return reasons[why].passes;
}

const char *fm_server_reason_text(enum fm_server_reason why)
{
	return reasons[why].text;
}

const char *fm_server_reason_remedy(enum fm_server_reason why)
{
	return reasons[why].remedy ? reasons[why].remedy : "";
}

/* ---- once -------------------------------------------------------------- */

struct told {
	_Atomic uint32_t n; /* files, and one more when that was said */
	_Atomic uint64_t file[FM_WHY_FILES];
};

static struct told own;
static struct told *_Atomic shared_told; /* once there is one */

void fm_server_reason_share(void)
{
	void *p;

	if (atomic_load(&shared_told))
		return;
	p = fm_sys_far_map(FM_PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fm_is_err(p))
		return;
	memcpy(p, &own, sizeof(own));
	atomic_store(&shared_told, p);
}

static uint64_t key_of(dev_t dev, ino_t ino)
{
	return fm_inode_hash(dev, ino) | 1;
}

/* FM_WHY_FILES: it is one too many, for the first time. Below: say it. -1: do
 * not. Two threads that are here with one file at once may both say it. */
static int place_for(uint64_t key)
{
	struct told *told = atomic_load(&shared_told);
	uint32_t n;

	told = told ? told : &own;
	n = atomic_load(&told->n);

	for (uint32_t i = 0; i < n && i < FM_WHY_FILES; i++)
		if (atomic_load(&told->file[i]) == key)
			return -1;
	do
		if (n > FM_WHY_FILES)
			return -1;
	while (!atomic_compare_exchange_weak(&told->n, &n, n + 1));
	if (n < FM_WHY_FILES)
		atomic_store(&told->file[n], key);
	return (int)n;
}

static void server_say(const char *path, uint64_t key, const char *verb,
		       const char *why, const char *remedy)
{
	const bool all = atomic_load(&fm_log_level) >= FM_LOG_INFO;
	int place;

	if (!all && !remedy)
		return;
	place = all ? 0 : place_for(key);
	if (place == FM_WHY_FILES)
		fm_log(FM_LOG_NOTE, "further files are left or handed to the "
		       "kernel: FASTMAP_LOG=2 names them");
	else if (place >= 0)
		fm_log(all ? FM_LOG_INFO : FM_LOG_NOTE,
		       "%s: %s to the kernel: %s%s%s%s", path, verb, why,
		       remedy ? " (" : "", remedy ? remedy : "",
		       remedy ? ")" : "");
}

void fm_server_reason_left(const char *path, dev_t dev, ino_t ino,
			   enum fm_server_reason why)
{
	/* Both have had their line. */
	if (why != FM_WHY_HANDED && why != FM_WHY_NO_OPEN)
		server_say(path, key_of(dev, ino), "left", reasons[why].text,
			   reasons[why].remedy);
}

void fm_server_reason_demoted(const char *path, dev_t dev, ino_t ino,
			     enum fm_server_reason why)
{
	server_say(path, key_of(dev, ino), "handed", reasons[why].text,
		   reasons[why].remedy);
}
