/* SPDX-License-Identifier: MIT */
#include "server_choice.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>

#include "at_map.h"
#include "base/life.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/tables.h"
#include "cache/cache.h"
#include "kernel_windows.h"
#include "peers/peers.h"
#include "policy.h"
#include "rw/rw.h"
#include "seen_fd.h"
#include "serve/serve.h"
#include "short_maps.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif

/* Signals are blocked around an mmap: a filter that only traps, as Firefox's,
 * ends who looks for a path here, too. */
bool fm_mmap_path(struct fm_mmap_request *q)
{
	if (!q->path[0] &&
	    !(fm_sys_may_ask() &&
	      fm_proc_fd_path(q->fd, q->path, FM_MMAP_PATH)))
		q->path[0] = 0;
	return q->path[0] == '/';
}

/* Kinds that we leave to the kernel whatever the file. */
static bool odd_kind(const struct fm_mmap_request *q)
{
	const int odd = FM_ARCH_MAP_LOW | MAP_GROWSDOWN | MAP_HUGETLB |
			MAP_LOCKED | MAP_DROPPABLE;
	int type = q->flags & MAP_TYPE;

	if ((q->prot & PROT_EXEC) || (q->flags & odd))
		return true;
	if (type == MAP_SHARED_VALIDATE && (q->flags & MAP_SYNC))
		return true;
	return q->off < 0 || ((uint64_t)q->off + q->len) >> FM_PAGE_SHIFT >=
				     FM_MAX_FILE_PAGES;
}

/*
 * What is sealed against stores, or can be, by any process that has it: the
 * kernel refuses our write-back then, and allows the seal, since it knows of no
 * mapping that stores. Only file systems in memory have seals (-EINVAL on
 * others), and those have no device. One of them has larger pages than ours,
 * and no write(2).
 */
static enum fm_server_reason in_memory(const struct fm_mmap_request *q)
{
	int seals = !fm_sys_no_disk(q->st.st_dev) ? -EINVAL :
		(int)fm_sys3(SYS_fcntl, q->fd, F_GET_SEALS, 0);

	if (seals == -EINVAL)
		return FM_WHY_NONE;
	if (seals != F_SEAL_SEAL)
		return FM_WHY_SEALS;
	return fm_sys_fs_type(q->fd) == HUGETLBFS_MAGIC ? FM_WHY_HUGE :
							  FM_WHY_NONE;
}

/* Whatever it costs, and whoever else has it. */
static enum fm_server_reason unwanted_source(void)
{
	if (fm_life_refused())
		return FM_WHY_NO_ENGINE;
	return atomic_load(&fm_tables_split) ? FM_WHY_PARTED : FM_WHY_NONE;
}

/* Its source, if it is empty, as what has one is. */
static void note_source(struct fm_mmap_request *q, const struct fm_file *known)
{
	const char *source = fm_sourced() ? q->policy->source : NULL;

	if (known && known->io->backing)
		q->source = source;
	else if (!known && !q->st.st_size)
		q->source = source;
}

bool fm_mmap_candidate(struct fm_mmap_request *q, struct fm_file **ret_known)
{
	*ret_known = NULL;
	q->path[0] = 0;
	if ((q->flags & MAP_ANONYMOUS) || q->fd < 0 || !q->len ||
	    !fm_policy_any() || fm_sys_fstat(q->fd, &q->st) ||
	    !S_ISREG(q->st.st_mode))
		return false;
	fm_fork_touch_file(q->st.st_dev, q->st.st_ino);
	*ret_known = fm_file_find_fd(&q->st, q->fd, false);
	if (*ret_known) {
		q->policy = (*ret_known)->policy;
		note_source(q, *ret_known);
		return true;
	}
	if (!q->asked && fm_sys_may_ask() &&
	    (q->policy = fm_seen_fd_policy(q->fd, &q->st)))
		return true;
	if ((!q->asked && fm_seen_fd_outside(q->fd, &q->st)) ||
	    !fm_mmap_path(q))
		return false;
	q->policy = q->asked ? fm_policy_for_asked(q->path) :
			       fm_policy_for(q->path);
	if (!q->policy && (q->asked || fm_policy_denied(q->path)))
		q->left = FM_WHY_DENIED;
	else if (!q->policy)
		fm_seen_fd_note(q->fd, &q->st, NULL, NULL);
	else if (!q->policy->engage)
		q->left = FM_WHY_NOT_ENGAGED;
	else
		q->left = in_memory(q);
	if (q->left == FM_WHY_SEALS || q->left == FM_WHY_HUGE)
		q->policy = NULL; /* it is memory: no advice either */
	if (q->policy || q->left)
		fm_serve_seen(&q->st, q->fd);
	if (q->policy && !q->left)
		note_source(q, NULL);
	return q->policy && !q->left;
}

void fm_mmap_slow(struct fm_mmap_request *q, struct fm_file *f)
{
	if (q->slow || q->waited)
		return;
	fm_file_get(f);
	q->slow = f;
}

static enum fm_server_reason unwanted_known(struct fm_mmap_request *q,
					    struct fm_file *known)
{
	bool stores = q->shared && q->maywrite;

	if (fm_kernel_serves(known)) {
		if (stores && fm_peers_stores(known))
			fm_mmap_slow(q, known);
		return FM_WHY_HANDED;
	}
	if (stores && fm_kernel_windows_ends(known, &q->st))
		return FM_WHY_RESIDUE;
	return !q->asked &&
			       fm_kernel_windows_may(known, stores, q->fd,
						     &q->st, q->off, q->len,
						     &q->bring)
		       ? FM_WHY_WINDOW
		       : FM_WHY_NONE;
}

static bool beyond_fsize(const struct fm_mmap_request *q)
{
	uint64_t end = (uint64_t)q->off + q->len;

	if (end < (uint64_t)q->st.st_size)
		end = (uint64_t)q->st.st_size;
	return q->shared && q->maywrite && fm_beyond_fsize(end);
}

bool fm_is_served(struct fm_file *known)
{
	return known && (atomic_load(&known->maps) || fm_kernel_serves(known));
}

/* Why the kernel should serve it, if it should. */
static enum fm_server_reason unwanted(struct fm_mmap_request *q,
				      struct fm_file *known)
{
	const bool served = fm_is_served(known);
	enum fm_server_reason why;

	if (q->prot & PROT_EXEC)
		return FM_WHY_EXECUTABLE;
	if (odd_kind(q))
		return FM_WHY_KIND;
	if (q->source)
		return unwanted_source();
	if (q->policy->serve == FM_SERVE_ADVISED ||
	    q->policy->serve == FM_SERVE_KERNEL)
		return FM_WHY_SERVE;
	if (!served && !q->asked && q->len < q->policy->min_size)
		return FM_WHY_SHORT;
	if (beyond_fsize(q))
		return FM_WHY_FSIZE;
	if (fm_async_wants(&q->st, q->shared && q->maywrite, q->fd_flags))
		return FM_WHY_ASYNC;
	if (served) /* one file, one server: whatever the size */
		return unwanted_known(q, known);
	if (fm_life_refused())
		return FM_WHY_NO_ENGINE;
	if (atomic_load(&fm_tables_split))
		return FM_WHY_PARTED;
	if (q->shared && fm_mem_monitor_short())
		return FM_WHY_NO_CACHE;
	why = q->asked ? FM_WHY_NONE : fm_at_map(q);
	if (why)
		return why;
	if (fm_settings()->mode == FM_MODE_ON && fm_kernel_mapped_has(&q->st))
		return FM_WHY_RESIDUE;
	/* Whether other processes use it or it can be opened is not tried. */
	if (fm_settings()->mode != FM_MODE_ON)
		return FM_WHY_OBSERVED;
	return fm_mem_monitor_begins() ? FM_WHY_NONE : FM_WHY_NO_CACHE;
}

/* Its name was not asked for this time (seen_fd.h): is it where it was? Nobody
 * knows where it cannot be asked for. */
static bool has_other_policy(struct fm_mmap_request *q)
{
	const struct fm_policy *had = q->policy;

	if (q->path[0])
		return false;
	q->policy = fm_mmap_path(q) ? fm_policy_for(q->path) : NULL;
	return q->policy != had;
}

enum fm_server fm_server_for(struct fm_mmap_request *q, struct fm_file *known)
{
	q->left = unwanted(q, known);
	if (!q->left && !known && has_other_policy(q))
		q->left = q->policy && q->policy->engage ? unwanted(q, known) :
							   FM_WHY_DENIED;
	if (q->left && q->policy && q->len >= q->policy->min_size)
		q->written = fm_at_map_written(q);
	return q->left ? FM_SERVER_KERNEL : FM_SERVER_ENGINE;
}
