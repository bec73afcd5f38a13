/* SPDX-License-Identifier: MIT */
/* peers_priv.h - parts of the peer detection among themselves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/reason.h"
#include "base/types.h"
#include "io/io.h"

/* As last looked at; mode 0: never. */
struct fm_file_peers {
	uid_t owner;
	mode_t mode;
};

struct fm_file;
struct fm_peers_wish;

/*
 * peers_places.c: the files that claims are put in, [0] root's for all, and
 * those of single users. [plain], under the space lock.
 *
 * at, of: by number, or by owner; -ENOENT. fd: its descriptor, found again if
 * the program has closed it, or -1. open: as `of`, opened if need be,
 * made if it is ours; the number or -errno. look: at one that is open, or at
 * root's; 0: it can be trusted. 1: so can another one that is open now;
 * *ret_old: the descriptor that it had, to be dropped, or -1. -errno: no other
 * can be had, nor may the old one be open any more. state: what that said, or
 * the last attempt to open it; -EPERM: the name is somebody else's. appears: is
 * there one of root's? nowhere: no folder for any. open_anew: could a child of
 * fork open them all? forked, in the child: none is open, old[] are the
 * parent's; then for each: open it, *old is to be dropped, or -1. found: is
 * there none that the parent had and that could not be opened? It is tried
 * again.
 */
#define FM_PLACES FM_CLAIM_FDS
#define FM_PLACE_PATH 48
struct fm_place {
	uid_t owner;
	_Atomic int fd; /* or -1 */
	int state; /* 0 or -errno */
	bool lost; /* the parent of this child of fork has it */
};
const struct fm_place *fm_place_at(unsigned k); /* [any] */
int fm_place_fd(unsigned k);                    /* [any] */
int fm_place_open(uid_t owner);
int fm_place_look(unsigned k, int *ret_old);
int fm_place_state(unsigned k);
bool fm_place_appears(void);
bool fm_places_nowhere(void);
bool fm_places_open_anew(void);
void fm_places_forked(int old[FM_PLACES]);
void fm_place_forked(unsigned k, int *old);
bool fm_places_found(void);

/* peers_registry.c: who serves which file, known by locks on one byte pair in
 * each place. The kernel drops them with the process. */
enum fm_claim {
	FM_CLAIM_NONE,
	FM_CLAIM_READ,   /* the engine serves it, nobody stores */
	FM_CLAIM_WRITE,  /* the engine serves it alone */
	FM_CLAIM_KERNEL, /* we use it through the kernel's mapping */
};
/* [plain] Under the space lock. for: may an engine of this process serve f,
 * with the places that there are for claims on it? They are opened. 0, or
 * -EPERM: said once. forked: in the child of fork, open them anew, for locks of
 * its own. */
int fm_registry_for(struct fm_file *f, bool stores);
void fm_registry_forked(void);
/* [any] Claim f; 0, or -EAGAIN when a claim of another process forbids it.
 * FM_CLAIM_KERNEL never fails. */
int fm_registry_claim(const struct fm_file *f, enum fm_claim claim);
/* [any] The kernel's mapping of f is not used here any more. */
void fm_registry_kernel_ends(const struct fm_file *f);
/* [plain] Does another process use f through the kernel, or serve it by an
 * engine (readers_too: also if it only reads)? */
enum fm_holder {
	FM_HOLDER_NONE,
	FM_HOLDER_ANYBODY, /* it may be any user of the machine, */
	FM_HOLDER_TRUSTED, /* the file's owner, ourselves or root */
};
bool fm_registry_kernel_users(const struct fm_file *f);
enum fm_holder fm_registry_engines(const struct fm_file *f, bool readers_too);
/* [any] What is mapped by the kernel in this process, also what no file of the
 * engine's is known of, is claimed again: in places or descriptions that are
 * new. Under the space lock. */
void fm_registry_use_again(void);
/* [any] Can those who are not trusted only read f? */
bool fm_registry_only_readers(const struct fm_file *f);
/* [any] Make every other process look at its claims. */
void fm_registry_notify(void);

/* [any] peers_given.c, under the space lock: has a descriptor of f been sent to
 * a process that could conflict with us? `writable`: we may store to f. */
bool fm_given(const struct fm_file *f, bool writable);

/* [fault] Another process gets a descriptor of f that allows it to store
 * (stores), or not. Is there anything that one side could miss of the other? */
static inline bool fm_stored_to(const struct fm_file *f, bool stores)
{
	return f->io->writable || stores;
}

/* [any] Another process gets a descriptor of this file: demote it if it is ours
 * and fm_stored_to says so. */
void fm_file_pass_on(const struct stat *st, bool stores,
		     enum fm_server_reason why);

/* [any] peers_scan.c: call fn for every numeric entry of a directory, of which
 * buf holds some at a time. 0, or -errno if it cannot be opened. */
int fm_each_number(const char *dir, char *buf, size_t size,
		   void (*fn)(const char *dir, int n, void *arg), void *arg);

/* What a process does with a file. */
enum {
	FM_USE_READ = 1,
	FM_USE_WRITE = 2,  /* open for writing, */
	FM_USE_MAPS = 4,  /* or mapped at all */
};
/* [plain] What other processes that we may look at do with f: FM_USE_*.
 * scan_of: only the n processes in pids; n 0: all. */
unsigned fm_peers_scan(const struct fm_file *f);
unsigned fm_peers_scan_of(const struct fm_file *f, const int *pids, int n);
/* [plain] The same of a file that we do not know. */
struct fm_file_id;
unsigned fm_peers_scan_unknown(const struct fm_file_id *id, const char *path);
/* [plain] Under the space lock: does this process map f in a way that no hook
 * has seen, so that stores of one side could be missed by the other? */
bool fm_peers_unseen(const struct fm_file *f, const struct fm_peers_wish *w);
/* [any] Is pid a kernel thread? One closes what a ring had open whose process
 * has ended: when nobody else has been here, that was one of ours before the
 * watch began. */
bool fm_peers_kernel_thread(int pid);

/* [plain] peers_lease.c: is it certain that nobody has the file open for
 * writing? fd is the program's. */
bool fm_peers_no_writer(int fd);

/*
 * [plain] peers_bell.c: what wakes the watcher, and who that is. start: the
 * descriptor or -1. deaf: a place is not heard, ask. lost: none is. empty: it
 * has been heard. here: the calling thread is it. tid: its id, which blocks all
 * signals; 0: not running yet. is_us: is this the process that watches, and no
 * child of vfork in its memory?
 */
int fm_bell_start(void);
int fm_nudge_start(void);
void fm_bell_hear(unsigned k, int place); /* under the space lock */
void fm_bell_lost(void);
void fm_bell_empty(void);
void fm_nudge_empty(void);
void fm_bell_reset(void); /* in the child of fork */
void fm_watch_runs(bool yes);
void fm_watch_here(void);
/* [any] */
bool fm_bell_deaf(void);
void fm_watch_nudge(void);
int fm_watch_tid(void);
bool fm_watch_is_us(void);

/*
 * [plain] peers_marks.c: events of our files. start: the descriptors, or -1.
 * untouched: has nobody changed it since the mark, we included? foreign:
 * somebody else has used it. by_inotify: which does not say whose an event is.
 * by_wd, by_fid: the file of an event, with a reference, or NULL.
 */
void fm_marks_start(int *ret_fan, int *ret_inotify);
void fm_marks_reset(void); /* in the child of fork */
int fm_watch_add(struct fm_file *f); /* 0 or -errno */
void fm_watch_drop(struct fm_file *f);
bool fm_watch_untouched(const struct fm_file *f);
struct fm_file *fm_watch_by_wd(int wd);
struct fm_file *fm_watch_by_fid(const void *fid);
/* [any] */
void fm_watch_foreign(const struct fm_file *f);
bool fm_watch_is_foreign(const struct fm_file *f);
bool fm_watch_by_inotify(const struct fm_file *f);
bool fm_watch_by_fanotify(const struct fm_file *f);

/* [plain] peers_watch.c: a thread that hears the registry's bell and foreign
 * opens. reset: in the child of fork. 0 or -errno. */
int fm_watch_start(void);
void fm_watch_reset(void);

/*
 * [any] peers_open.c: files that somebody else has opened, until that is
 * judged. closed: an event has told so of process pid. forget: f is not watched
 * any more. pending: how many there are.
 */
void fm_open_closed(const struct fm_file *f, int pid);
void fm_open_forget(const struct fm_file *f);
uint32_t fm_open_pending(void);
void fm_open_reset(void); /* [plain] in the child of fork */
/* [plain] Under the space lock: may a process have f open of which it would not
 * be seen that it has gone? */
bool fm_open_unseen(const struct fm_file *f);

/*
 * [any] peers_judge.c: what that means. seen: process pid has opened it. wrote:
 * somebody had f open for writing; true: the kernel serves it now.
 */
void fm_open_seen(struct fm_file *f, int pid);
bool fm_open_wrote(struct fm_file *f);
/* [any] Another process may have told us to go on (IPC): make the watcher look
 * at these files, and wait for it. */
void fm_open_word(void);
/* [any] peers_words.c: there is time again to write before word goes out. */
void fm_words_affordable(void);
/*
 * [plain] In the watcher. look: who maps such a file makes it the kernel's.
 * judge_all: those whose time is up. wait_ms: until the next of these, -1:
 * none. answer: to fm_open_word.
 */
void fm_open_look(void);
void fm_open_judge_all(void);
int fm_open_wait_ms(void);
void fm_open_answer(void);

/*
 * [plain] peers_readers.c: files that several processes only read. begin: we
 * do, under the space lock. In the watcher, rung: by somebody who begins to;
 * wait_ms: until the next look, -1: none.
 */
void fm_readers_begin(const struct fm_file *f);
void fm_readers_rung(void);
void fm_readers_look(void);
int fm_readers_wait_ms(void);

/*
 * [any] peers_claims.c: what we claim of each file. Under the space lock. is:
 * from now on. kernels: the file has been demoted, and we use the kernel's
 * mapping. drop: it is not used here any more. demote: another process uses f
 * natively. share: other processes only read f, as we do; the page cache is to
 * be the one cache of all. answer: demote every file that others ask for.
 * look: are the places what they were? Else go to the new ones with all
 * claims.
 */
enum fm_claim fm_claim_of(const struct fm_file *f);
void fm_claim_is(const struct fm_file *f, enum fm_claim claim);
void fm_claim_kernels(struct fm_file *f);
void fm_claim_drop(struct fm_file *f);
void fm_peers_demote(struct fm_file *f, enum fm_server_reason why);
void fm_peers_share(struct fm_file *f);
void fm_claims_answer_locked(void);
/* [plain] answer takes the lock. reset: in the child of fork. */
void fm_claims_answer(void);
void fm_claims_look(void);
void fm_claims_reset(void);
