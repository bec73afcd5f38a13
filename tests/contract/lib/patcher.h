/* SPDX-License-Identifier: MIT */
/* patcher.h - what patcher.c hears, and how it is told to. */
#ifndef PATCHER_H
#define PATCHER_H

enum patch {
	PATCH_REGISTER, /* movabs $handler, %r11; jmp *%r11 */
	PATCH_MEMORY,   /* jmp *0(%rip), and the handler's address */
	PATCH_NEAR,     /* jmp to a place near by, which goes on */
	/* PATCH_REGISTER; the handler takes it away, calls, patches again */
	PATCH_AGAIN,
};

struct heard {
	int maps, unmaps, moves, advised, attached, detached;
};

/* Its constructor patches with PATCH_REGISTER. */
void patcher_patch(enum patch how);
void patcher_restore(void);
/* Since the last time. */
struct heard patcher_heard(void);

#endif
