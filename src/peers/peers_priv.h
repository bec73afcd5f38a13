/* SPDX-License-Identifier: MIT */
/* peers_priv.h - parts of the peer detection among themselves. */
#ifndef FM_PEERS_PRIV_H
#define FM_PEERS_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "engine.h"
#include "base/types.h"

struct fm_file;

/* peers_registry.c: who serves which file, known by locks on one byte pair of
 * a file that all processes of the machine share. The kernel drops them with
 * the process. */
enum fm_claim {
	FM_CLAIM_NONE,
	FM_CLAIM_READ,   /* the engine serves it, nobody stores */
	FM_CLAIM_WRITE,  /* the engine serves it alone */
	FM_CLAIM_KERNEL, /* we use it through the kernel's mapping */
};
/* 0, or -errno when there is no registry. */
int fm_registry_open(void);
int fm_registry_fd(void);
/* Take over in the child of fork: locks of its own. */
void fm_registry_forked(void);
/* The registry's name was unlinked: go to the new one with all claims. */
bool fm_registry_moved(void);
/* 0, or -EAGAIN when somebody else's claim forbids it. KERNEL never fails. */
int fm_registry_claim(const struct fm_file *f, enum fm_claim claim);
/* Does somebody else use it through the kernel / serve it? */
bool fm_registry_kernel_users(const struct fm_file *f);
bool fm_registry_engines(const struct fm_file *f, bool readers_too);
/* Make every other process look at its claims. */
void fm_registry_notify(void);

/* peers_given.c: has a descriptor of it been sent to somebody who could
 * conflict with us? Under the space lock. */
bool fm_given(const struct fm_file *f, bool writable);

/* Another process gets a descriptor of the file, which allows it to store or
 * not. Is there anything that one side could miss of the other? */
static inline bool fm_stored_to(const struct fm_file *f, bool stores)
{
	return f->io.writable || stores;
}

/* Then the file, if it is ours, goes to the kernel. */
void fm_file_pass_on(const struct stat *st, bool stores,
		     enum fm_server_reason why);

/* peers_scan.c: call fn for every numeric entry of a directory, of which buf
 * holds some at a time. 0, or -errno if it cannot be opened. */
int fm_each_number(const char *dir, char *buf, size_t size,
		   void (*fn)(const char *dir, int n, void *arg), void *arg);

/* What other processes that we may look at do with a file. */
enum {
	FM_USE_READ = 1,
	FM_USE_WRITE = 2,  /* open for writing, */
	FM_USE_MAPS = 4,  /* or mapped at all */
};
unsigned fm_peers_scan(const struct fm_file *f);
/* n 0: all */
unsigned fm_peers_scan_of(const struct fm_file *f, const int *pids, int n);
/* One closes what a ring had open whose process has ended: when nobody else has
 * been here, that was one of ours before the watch began. */
bool fm_peers_kernel_thread(int pid);

/* peers_lease.c: certainly nobody has the file open for writing? The
 * descriptor is the program's. */
bool fm_peers_no_writer(int fd);

/* peers_watch.c: a thread that hears the registry's bell and foreign opens. */
int fm_watch_start(void);
int fm_watch_add(struct fm_file *f);
void fm_watch_drop(struct fm_file *f);
void fm_watch_reset(void);
/* Its thread, which blocks all signals; 0: not running yet. */
int fm_watch_tid(void);

/* It has been told by inotify, which does not say whose an event is. */
bool fm_watch_by_inotify(const struct fm_file *f);
/* Wake its thread. */
void fm_watch_nudge(void);
/* Not a child by vfork, that runs in our memory. */
bool fm_watch_is_us(void);

/* peers_open.c: files that somebody else has opened, until that is judged. */
void fm_open_seen(struct fm_file *f, int pid);
void fm_open_closed(const struct fm_file *f, int pid);
/* Somebody had it open for writing. True: the kernel serves it now. */
bool fm_open_wrote(struct fm_file *f);
void fm_open_forget(const struct fm_file *f); /* not watched any more */
void fm_open_look(void);        /* who maps one gets it */
void fm_open_judge_all(void);
int fm_open_wait_ms(void);      /* until the next of these; -1: none */
uint32_t fm_open_pending(void); /* how many */
/* another process has sent us word: look, and wait */
void fm_open_word(void);
void fm_open_answer(void);      /* ... of the watcher */
void fm_open_reset(void);

/* peers.c, for the watch: hand over every file that others ask for. */
void fm_peers_answer(void);
enum fm_claim fm_peers_claim_of(const struct fm_file *f);
/* Our clean copies may be old: load them again. What lies beyond the end is
 * gone, the program's own copies with it. */
void fm_peers_refresh(struct fm_file *f);
/* Somebody we found uses the file natively. Under the space lock. */
void fm_peers_demote(struct fm_file *f, enum fm_server_reason why);

#endif
