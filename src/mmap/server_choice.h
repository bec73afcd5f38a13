/* SPDX-License-Identifier: MIT */
/*
 * server_choice.h - which mappings are ours: who is to serve one that is asked
 * for, and why (file/server.h says what a server is, and how one is added).
 */
#pragma once

#include <sys/stat.h>

#include "file/file.h"
#include "kernel_windows.h"
#include "vm/vm.h"

#define FM_MMAP_PATH 4096u /* size: bytes, as PATH_MAX */

/* A call of mmap(2). */
struct fm_mmap_request {
	void *addr;
	size_t len;
	int prot, flags, fd;
	off_t off;
	struct stat st;
	char *path; /* FM_MMAP_PATH bytes; "": not asked for yet */
	const struct fm_policy *policy;
	const char *source; /* where its bytes come from, or NULL: the file */
	/* why the kernel serves a file that we know of */
	enum fm_server_reason left;
	uint64_t written; /* of it that is no hole; UINT64_MAX: not known */
	bool shared, populate, maywrite;
	bool asked; /* by fastmap_map: the engine's if it may be */
	bool cut;  /* memory laid down ahead: as it is to be */
	bool laid; /* the memory is there already, with its protection */
	bool replaced; /* what was at the address is not there any more */
	struct fm_over over; /* mappings of ours that it replaces */
	int fd_flags;
	unsigned count; /* mappings that the kernel has been given */
	enum fm_bring bring;
	/* with a reference: whoever else serves it is to be waited for */
	struct fm_file *slow;
	bool waited; /* for that */
};

/* [plain] Is this a file that a policy names, or one that we hold already? That
 * one with a reference. False: q->left has the reason, if a policy has to do
 * with it. */
bool fm_mmap_candidate(struct fm_mmap_request *q, struct fm_file **ret_known);
/* [plain] Fill in q->path, from the descriptor. */
bool fm_mmap_path(struct fm_mmap_request *q);

/* [plain] Under the space lock: f is waited for before the program has the
 * mapping. */
void fm_mmap_slow(struct fm_mmap_request *q, struct fm_file *f);
/* [plain] Under the space lock: who is to serve it. q->left: why not the
 * engine. What goes wrong while that takes it over is another reason
 * (mmap.c). */
enum fm_server fm_server_for(struct fm_mmap_request *q, struct fm_file *known);

/* [plain] Is the file served by us, or has it been demoted? Not if only a
 * system call in flight still holds it. */
bool fm_is_served(struct fm_file *known);
