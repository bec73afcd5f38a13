/* SPDX-License-Identifier: MIT */
/*
 * peers_given.c - files whose descriptor goes to another process (SCM_RIGHTS).
 *
 * On its way it is in no table of descriptors, where a look through /proc would
 * find it, and whoever has received it may map the file without an open(2) that
 * we would hear of. So what is mapped is demoted, and the last ones that were
 * sent are kept in mind, for whoever maps them later: the receiver may take its
 * time.
 */
#include <fcntl.h>

#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"
#include "policy.h"
#include "vm/vm.h"

#define GIVEN 256

/* Under the space lock, as all here. */
static struct given {
	dev_t dev;
	ino_t ino;
	bool stores; /* the descriptor allows it */
} given[GIVEN];
static unsigned next;

static bool may_store(int fd)
{
	long how = fm_sys3(SYS_fcntl, fd, F_GETFL, 0);

	return how >= 0 && (how & O_ACCMODE) != O_RDONLY;
}

/* Might the engine ever serve it? Others would only displace those. */
static bool peers_given_covered(int fd)
{
	static char path[4096];

	return fm_proc_fd_path(fd, path, sizeof(path)) && fm_policy_for(path);
}

static void peers_given_note(const struct stat *st, bool stores)
{
	struct given *g = given;

	while (g < given + GIVEN &&
	       (g->ino != st->st_ino || g->dev != st->st_dev))
		g++;
	if (g == given + GIVEN) {
		g = &given[next++ % GIVEN];
		*g = (struct given){ st->st_dev, st->st_ino, false };
	}
	g->stores |= stores;
}

bool fm_given(const struct fm_file *f, bool writable)
{
	for (const struct given *g = given; g < given + GIVEN; g++)
		if (g->ino == f->ino && g->dev == f->dev)
			return writable || g->stores;
	return false;
}

void fm_file_pass_on(const struct stat *st, bool stores,
		     enum fm_server_reason why)
{
	struct fm_file *f = fm_file_by_stat(st);
	uint64_t old;

	if (!f)
		return;
	fm_space_lock(&old);
	if (fm_stored_to(f, stores))
		fm_server_change(f, FM_SERVER_KERNEL, why);
	fm_space_unlock(&old);
	fm_file_put(f);
}

void fm_file_given(int fd)
{
	struct stat st;
	uint64_t old;
	bool stores;

	/* A sandbox may kill who asks for what this takes. */
	if (fm_sys_confined() || !fm_policy_any() ||
	    fm_sys_stat_notimes(fd, &st) || !S_ISREG(st.st_mode))
		return;
	stores = may_store(fd);
	/* First: another thread may be about to map it. */
	fm_space_lock(&old);
	if (peers_given_covered(fd))
		peers_given_note(&st, stores);
	fm_space_unlock(&old);
	fm_file_pass_on(&st, stores, FM_WHY_SENT);
}
