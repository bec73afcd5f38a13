/* SPDX-License-Identifier: MIT */
/*
 * peers_registry.c - claims on files, visible to every process.
 *
 * One file in /dev/shm; each data file has two bytes in it, found by a hash
 * of device, inode and time of birth, and nothing is ever stored there: a claim
 * is an open file description lock (fcntl), which needs no process ids, works
 * across PID and network namespaces, and ends with the process.
 *
 *   byte 0   engines: shared by those who only read, exclusive for one that
 *            stores
 *   byte 1   users of the kernel's mapping: shared
 *
 * Who finds byte 0 taken takes byte 1, writes to the file (the others watch
 * it) and waits until byte 0 is free: the lock is the answer. Two files with
 * the same hash cost a demotion, nothing else.
 */
#include "base/fds.h"
#include "peers_priv.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "file/file.h"
#include "io/io.h"
#include "peers.h"

static const char *const places[] = {
	"/dev/shm/fastmap-peers",
	"/tmp/fastmap-peers",
};
static int fd = -1;
static const char *place;

int fm_registry_fd(void)
{
	return fd;
}

int fm_peers_fd(void)
{
	return fd;
}

/* Not O_CREAT alone: fs.protected_regular forbids that for a file that
 * somebody else owns in a sticky directory. */
static int open_at(const char *path)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;
	int n = fm_sys_open(path, flags, 0);

	if (n == -ENOENT) {
		n = fm_sys_open(path, flags | O_CREAT | O_EXCL, 0666);
		if (n >= 0) /* whatever the umask */
			fm_sys2(SYS_fchmod, n, 0666);
		else if (n == -EEXIST)
			n = fm_sys_open(path, flags, 0);
	}
	if (n >= 0 && (fm_sys_fstat(n, &st) || !S_ISREG(st.st_mode))) {
		fm_sys_close(n);
		return -EINVAL;
	}
	return n;
}

static int open_any(void)
{
	int n = -ENOENT;

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		n = open_at(places[i]);
		if (n >= 0) {
			place = places[i];
			return fm_fd_raise(n);
		}
	}
	return n;
}

int fm_registry_open(void)
{
	static bool warned;

	if (fd >= 0)
		return 0;
	fd = open_any();
	fm_backup_registry(fd);
	if (fd >= 0)
		return 0;
	if (!warned)
		fm_log(FM_LOG_WARN, "no registry of processes (%s, errno %d: "
		       "%s): others on the same file are only found by looking",
		       places[0], -fd, fm_error_text(-fd));
	warned = true;
	return fd;
}

/* ---- locks ------------------------------------------------------------- */

static off_t place_of(const struct fm_file *f)
{
	uint64_t h = (f->ino + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	h ^= (h >> 31) ^ (uint64_t)f->dev * 0x94d049bb133111ebull;
	h = (h ^ h >> 30) * 0x94d049bb133111ebull ^ f->born;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	return (off_t)(h >> 3) * 2;
}

static int lock_byte(int cmd, short type, off_t at, short *ret_type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET,
			   .l_start = at, .l_len = 1 };
	int err = (int)fm_sys3(SYS_fcntl, fd, cmd, &l);

	if (ret_type)
		*ret_type = l.l_type;
	return err;
}

/* Is there a claim that a lock of this type would meet? */
static bool others_hold(off_t at, short against)
{
	short type;

	return lock_byte(F_OFD_GETLK, against, at, &type) == 0 &&
	       type != F_UNLCK;
}

bool fm_registry_kernel_users(const struct fm_file *f)
{
	return fd >= 0 && others_hold(place_of(f) + 1, F_WRLCK);
}

bool fm_registry_engines(const struct fm_file *f, bool readers_too)
{
	return fd >= 0 &&
	       others_hold(place_of(f), readers_too ? F_WRLCK : F_RDLCK);
}

int fm_registry_claim(const struct fm_file *f, enum fm_claim claim)
{
	off_t at = place_of(f);
	int err = 0;

	if (fd < 0)
		return 0;
	switch (claim) {
	case FM_CLAIM_NONE:
		lock_byte(F_OFD_SETLK, F_UNLCK, at, NULL);
		return lock_byte(F_OFD_SETLK, F_UNLCK, at + 1, NULL);
	case FM_CLAIM_KERNEL: /* first in, then out: never unseen */
		err = lock_byte(F_OFD_SETLK, F_RDLCK, at + 1, NULL);
		lock_byte(F_OFD_SETLK, F_UNLCK, at, NULL);
		return err;
	default:
		err = lock_byte(F_OFD_SETLK,
				claim == FM_CLAIM_READ ? F_RDLCK : F_WRLCK, at,
				NULL);
		if (!err && others_hold(at + 1, F_WRLCK))
			err = -EAGAIN;
		return err == -EACCES ? -EAGAIN : err;
	}
}

void fm_registry_kernel_ends(const struct fm_file *f)
{
	if (fd >= 0)
		lock_byte(F_OFD_SETLK, F_UNLCK, place_of(f) + 1, NULL);
}

void fm_registry_notify(void)
{
	char c = 0;

	if (fm_fd_still_ours(fd))
		fm_sys_pwrite(fd, &c, 1, 0);
}

/* ---- a new description ------------------------------------------------- */

static void claim_again(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id) {
		enum fm_claim c = fm_peers_claim_of(f);

		if (c != FM_CLAIM_NONE && fm_registry_claim(f, c))
			fm_peers_demote(f, FM_WHY_PEER);
	}
}

bool fm_registry_moved(void)
{
	struct stat st;
	int old = fd;

	if (fd < 0 || fm_sys_fstat(fd, &st) || st.st_nlink)
		return false;
	fd = open_any();
	if (fd < 0) {
		fd = old;
		return false;
	}
	claim_again();
	fm_backup_registry(fd);
	fm_fd_drop(old);
	return true;
}

/* The description is shared with the parent, and so are its locks. The child
 * has the kernel's mappings of what had been demoted: it says so for itself
 * before it lets go of the parent's. */
void fm_registry_forked(void)
{
	struct fm_file *f;
	int old = fd;

	if (old < 0)
		return;
	fd = open_any();
	fm_for_each_file(f, id)
		if (fd >= 0 && fm_kernel_serves(f))
			fm_registry_claim(f, FM_CLAIM_KERNEL);
	fm_fd_drop(old);
}
