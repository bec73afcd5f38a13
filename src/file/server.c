/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "base/types.h"

#define SPEED 0 /* bits: none, it forbids nothing */
#define SHARING "several processes on one file: docs/sharing.md"
#define NO_OTHERS "no other process uses it any more"
#define LOST "memory is not short, and the page cache has lost part of it"
#define WAITS "the program waits for it again and again"

static const struct {
	uint32_t veto;
	const char *text, *until, *remedy;
	bool passes, waited;
} reasons[FM_WHYS] = {
#define FM_REASON(name, forbids, ...) \
	[name] = { .veto = forbids, .text = __VA_ARGS__ },
#include "base/reasons.def"
};

bool fm_server_reason_passes(enum fm_server_reason why)
{
	return reasons[why].passes;
}

bool fm_server_reason_waited(enum fm_server_reason why)
{
	return reasons[why].waited;
}

const char *fm_server_reason_text(enum fm_server_reason why)
{
	return reasons[why].text;
}

const char *fm_server_reason_remedy(enum fm_server_reason why)
{
	return reasons[why].remedy ? reasons[why].remedy : "";
}

const char *fm_server_reason_until(enum fm_server_reason why)
{
	return reasons[why].until ? reasons[why].until : "";
}

uint32_t fm_server_reason_veto(enum fm_server_reason why)
{
	return reasons[why].veto;
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
