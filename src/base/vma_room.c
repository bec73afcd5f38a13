/* SPDX-License-Identifier: MIT */
#include "vma_room.h"

#include <stdint.h>
#include <sys/mman.h>

#include "sys.h"
#include "types.h"

#define EACH (4 * FM_PAGE) /* size: of page-sized mappings, for one change */

/*
 * A page at each end is never given up: the kernel may have joined it with a
 * neighbour, and to split that needs room.
 */
static void unmap_ends(char *at, size_t len)
{
	fm_sys_munmap(at - FM_PAGE, FM_PAGE);
	fm_sys_munmap(at + len, FM_PAGE);
}

int fm_vma_room_take(struct fm_vma_room *r, size_t n)
{
	const size_t len = n * EACH;
	char *p = fm_sys_far(len + 2 * FM_PAGE, PROT_NONE), *at;
	int err;

	*r = (struct fm_vma_room){ 0 };
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	at = p + FM_PAGE;
	err = fm_sys_mprotect(at, len, PROT_READ);
	for (size_t i = 0; i < len && !err; i += 2 * FM_PAGE)
		err = fm_sys_mprotect(at + i, FM_PAGE, PROT_WRITE);
	*r = (struct fm_vma_room){ at, len, len };
	if (err)
		fm_vma_room_end(r);
	return err;
}

bool fm_vma_room_give(struct fm_vma_room *r)
{
	if (!r->left)
		return false;
	r->left -= EACH;
	fm_sys_munmap(r->at + r->left, EACH);
	return true;
}

void fm_vma_room_end(struct fm_vma_room *r)
{
	if (!r->at)
		return;
	if (r->left)
		fm_sys_munmap(r->at, r->left);
	unmap_ends(r->at, r->len);
	*r = (struct fm_vma_room){ 0 };
}
