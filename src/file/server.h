/* SPDX-License-Identifier: MIT */
/*
 * server.h - who serves the mappings of a file, why, and how that changes.
 *
 * A file has one server: two would not see each other's stores. It is chosen
 * when the file is mapped (fm_server_for in mmap/server_choice.c answers, with
 * the reason), and may change while it is mapped (fm_server_change in
 * vm/demote.c). Everybody else asks fm_server_of. Where nothing can be stored
 * to a file the kernel may serve single windows beside us, which changes
 * nothing here; what it was given so, or as too short, it is given again
 * without being asked for (kernel_windows.h, unserved.h).
 *
 * A third server, the kernel with our advice say, takes:
 *  - a value of enum fm_server;
 *  - where fm_server_for answers with it, and for which of the reasons
 *    (base/reasons.def);
 *  - what lays its mappings, beside take() and map_kernel() in mmap/mmap.c;
 *  - a function for each change that there is, in the table of
 *    fm_server_change.
 *
 * What is said of it on stderr: at level 2 everything, once for each file and
 * reason. By default only what costs speed and can be helped, once for a file,
 * whichever process of a family made by fork it happens in, and of no more than
 * FM_WHY_FILES files: then one line says that there are more.
 */
#pragma once

#include <sys/types.h>

#include "base/reason.h"
#include "base/types.h"
#include "serve/serve.h"

#define FM_WHY_FILES 8

enum fm_server {
	FM_SERVER_ENGINE,
	FM_SERVER_KERNEL, /* every mapping of the file */
	FM_SERVERS
};

/* [fault] Who serves a file that we know; the kernel serves all others. */
static inline enum fm_server fm_server_of(const struct fm_file *f)
{
	return (enum fm_server)atomic_load(&f->server);
}

static inline bool fm_kernel_serves(const struct fm_file *f)
{
	return fm_server_of(f) == FM_SERVER_KERNEL;
}

/* [any] May the reason be over some day, so that the engine serves the file
 * again? */
bool fm_server_reason_passes(enum fm_server_reason why);
/* [any] Is it over once the program waits for the file, as measured? */
bool fm_server_reason_waited(enum fm_server_reason why);
/* [plain] The text of a reason; "" of FM_WHY_NONE. */
const char *fm_server_reason_text(enum fm_server_reason why);
/* [plain] What people can do about it, or "". */
const char *fm_server_reason_remedy(enum fm_server_reason why);

/* [any] The bit (enum fm_veto) of what forbids the engine a file that is the
 * kernel's for this reason; 0: nothing does, it is one of speed. */
uint32_t fm_server_reason_veto(enum fm_server_reason why);
/* [plain] When it is over: "no other process uses it any more"; or "". */
const char *fm_server_reason_until(enum fm_server_reason why);

/* [plain] Before a fork: what one process says is known to all of its children
 * from now on. Without this each knows for itself. */
void fm_server_reason_share(void);

/* [any] The kernel serves the file from the start, for this reason for the
 * first time: say so. */
void fm_server_reason_left(const char *path, dev_t dev, ino_t ino,
			   enum fm_server_reason why);
/* [any] The file has been demoted: say so. */
void fm_server_reason_demoted(const char *path, dev_t dev, ino_t ino,
			     enum fm_server_reason why);
