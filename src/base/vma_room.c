/* SPDX-License-Identifier: MIT */
#include "vma_room.h"

#include <stdint.h>
#include <sys/mman.h>

#include "sys.h"
#include "types.h"

#define EACH (4 * FM_PAGE) /* size: of page-sized mappings, for one change */

int fm_vma_room_take(struct fm_vma_room *r, size_t n)
{
	char *p = fm_sys_far(n * EACH, PROT_NONE);
	int err = 0;

	*r = (struct fm_vma_room){ 0 };
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	for (size_t at = 0; at < n * EACH && !err; at += 2 * FM_PAGE)
		err = fm_sys_mprotect(p + at, FM_PAGE, PROT_READ);
	if (err)
		fm_sys_munmap(p, n * EACH);
	else
		*r = (struct fm_vma_room){ p, n };
	return err;
}

bool fm_vma_room_give(struct fm_vma_room *r)
{
	if (!r->n)
		return false;
	r->n--;
	fm_sys_munmap(r->at + r->n * EACH, EACH);
	return true;
}

void fm_vma_room_end(struct fm_vma_room *r)
{
	if (r->n)
		fm_sys_munmap(r->at, r->n * EACH);
	r->n = 0;
}
