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
	[FM_WHY_NONE] = { "", NULL },
	[FM_WHY_DENIED] = { "named by the deny list", NULL },
	[FM_WHY_NOT_ENGAGED] = { "engage is off for its path", NULL },
	[FM_WHY_SERVE] = { "serve says so", NULL },
	[FM_WHY_OBSERVED] = { "mode=observe: would be served", NULL },
	[FM_WHY_SHORT] = { "shorter than min-size", NULL },
	[FM_WHY_EXECUTABLE] = { "executable", NULL },
	[FM_WHY_KIND] = { "a flag that stays the kernel's, or a huge offset",
			  NULL },
	[FM_WHY_CACHED] = { "already in the page cache", NULL },
	[FM_WHY_WINDOW] = { "a window that is in the page cache already",
			    NULL },
	[FM_WHY_NO_CACHE] = { "no memory for a cache",
			      "raise the limit of the control group" },
	[FM_WHY_NO_MEMORY] = { "no memory or address space for it",
			       "ulimit -v, vm.max_map_count, "
			       "vm.overcommit_memory=2" },
	[FM_WHY_LOCKED] = { "memory is locked", NULL },
	[FM_WHY_FSIZE] = { "it is larger than RLIMIT_FSIZE",
			   "raise ulimit -f" },
	[FM_WHY_RECORD_LOCKS] = { "it has record locks, and there is no io_uring",
				  "allow io_uring, see fastmap doctor" },
	[FM_WHY_SHARED] = { "another process uses it", SHARING, true },
	[FM_WHY_READERS] = { "others read it, too: the page cache is one for "
			     "all", NULL, true },
	[FM_WHY_WEARY] = { "looking for other processes takes too long", NULL },
	[FM_WHY_RESIDUE] = { "the kernel still serves another mapping of it",
			     NULL },
	[FM_WHY_HANDED] = { "handed to the kernel before", NULL },
	[FM_WHY_NO_ENGINE] = { "the engine cannot run here, see delivery",
			       NULL },
	[FM_WHY_NO_OPEN] = { "the engine cannot open it", NULL },
	[FM_WHY_ASYNC] = { "the program has io_uring or libaio, and it is open",
			   "close it once it is mapped, or make no ring" },
	[FM_WHY_OTHERS] = { "other reasons", NULL },

	[FM_WHY_PEER] = { "another process", SHARING, true },
	[FM_WHY_PEER_WROTE] = { "another process has had it open for writing",
				SHARING, true },
	[FM_WHY_PEER_NATIVE] = { "another process uses it natively", SHARING, true },
	[FM_WHY_SENT] = { "descriptor sent to another process", SHARING },
	[FM_WHY_INHERITED] = { "its descriptor is inherited by another program",
			       "open it with O_CLOEXEC" },
	[FM_WHY_ASYNC_OPEN] = { "io_uring or libaio, and it is open",
				"close it once it is mapped, or make no ring" },
	[FM_WHY_AIO] = { "aio", "faults=thread" },
	[FM_WHY_SPLICE] = { "splice", "faults=thread" },
	[FM_WHY_LIMIT] = { "RLIMIT_FSIZE", "raise ulimit -f" },
	[FM_WHY_CACHE_GONE] = { "no memory for a cache", NULL, true },
	[FM_WHY_FITS] = { "it fits into memory, but not beside what must stay "
			  "free",
			  "raise the limit of the control group" },
	[FM_WHY_BEYOND] = { "access beyond the end of the file, in thread "
			    "delivery",
			    NULL },
	[FM_WHY_UNREADABLE] = { "I/O error, in thread delivery", NULL },
	[FM_WHY_PINNED] = { "pinned alias", NULL },
	[FM_WHY_CHANGED] = { "file changed under a system call", NULL },
	[FM_WHY_KERNEL_MAPS] = { "a mapping that stays the kernel's", NULL },
	[FM_WHY_FORK] = { "fork", NULL },
	[FM_WHY_EXEC] = { "the program executes another", NULL },
	[FM_WHY_ENDS] = { "the program ends", NULL },
	[FM_WHY_MADVISE] = { "madvise", NULL },
	[FM_WHY_MLOCK] = { "mlock", NULL },
	[FM_WHY_MLOCKALL] = { "mlockall", NULL },
	[FM_WHY_MERGE] = { "same-page merging", NULL },
	[FM_WHY_MREMAP] = { "mremap", NULL },
	[FM_WHY_MREMAP_PIECES] = { "mremap of pieces", NULL },
	[FM_WHY_REMAP] = { "remap_file_pages", NULL },
	[FM_WHY_PKEYS] = { "protection keys", NULL },
	[FM_WHY_MSEAL] = { "mseal", NULL },
	[FM_WHY_IOCTL] = { "ioctl of unknown extent", NULL },
	[FM_WHY_FUTEX] = { "futex", NULL },
	[FM_WHY_SEMAPHORE] = { "semaphore", NULL },
	[FM_WHY_MUTEX] = { "mutex", NULL },
	[FM_WHY_CONDITION] = { "condition variable", NULL },
	[FM_WHY_RWLOCK] = { "rwlock", NULL },
	[FM_WHY_BARRIER] = { "barrier", NULL },
	[FM_WHY_ASKED] = { "asked for (fastmap ctl)", NULL, true },
};

bool fm_server_reason_passes(enum fm_server_reason why)
{
	return reasons[why].passes;
}

const char *fm_server_reason_text(enum fm_server_reason why)
{
	return reasons[why].text;
}

/* ---- once -------------------------------------------------------------- */

struct told {
	_Atomic uint32_t n; /* files, and one more when that was said */
	_Atomic uint64_t file[FM_WHY_FILES];
};

static struct told own;
static struct told *told = &own;

void fm_server_reason_start(void)
{
	const size_t len = FM_PAGE;
	void *p = fm_sys_far(len, PROT_NONE);

	if (fm_is_err(p))
		return;
	p = fm_sys_mmap(p, len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (!fm_is_err(p))
		told = p;
}

static uint64_t key_of(dev_t dev, ino_t ino)
{
	return ((uint64_t)ino * 0x9e3779b97f4a7c15ull ^ dev) | 1;
}

/* FM_WHY_FILES: it is one too many, for the first time. Below: say it. -1: do
 * not. Two threads that are here with one file at once may both say it. */
static int place_for(uint64_t key)
{
	uint32_t n = atomic_load(&told->n);

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

static void say(const char *path, uint64_t key, const char *verb,
		const char *why, const char *remedy)
{
	const bool all = atomic_load(&fm_log_level) >= FM_LOG_INFO;
	int place;

	if (!all && !remedy)
		return;
	place = all ? 0 : place_for(key);
	if (place == FM_WHY_FILES)
		fm_log(FM_LOG_WARN, "further files are left or handed to the "
		       "kernel: FASTMAP_LOG=2 names them");
	else if (place >= 0)
		fm_log(all ? FM_LOG_INFO : FM_LOG_WARN,
		       "%s: %s to the kernel: %s%s%s%s", path, verb, why,
		       remedy ? " (" : "", remedy ? remedy : "",
		       remedy ? ")" : "");
}

void fm_server_reason_left(const char *path, dev_t dev, ino_t ino,
			   enum fm_server_reason why)
{
	/* Both have had their line. */
	if (why != FM_WHY_HANDED && why != FM_WHY_NO_OPEN)
		say(path, key_of(dev, ino), "left", reasons[why].text,
		    reasons[why].remedy);
}

void fm_server_reason_demoted(const char *path, dev_t dev, ino_t ino,
			     enum fm_server_reason why)
{
	say(path, key_of(dev, ino), "handed", reasons[why].text,
	    reasons[why].remedy);
}
