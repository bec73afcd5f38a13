/* SPDX-License-Identifier: MIT */
#include "map.h"

#include "base/file_part.h"
#include "base/log.h"
#include "file/file.h"
#include "uffd.h"

FM_FILE_PART(torn)

FM_FAULT void fm_file_tear(struct fm_file *f)
{
	atomic_store(&f->torn->is, true);
}

static FM_FAULT void gone_say(struct fm_file *f)
{
	fm_file_tear(f);
	if (!atomic_exchange(&f->torn->told, true))
		fm_log(FM_LOG_ERROR,
		       "%s: memory of its mapping was unmapped or replaced by "
		       "a system call that did not go through libc: what was "
		       "stored there is lost",
		       f->path);
}

/* Another mapping may have what was stored. */
static FM_FAULT void gone_forget(struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	uint8_t mode = fm_mode(m, i);
	uint64_t j;

	fm_mode_set(m, i, mode & (PM_QUEUED | PM_MAIN));
	fm_cache_uncharge(m->file, fm_mode_charged(mode));
	if (!m->shared || fm_map_holder(m->file, m->pgoff + i, m, &j))
		return;
	fm_page_set(p, 0, FP_DIRTY | FP_REDIRTY);
	fm_dirty_clear(m->file, m->pgoff + i);
}

FM_FAULT bool fm_page_gone(struct fm_map *m, uint64_t i)
{
	if (!fm_map_current(m, i) ||
	    fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, true) != -ENOENT)
		return false;
	gone_say(m->file);
	gone_forget(m, i);
	return true;
}

struct whole {
	uint64_t next; /* page that has not been asked for */
	bool gone;
};

static void gone_ask(struct fm_map *m, struct whole *w, uint64_t end)
{
	if (end > w->next)
		w->gone |= fm_uffd_protect(fm_map_addr(m, w->next),
					   (end - w->next) << FM_PAGE_SHIFT,
					   true) == -ENOENT;
	w->next = end + 1;
}

static void ask_before(struct fm_map *m, uint64_t i, void *arg)
{
	if (fm_mode(m, i) & PM_WRITABLE)
		gone_ask(m, arg, i);
}

/* Asked by protecting what is protected. Not the program's own pages of a
 * private mapping: a system call may be storing into one. */
bool fm_map_whole(struct fm_map *m)
{
	struct whole w = { 0, false };

	if (!m->shared)
		fm_map_each(m, 0, fm_map_pages(m), ask_before, &w);
	gone_ask(m, &w, fm_map_pages(m));
	if (w.gone)
		gone_say(m->file);
	return !w.gone;
}
