/* SPDX-License-Identifier: MIT */
/*
 * peers_inherit.c - files whose descriptor comes to an executed program.
 *
 * Like one that is sent (peers_given.c): it is mapped without an open(2), and
 * closed without the end of an open file. A descriptor that somebody merely
 * holds counts as use (peers.c), so it does here, too: what either side can
 * store to goes to the kernel.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"
#include "tunables.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

#define BUF 2048
#define MAPS_BUF 4096

static const enum fm_server_reason why = FM_WHY_INHERITED;
static const char late[] =
	"%s: not handed to the kernel within 10 s: the program that "
	"inherits its descriptor may miss stores until it is (is the "
	"device slow? open the file with O_CLOEXEC)";

/* Whoever had the lock may have been killed, our parent with all its threads:
 * then the memory goes with us. */
static void peers_inherit_put(struct fm_file *f)
{
	uint64_t old;

	while (!fm_space_trylock(&old)) {
		if (!fm_thread_any())
			return;
		fm_sys_sleep_us(200);
	}
	fm_file_put_locked(f);
	fm_space_unlock(&old);
}

/* The memory is the parent's, its locks are not for us, who may be killed: its
 * write-back thread does it. */
static void vforked(const struct stat *st, bool stores)
{
	struct fm_file *f = fm_file_find(st->st_dev, st->st_ino);
	uint32_t asked;

	if (!f)
		return;
	if (fm_stored_to(f, stores) && atomic_load(&f->maps) &&
	    !fm_kernel_serves(f)) {
		asked = fm_demote_ask(f, why);
		fm_wb_kick();
		if (!fm_demote_wait(f, asked, fm_tune.patience_ms) &&
		    fm_thread_any())
			fm_log(FM_LOG_ERROR, late, f->path);
	}
	peers_inherit_put(f);
}

/* Number n of process pid, a file that we know. */
struct given {
	int pid, n;
	const struct stat *st;
	bool by_us;
};

static void peers_inherit_compare(const char *dir, int n, void *arg)
{
	struct given *g = arg;
	struct stat st;

	if (g->by_us || fm_sys_fstat(n, &st) || st.st_ino != g->st->st_ino ||
	    st.st_dev != g->st->st_dev)
		return;
	/* where the kernel does not tell it may be */
	g->by_us = fm_sys5(SYS_kcmp, fm_sys_getpid(), g->pid, KCMP_FILE, n,
			   g->n) <= 0;
}

/* Has the child of posix_spawn got it from us? It may have opened the file by
 * itself before we look: then it is one process more that uses it, for as long
 * as it does. */
static enum fm_server_reason why_spawned(const char *dir, int n,
					 const struct stat *st)
{
	_Alignas(struct dirent64) char buf[BUF];
	struct given g = { atoi(dir + sizeof("/proc/") - 1), n, st, false };
	struct fm_file *f = fm_file_find(st->st_dev, st->st_ino);

	if (!f)
		return why;
	fm_file_put(f);
	if (fm_each_number("/proc/self/fd", buf, sizeof(buf),
			   peers_inherit_compare, &g) < 0)
		return why;
	return g.by_us ? why : FM_WHY_PEER;
}

/* Descriptor n of the process whose directory it is. */
static void peers_inherit_look_at(const char *dir, int n, void *arg)
{
	const enum fm_heir heir = *(enum fm_heir *)arg;
	char path[64];
	struct stat st, link;
	bool stores;

	if (heir != FM_HEIR_SPAWNED &&
	    (fm_sys3(SYS_fcntl, n, F_GETFD, 0) & FD_CLOEXEC))
		return;
	snprintf(path, sizeof(path), "%s/%d", dir, n);
	if (fm_sys_which_at(path, &st) ||
	    !S_ISREG(st.st_mode) ||
	    fm_sys_lstat(path, &link))
		return;
	/* the mode of the link is the descriptor's */
	stores = link.st_mode & S_IWUSR;
	if (heir == FM_HEIR_SPAWNED)
		fm_file_pass_on(&st, stores, why_spawned(dir, n, &st));
	else if (heir == FM_HEIR_SHELL)
		fm_file_pass_on(&st, stores, why);
	else if (heir == FM_HEIR_VFORKED)
		vforked(&st, stores);
	if (heir != FM_HEIR_SPAWNED && heir != FM_HEIR_SHELL &&
	    atomic_load(&fm_placeholders))
		FM_UP_EACH(fork_inherits, tell)
			tell(st.st_dev, st.st_ino, stores,
			     heir == FM_HEIR_VFORKED);
}

/* Without the device, which is not that of stat on btrfs and overlayfs: a file
 * taken for another goes to the kernel, no more. */
static bool peers_inherit_look_at_map(const struct fm_proc_map *m, void *arg)
{
	struct fm_file *f;

	if (!m->ino)
		return false;
	FM_HOLD_SPACE();
	fm_for_each_file(f, id)
		if (f->ino == m->ino &&
		    fm_stored_to(f, m->write && m->shared))
			fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_PEER);
	return false;
}

/* The child may have mapped the file and closed it before our look at its
 * descriptors. */
static void each_mapping(int pid)
{
	char path[32], buf[MAPS_BUF];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fm_proc_maps(path, buf, sizeof(buf), peers_inherit_look_at_map, NULL);
}

#define MOST_NUMBERS 65536 /* size: descriptors that are looked at */

/* Where no descriptor is left to read the directory by: every number there may
 * be. */
static void each_possible(const char *dir, enum fm_heir heir)
{
	struct rlimit rl = { 0, 0 };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	for (int n = 0; n < (int)fm_least(rl.rlim_cur, MOST_NUMBERS); n++)
		peers_inherit_look_at(dir, n, &heir);
}

void fm_files_inherited(enum fm_heir heir, int pid)
{
	_Alignas(struct dirent64) char buf[BUF];
	char dir[32];
	int err;

	if (!fm_active() || fm_sys_confined() ||
	    (heir == FM_HEIR_FORKED && !fm_placeholders_left()))
		return;
	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid ? pid : fm_sys_getpid());
	/* If it cannot be opened it is another user's, or gone. */
	err = fm_each_number(dir, buf, sizeof(buf), peers_inherit_look_at,
			     &heir);
	if (err == -EMFILE || err == -ENFILE)
		each_possible(dir, heir);
	if (heir == FM_HEIR_SPAWNED)
		each_mapping(pid);
}
