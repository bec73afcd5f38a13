/* SPDX-License-Identifier: MIT */
/*
 * peers_places.c - the files that claims are put in, and which of them can be
 * trusted.
 *
 * Whoever can rename one, or shut others out of it, makes processes that map
 * one file claim it in different places, and stores get lost. So:
 *
 *   fastmap-peers       root's, for all users
 *   fastmap-peers.UID   that user's, who alone (and root) can open it
 *
 * Both lie in a directory of root's, or of this user's, in which nobody else
 * removes or renames them. A place is looked at again before each claim: it has
 * to have that owner, and to be what its name says.
 *
 * Who may put what into which: peers_registry.c.
 */
#include <sys/resource.h>

#include "base/fds.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "io/io.h"
#include "peers_priv.h"

#define NAME "/fastmap-peers"
#define OTHERS (S_IRWXG | S_IRWXO)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define ALL_RW 0666 /* ABI: a file's mode */
#define OWN_RW 0600 /* ABI: a file's mode */

static const char *const folders[] = { "/dev/shm", "/tmp" };

/* [0]: root's for all. Under the space lock. */
static struct fm_place places[FM_PLACES] = {
	[0 ... FM_PLACES - 1] = { .fd = -1, .state = -ENOENT },
};

const struct fm_place *fm_place_at(unsigned k)
{
	return &places[k];
}

/* Another description would have none of our claims, and meet those that the
 * guardian's keeps. */
int fm_place_fd(unsigned k)
{
	const int fd = places[k].fd;

	if (fd < 0 || !fm_sys_may_ask() || fm_fd_still_ours(fd) ||
	    !fm_recover_fd(&places[k].fd, fd, FM_BACKUP_PLACE + k))
		return places[k].fd;
	return -1;
}

int fm_place_state(unsigned k)
{
	return places[k].state;
}

static uid_t peers_places_me(void)
{
	return (uid_t)fm_sys0(SYS_geteuid);
}

/* The first that is there. */
static const char *folder(void)
{
	struct stat st;

	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!fm_sys_lstat(folders[i], &st) && S_ISDIR(st.st_mode))
			return folders[i];
	return NULL;
}

bool fm_places_nowhere(void)
{
	return !folder();
}

static bool peers_places_is_safe_folder(const char *path)
{
	struct stat st;

	return !fm_sys_lstat(path, &st) &&
	       (!st.st_uid || st.st_uid == peers_places_me()) &&
	       (!(st.st_mode & OTHERS_WRITE) || (st.st_mode & S_ISVTX));
}

static int peers_places_mode_of(const struct fm_place *p)
{
	return p == places ? ALL_RW : OWN_RW;
}

static void peers_places_path_of(const struct fm_place *p, const char *in,
				 char path[FM_PLACE_PATH])
{
	char end[16] = ".";

	fm_number_text(end + 1, p->owner);
	fm_join(path, FM_PLACE_PATH, in, NAME, p == places ? "" : end);
}

static bool is_right_for(const struct fm_place *p, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == p->owner &&
	       !(st->st_mode & OTHERS & ~(mode_t)peers_places_mode_of(p));
}

/* Is the open file the one that all who trust it agree on? */
static bool is_it(const struct fm_place *p, int fd, const char *path)
{
	struct stat st, named;

	return !fm_sys_fstat(fd, &st) && is_right_for(p, &st) &&
	       !fm_sys_lstat(path, &named) && named.st_ino == st.st_ino &&
	       named.st_dev == st.st_dev;
}

/* It has its owner and its mode before it has a name. */
static int peers_places_make(const struct fm_place *p, const char *in,
			     const char *path)
{
	char self[FM_PROC_FD];
	int err, fd = fm_sys_open(in, O_RDWR | O_TMPFILE, OWN_RW);

	if (fd < 0)
		return fd;
	fm_proc_fd(self, fd);
	err = p->owner == peers_places_me() ? 0 :
		(int)fm_sys3(SYS_fchown, fd, p->owner, -1);
	if (!err)
		err = (int)fm_sys2(SYS_fchmod, fd, peers_places_mode_of(p));
	if (!err)
		err = (int)fm_sys5(SYS_linkat, AT_FDCWD, self, AT_FDCWD, path,
				   AT_SYMLINK_FOLLOW);
	if (!err)
		return fd;
	fm_sys_close(fd);
	return err;
}

/* -EPERM: what has the name is somebody else's. */
static int open_there(const struct fm_place *p, const char *path)
{
	int fd = fm_sys_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd >= 0 && is_it(p, fd, path))
		return fd;
	if (fd >= 0)
		fm_sys_close(fd);
	else if (fd == -EPERM) /* a filter says so, whatever is there */
		return -EACCES;
	else if (fd != -EACCES && fd != -ELOOP && fd != -ENXIO &&
		 fd != -EISDIR)
		return fd;
	/* Of the right owner, who lets nobody in: it cannot be done without. */
	return fd == -EACCES && !fm_sys_lstat(path, &st) &&
			       st.st_uid == p->owner
		       ? -EACCES
		       : -EPERM;
}

/* Root puts what is right in the place of what is not: nobody trusts that. What
 * is right has the claims of all. */
static int make_way(const struct fm_place *p, const char *path)
{
	struct stat st;

	if (fm_sys_lstat(path, &st))
		return -EPERM;
	if (is_right_for(p, &st))
		return open_there(p, path); /* another one by now */
	fm_sys_unlink(path);
	return -ENOENT;
}

static int open_place(const struct fm_place *p)
{
	const char *in = folder();
	char path[FM_PLACE_PATH];
	const uid_t user = peers_places_me();
	int fd;

	if (!in)
		return -ENOTDIR;
	if (!peers_places_is_safe_folder(in))
		return -EPERM;
	peers_places_path_of(p, in, path);
	fd = open_there(p, path);
	if (fd == -EPERM && !user)
		fd = make_way(p, path);
	if (fd != -ENOENT || (user && user != p->owner))
		return fd;
	fd = peers_places_make(p, in, path);
	return fd == -EEXIST ? open_there(p, path) : fd;
}

/* Where the program has taken every number that of *old is given up first. */
static int open_instead(const struct fm_place *p, int *old)
{
	int fd = open_place(p);

	if (fd != -EMFILE || *old < 0)
		return fd;
	fm_fd_drop(*old);
	*old = -1;
	return open_place(p);
}

static int place_opened(struct fm_place *p, int fd)
{
	fd = fd < 0 ? fd : fm_fd_raise(fd);
	p->state = fd < 0 ? fd : 0;
	if (fd < 0)
		return fd;
	p->fd = fd;
	p->lost = false;
	return 0;
}

/* Guardian and watcher go over to it. The guardian keeps the claims of *old. */
static int open_as(struct fm_place *p, int *old)
{
	int fd = open_instead(p, old), err;

	if (*old < 0)
		p->fd = -1;
	err = place_opened(p, fd);
	if (err)
		return err;
	fm_backup_registry((unsigned)(p - places), p->fd);
	fm_bell_hear((unsigned)(p - places), p->fd);
	return 0;
}

/* 0, or -EPERM: it is of no use, and no other can be had. 1: it is not. */
static int still_it(const struct fm_place *p, int fd)
{
	const char *in = folder();
	char path[FM_PLACE_PATH];
	struct stat st;

	if (!in) /* the program has changed its root */
		return fm_sys_fstat(fd, &st) || !st.st_nlink ? -EPERM : 0;
	peers_places_path_of(p, in, path);
	return !peers_places_is_safe_folder(in) || !is_it(p, fd, path);
}

int fm_place_look(unsigned k, int *ret_old)
{
	struct fm_place *p = &places[k];
	int old, state;

	fm_place_fd(k);
	old = p->fd;
	*ret_old = -1;
	if (old < 0 && k)
		return -ENOENT;
	state = old < 0 ? 1 : still_it(p, old);
	if (state <= 0)
		return p->state = state;
	if (open_as(p, &old))
		return p->state; /* what is there is of no use */
	*ret_old = old;
	return 1;
}

static int peers_places_of(uid_t owner)
{
	for (unsigned k = 1; k < FM_PLACES; k++)
		if (places[k].fd >= 0 && places[k].owner == owner)
			return (int)k;
	return -ENOENT;
}

int fm_place_open(uid_t owner)
{
	int err, none = -1, k = peers_places_of(owner);

	for (int i = 1; k < 0 && i < FM_PLACES; i++)
		if (places[i].fd < 0 && !places[i].lost)
			k = i;
	if (k < 0)
		return -ENFILE;
	places[k].owner = owner;
	if (places[k].fd >= 0)
		return k;
	err = open_as(&places[k], &none);
	return err ? err : k;
}

bool fm_place_appears(void)
{
	const char *in = folder();
	char path[FM_PLACE_PATH];
	struct stat st;

	if (!in)
		return false;
	peers_places_path_of(places, in, path);
	return !fm_sys_lstat(path, &st) && st.st_uid == places->owner;
}

/* ---- fork ---------------------------------------------------------------- */

/* By this path, with a number that may be used? Where the program has taken
 * all the others it is that of fd. */
static bool opens_anew(const struct fm_place *p, int fd, const char *path)
{
	struct rlimit rl = { 0, 0 };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	return (rlim_t)fd < rl.rlim_cur && is_it(p, fd, path) &&
	       !fm_sys4(SYS_faccessat2, AT_FDCWD, path, R_OK | W_OK,
			AT_EACCESS);
}

bool fm_places_open_anew(void)
{
	char path[FM_PLACE_PATH];
	bool can = true;

	for (unsigned k = 0; k < FM_PLACES && can; k++) {
		const int fd = fm_place_fd(k);
		const char *in = fd < 0 ? NULL : folder();

		if (in)
			peers_places_path_of(&places[k], in, path);
		can = fd < 0 || (in && opens_anew(&places[k], fd, path));
	}
	return can;
}

void fm_places_forked(int old[FM_PLACES])
{
	for (unsigned k = 0; k < FM_PLACES; k++) {
		old[k] = places[k].fd;
		places[k].fd = -1;
	}
}

/* With a description of its own. Guardian and watcher are the parent's. The
 * claims that go with a number that is given up are the parent's, who has
 * another. */
void fm_place_forked(unsigned k, int *old)
{
	struct fm_place *p = &places[k];

	if (*old >= 0)
		p->lost = place_opened(p, open_instead(p, old)) != 0;
}

bool fm_places_found(void)
{
	bool all = true;

	for (unsigned k = 0; k < FM_PLACES; k++) {
		int none = -1;

		if (places[k].lost && open_as(&places[k], &none))
			all = false;
	}
	return all;
}
