/* SPDX-License-Identifier: MIT */
/*
 * peers_registry.c - claims on files, visible to every process that could have
 * one on the same file.
 *
 * Each data file has two bytes in a file that such processes share
 * (peers_places.c), found by a hash of device, inode and time of birth, and
 * nothing is ever stored there: a claim is an open file description lock
 * (fcntl), which needs no process ids, works across PID and network namespaces,
 * and ends with the process.
 *
 *   byte 0   engines: shared by those who only read, exclusive for one that
 *            stores
 *   byte 1   users of the kernel's mapping: shared
 *
 * Who finds byte 0 taken takes byte 1, writes to the file (the others watch
 * it) and waits until byte 0 is free: the lock is the answer. Two files with
 * the same hash cost a demotion, nothing else.
 *
 * Anybody can lock a byte of the place that is for all. So claims are put into
 * each place that this process has, but who could not open the data file is not
 * heard:
 *
 *   a file that only its owner may open: the owner's place counts, in which
 *   processes of the owner and of root are
 *
 *   any other: root's place for all counts, too. While root has made none, no
 *   engine of root's runs, and only the owner's processes may serve the file,
 *   or who reads what root alone can change
 */
#include "peers_priv.h"

#include "base/fds.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "file/file.h"
#include "peers.h"

#define OTHERS (S_IRWXG | S_IRWXO)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define COMMON 0 /* unit: the number of a place */

void fm_peers_fds(int *ret)
{
	for (unsigned k = 0; k < FM_PLACES; k++)
		ret[k] = fm_place_fd(k);
}

static bool peers_registry_is_open(unsigned k)
{
	return fm_place_at(k)->fd >= 0;
}

static bool peers_registry_is_private(const struct stat *st)
{
	return !(st->st_mode & OTHERS);
}

/* ---- whose claims count ------------------------------------------------- */

/* A program that has confined itself may be ended for the question. */
static uid_t peers_registry_me(void)
{
	static _Atomic uid_t last;

	if (!fm_sys_confined())
		atomic_store(&last, (uid_t)fm_sys0(SYS_geteuid));
	return atomic_load(&last);
}

/* Who asks for statistics learns that a server does not answer: it is not asked
 * here, where that is known. statx(2) may end who has confined itself. */
static bool owner_of(int fd, struct stat *st)
{
	return (!fm_sys_confined() && !fm_sys_whose(fd, st)) ||
	       !fm_sys_stat_notimes(fd, st);
}

/* A child of fork has it mapped when its path is closed. */
static bool peers_registry_look_at(const struct fm_file *f, struct stat *st)
{
	if (f->io->path >= 0 && owner_of(f->io->path, st))
		return true;
	st->st_uid = f->peers->owner;
	st->st_mode = f->peers->mode;
	return st->st_mode;
}

static unsigned all_open(void)
{
	unsigned set = 0;

	for (unsigned k = 0; k < FM_PLACES; k++)
		set |= (unsigned)peers_registry_is_open(k) << k;
	return set;
}

/* A bit for each place where a claim on f is heard. */
static unsigned peers_registry_heard(const struct fm_file *f)
{
	const uid_t user = peers_registry_me();
	struct stat st;
	unsigned set = 0;

	if (!peers_registry_look_at(f, &st))
		return all_open();
	for (unsigned k = 1; k < FM_PLACES; k++)
		if (peers_registry_is_open(k) &&
		    (fm_place_at(k)->owner == st.st_uid ||
		     fm_place_at(k)->owner == user))
			set |= 1u << k;
	return peers_registry_is_private(&st) || !peers_registry_is_open(COMMON)
		       ? set
		       : set | 1u << COMMON;
}

/* ... and where one is put. */
static unsigned peers_registry_told(const struct fm_file *f)
{
	return peers_registry_heard(f) |
	       (peers_registry_is_open(COMMON) ? 1u << COMMON : 0);
}

bool fm_peers_can_ask(const struct fm_file *f)
{
	return peers_registry_heard(f) != 0;
}

/* Root has made no place for all: its engines would have. */
static bool none_of_roots(int common)
{
	return common == -ENOENT || common == -EPERM;
}

/* May an engine of this process serve it, given which places there are? */
static bool peers_registry_may_serve(const struct stat *st, bool stores,
				     int home, int common)
{
	const uid_t user = peers_registry_me();

	if (peers_registry_is_private(st))
		return home > 0 && (!user || st->st_uid == user);
	if (!common)
		return true;
	if (home <= 0 || !none_of_roots(common))
		return false;
	return st->st_uid == user ||
	       (!st->st_uid && !(st->st_mode & OTHERS_WRITE) && !stores);
}

static void peers_registry_say_once(const struct fm_file *f, int home,
				    int common)
{
	static bool said;
	const int err = home < 0 && home != -EPERM ? -home : -common;

	if (said)
		return;
	said = true;
	fm_log(FM_LOG_WARN, "%s: left to the kernel: no registry of processes "
	       "that can be trusted, errno %d: %s (root makes "
	       "/dev/shm/fastmap-peers: docs/sharing.md); further files are "
	       "not named", f->path, err, fm_error_text(err));
}

int fm_registry_for(struct fm_file *f, bool stores)
{
	const uid_t user = peers_registry_me();
	struct stat st;
	int home, common;

	if (!fm_sys_may_ask()) /* what was found before has to do */
		return f->peers->mode ? 0 : -EPERM;
	if (fm_places_nowhere())
		return 0;
	if (!peers_registry_look_at(f, &st))
		return -EPERM;
	f->peers->owner = st.st_uid;
	f->peers->mode = st.st_mode;
	home = fm_place_open(user ? user : st.st_uid);
	common = fm_place_state(COMMON);
	if (home > 0 && fm_place_state((unsigned)home))
		home = -EPERM;
	if (peers_registry_may_serve(&st, stores, home, common))
		return 0;
	peers_registry_say_once(f, home, common);
	return -EPERM;
}

/* ---- locks ------------------------------------------------------------- */

static off_t peers_registry_place_of(const struct fm_file *f)
{
	uint64_t h = (f->ino + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	h ^= (h >> 31) ^ (uint64_t)f->dev * 0x94d049bb133111ebull;
	h = (h ^ h >> 30) * 0x94d049bb133111ebull ^ f->born;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	return (off_t)(h >> 3) * 2;
}

/* len 0: all from there on. */
static int lock_bytes(unsigned k, int cmd, short type, off_t at, off_t len,
		      short *ret_type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET,
			   .l_start = at, .l_len = len };
	int err = (int)fm_sys3(SYS_fcntl, fm_place_fd(k), cmd, &l);

	if (ret_type)
		*ret_type = l.l_type;
	return err;
}

static int lock_byte(unsigned k, int cmd, short type, off_t at,
		     short *ret_type)
{
	return lock_bytes(k, cmd, type, at, 1, ret_type);
}

/* The places of `set` where there is a claim that a lock of this type would
 * meet. */
static unsigned others_hold(unsigned set, off_t at, short against)
{
	unsigned found = 0;
	short type;

	for (unsigned k = 0; k < FM_PLACES; k++)
		if ((set >> k & 1) &&
		    lock_byte(k, F_OFD_GETLK, against, at, &type) == 0 &&
		    type != F_UNLCK)
			found |= 1u << k;
	return found;
}

static void peers_registry_unlock(off_t at)
{
	for (unsigned k = 0; k < FM_PLACES; k++)
		if (peers_registry_is_open(k))
			lock_byte(k, F_OFD_SETLK, F_UNLCK, at, NULL);
}

/* 0, or what one that is heard has said. */
static int lock(const struct fm_file *f, short type, off_t at)
{
	const unsigned set = peers_registry_told(f),
		       hears = peers_registry_heard(f);
	int one, err = 0;

	for (unsigned k = 0; k < FM_PLACES; k++) {
		if (!(set >> k & 1))
			continue;
		one = lock_byte(k, F_OFD_SETLK, type, at, NULL);
		if (one && (hears >> k & 1))
			err = one == -EACCES ? -EAGAIN : one;
	}
	return err;
}

bool fm_registry_kernel_users(const struct fm_file *f)
{
	return others_hold(peers_registry_heard(f),
			   peers_registry_place_of(f) + 1, F_WRLCK);
}

enum fm_holder fm_registry_engines(const struct fm_file *f, bool readers_too)
{
	const unsigned by =
		others_hold(peers_registry_heard(f), peers_registry_place_of(f),
			    readers_too ? F_WRLCK : F_RDLCK);

	if (!by)
		return FM_HOLDER_NONE;
	return by == 1u << COMMON ? FM_HOLDER_ANYBODY : FM_HOLDER_TRUSTED;
}

bool fm_peers_others(const struct fm_file *f)
{
	return fm_registry_kernel_users(f) || fm_registry_engines(f, true);
}

bool fm_registry_only_readers(const struct fm_file *f)
{
	const uid_t user = peers_registry_me();
	struct stat st;

	return peers_registry_look_at(f, &st) && !(st.st_mode & OTHERS_WRITE) &&
	       (!user || user == st.st_uid);
}

/* ---- the kernel's users -------------------------------------------------- */

/* Which bytes are locked for what the kernel has mapped in this process: files
 * are forgotten, mappings are not, and children of children have them still.
 * Under the space lock. */
static struct {
	uint32_t n;
	bool more; /* than there is room for */
	off_t at[FM_MAX_FILES];
} used;

static uint32_t used_find(off_t at)
{
	uint32_t i = 0;

	while (i < used.n && used.at[i] != at)
		i++;
	return i;
}

static void used_add(off_t at)
{
	const uint32_t i = used_find(at);

	if (i < used.n)
		return;
	if (i == FM_MAX_FILES)
		used.more = true;
	else
		used.at[used.n++] = at;
}

static void used_forget(off_t at)
{
	const uint32_t i = used_find(at);

	if (i < used.n)
		used.at[i] = used.at[--used.n];
}

/* In all places that are open: whose file it is may not be known any more. Of
 * more than there is room for nobody serves anything beside us. */
void fm_registry_use_again(void)
{
	for (unsigned k = 0; k < FM_PLACES; k++) {
		if (!peers_registry_is_open(k))
			continue;
		for (uint32_t i = 0; i < used.n; i++)
			lock_byte(k, F_OFD_SETLK, F_RDLCK, used.at[i], NULL);
		if (used.more)
			lock_bytes(k, F_OFD_SETLK, F_RDLCK, 0, 0, NULL);
	}
}

int fm_registry_claim(const struct fm_file *f, enum fm_claim claim)
{
	off_t at = peers_registry_place_of(f);
	int err = 0;

	switch (claim) {
	case FM_CLAIM_NONE:
		used_forget(at + 1);
		peers_registry_unlock(at);
		peers_registry_unlock(at + 1);
		return 0;
	case FM_CLAIM_KERNEL: /* first in, then out: never unseen */
		used_add(at + 1);
		err = lock(f, F_RDLCK, at + 1);
		peers_registry_unlock(at);
		return err;
	default:
		err = lock(f, claim == FM_CLAIM_READ ? F_RDLCK : F_WRLCK, at);
		if (!err && fm_registry_kernel_users(f))
			err = -EAGAIN;
		return err;
	}
}

void fm_registry_kernel_ends(const struct fm_file *f)
{
	const off_t at = peers_registry_place_of(f) + 1;

	used_forget(at);
	peers_registry_unlock(at);
}

void fm_registry_notify(void)
{
	char c = 0;

	for (unsigned k = 0; k < FM_PLACES; k++)
		if (fm_fd_still_ours(fm_place_fd(k)))
			fm_sys_pwrite(fm_place_at(k)->fd, &c, 1, 0);
}

/* ---- fork ---------------------------------------------------------------- */

/* What is left to the kernel among readers has only the claim of one who
 * reads, which is the parent's. */
static void use_all_kernels(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (fm_kernel_serves(f))
			used_add(peers_registry_place_of(f) + 1);
}

/* The description is shared with the parent, and so are its locks. The child
 * has the kernel's mappings of what had been demoted, and of what its parent's
 * parents had: it says so for itself before it lets go of the parent's; where
 * it could not, others look, who may have come when the parent had just
 * ended. */
void fm_registry_forked(void)
{
	int old[FM_PLACES];
	bool let_go = false;

	fm_places_forked(old);
	for (unsigned k = 0; k < FM_PLACES; k++) {
		const int had = old[k];

		fm_place_forked(k, &old[k]);
		let_go |= old[k] != had;
	}
	use_all_kernels();
	fm_registry_use_again();
	if (let_go)
		fm_registry_notify();
	for (unsigned k = 0; k < FM_PLACES; k++)
		fm_fd_drop(old[k]);
}
