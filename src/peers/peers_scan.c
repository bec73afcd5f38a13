/* SPDX-License-Identifier: MIT */
/*
 * peers_scan.c - who else has this file open or mapped right now.
 *
 * Reads /proc of every process that we may look at (our own user's; all, for
 * root). Costs about 3 to 5 ms of CPU among 180 processes, once per file
 * that is taken over, unless a lease has told already (peers_lease.c), and a
 * fifth less where what they have mapped can be asked for (Linux 6.11).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/apart.h"
#include "base/mount.h"
#include "base/proc.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "peers.h"
#include "peers_priv.h"
#include "serve/serve.h"
#include "tunables.h"

#define BUF 32768 /* size: bytes */

struct scan {
	struct fm_file_id id;
	const char *of; /* the file's path */
	const int *pids; /* only these, */
	int n;           /* 0: all */
	unsigned use;
	dev_t shown;     /* the file's device, as maps shows it: */
	bool asked, known;
	char process[32]; /* its folder, of who is looked at */
	char *names;   /* getdents of /proc */
	char *inner;   /* getdents of fd/, text of maps */
};

/* What we may not look at, or has gone, counts for nothing; but when it is our
 * own want of descriptors or memory, anything may be behind it. */
static void suspect(struct scan *s, int err)
{
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		s->use |= FM_USE_READ | FM_USE_WRITE | FM_USE_MAPS;
}

struct numbers {
	const char *dir;
	void (*fn)(const char *dir, int n, void *arg);
	void *arg;
};

static void each_number(const char *name, void *arg)
{
	const struct numbers *n = arg;

	if (name[0] >= '0' && name[0] <= '9')
		n->fn(n->dir, atoi(name), n->arg);
}

int fm_each_number(const char *dir, char *buf, size_t size,
		   void (*fn)(const char *dir, int n, void *arg), void *arg)
{
	struct numbers n = { dir, fn, arg };
	int fd = fm_sys_open(dir, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	fm_each_entry(fd, buf, size, each_number, &n);
	fm_sys_close(fd);
	return 0;
}

/* The mode of the link tells how the file is open; O_PATH has none. */
static void look_at_fd(const char *dir, int n, void *arg)
{
	struct scan *s = arg;
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d", dir, n);
	if (fm_sys_which_at(path, &st) ||
	    st.st_ino != s->id.ino || st.st_dev != s->id.dev ||
	    fm_sys_lstat(path, &st))
		return;
	if (st.st_mode & S_IRUSR)
		s->use |= FM_USE_READ;
	if (st.st_mode & S_IWUSR)
		s->use |= FM_USE_WRITE;
}

/* By the mapping itself, where we may. */
static bool peers_scan_which(const struct scan *s, const struct fm_proc_map *m,
			     struct stat *st)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/map_files/%lx-%lx", s->process,
		 (unsigned long)m->start, (unsigned long)m->end);
	return !fm_sys_which_at(path, st);
}

/* By name, of what is on the file system that ours is on: another one may not
 * answer. */
static bool peers_scan_named(struct scan *s, const struct fm_proc_map *m,
			     struct stat *st)
{
	if (!s->asked)
		s->known = fm_mount_dev(s->of, s->id.dev, s->id.ino, &s->shown);
	s->asked = true;
	*st = (struct stat){ 0 };
	return (s->known && m->dev != s->shown) ||
	       !fm_sys_which_at(m->path, st);
}

/* Some file systems without a disk's number (btrfs, overlayfs) show another
 * device in maps than stat does. Then the path, by which name ever; one that
 * leads nowhere here may be the file's in another mount namespace. */
static bool peers_scan_may_be(struct scan *s, const struct fm_proc_map *m)
{
	struct stat st;

	if (!fm_sys_no_disk(s->id.dev))
		return false;
	return !strcmp(m->path, s->of) ||
	       !(peers_scan_which(s, m, &st) || peers_scan_named(s, m, &st)) ||
	       (st.st_ino == s->id.ino && st.st_dev == s->id.dev);
}

static bool peers_scan_look_at_map(const struct fm_proc_map *m, void *arg)
{
	struct scan *s = arg;

	if (m->ino != s->id.ino ||
	    (m->dev != s->id.dev && !peers_scan_may_be(s, m)))
		return false;
	s->use |= FM_USE_READ | FM_USE_MAPS;
	if (m->shared && m->write)
		s->use |= FM_USE_WRITE;
	return false;
}

static void look_at_process(const char *dir, int pid, void *arg)
{
	struct scan *s = arg;
	char path[64], c;
	long exe;

	if (pid == fm_sys_getpid() || pid == fm_backup_pid())
		return;
	snprintf(path, sizeof(path), "%s/%d/exe", dir, pid);
	exe = fm_sys4(SYS_readlinkat, AT_FDCWD, path, &c, 1);
	if (exe == -ENOENT || exe == -EACCES)
		return; /* a kernel thread, or one we may not look at */
	snprintf(s->process, sizeof(s->process), "%s/%d", dir, pid);
	/* In this order: what is mapped in between was open before. */
	snprintf(path, sizeof(path), "%s/%d/fd", dir, pid);
	suspect(s, fm_each_number(path, s->inner, BUF, look_at_fd, s));
	snprintf(path, sizeof(path), "%s/%d/maps", dir, pid);
	suspect(s, fm_proc_maps_of(path, s->id.ino, s->inner, BUF,
				   peers_scan_look_at_map, s));
}

#define PARENT 4 /* ABI: in a process's stat */
#define KTHREADD 2 /* ABI: the parent of them all */

struct ancestry {
	char path[32];
	uint64_t parent;
};

static void look_at_parent(void *arg)
{
	struct ancestry *a = arg;
	char state;

	a->parent = fm_proc_stat(a->path, PARENT, &state);
}

bool fm_peers_kernel_thread(int pid)
{
	struct ancestry a;

	snprintf(a.path, sizeof(a.path), "/proc/%d/stat", pid);
	fm_apart_from_fds(look_at_parent, &a);
	return a.parent == KTHREADD;
}

/* ---- what it costs ------------------------------------------------------ */

static struct fm_lately spent;

uint32_t fm_peers_cost(void)
{
	return fm_lately_lost(&spent, fm_now_ms());
}

bool fm_peers_weary(void)
{
	return fm_peers_cost() >= fm_tune.serve_lost_much;
}

static void peers_scan_look_at_all(void *arg)
{
	struct scan *s = arg;
	uint64_t from = fm_cpu_ns(); /* of the thread that looks */

	if (!s->n)
		suspect(s, fm_each_number("/proc", s->names, BUF,
					  look_at_process, s));
	for (int k = 0; k < s->n; k++)
		look_at_process("/proc", s->pids[k], s);
	fm_lately_add(&spent, fm_now_ms(), fm_cpu_ns() - from);
}

static unsigned scan(struct scan *s, const int *pids, int n)
{
	s->names = fm_sys_anon(2 * BUF);
	if (!s->names)
		return FM_USE_READ | FM_USE_WRITE | FM_USE_MAPS;
	s->inner = s->names + BUF;
	s->pids = pids;
	s->n = n;
	fm_apart_from_fds(peers_scan_look_at_all, s);
	fm_sys_munmap(s->names, 2 * BUF);
	return s->use;
}

unsigned fm_peers_scan_of(const struct fm_file *f, const int *pids, int n)
{
	struct scan s = { .id = { f->dev, f->ino }, .of = f->path };

	return scan(&s, pids, n);
}

unsigned fm_peers_scan(const struct fm_file *f)
{
	return fm_peers_scan_of(f, NULL, 0);
}

unsigned fm_peers_scan_unknown(const struct fm_file_id *id, const char *path)
{
	struct scan s = { .id = *id, .of = path };

	return scan(&s, NULL, 0);
}

/* ---- this process ------------------------------------------------------ */

struct own {
	struct scan s;
	const struct fm_peers_wish *w;
	bool unseen;
};

/* Not what we have laid ourselves: windows in mappings of ours, and what lies
 * where the program has nothing. Beside our reads only a store matters, and
 * what is shared may become one that is stored to. */
static bool look_at_own(const struct fm_proc_map *m, void *arg)
{
	struct own *o = arg;

	if ((m->start >= o->w->start && m->end <= o->w->end) ||
	    fm_sys_is_far(m->start) ||
	    fm_overlaps((void *)m->start, m->end - m->start) ||
	    !(m->shared || o->w->writable))
		return false;
	peers_scan_look_at_map(m, &o->s);
	o->unseen = o->s.use;
	return o->unseen;
}

bool fm_peers_unseen(const struct fm_file *f, const struct fm_peers_wish *w)
{
	static char buf[16384]; /* under the space lock */
	struct own o = { .s = { .id = { f->dev, f->ino }, .of = f->path,
				.process = "/proc/self" },
			 .w = w };
	uint64_t from = fm_cpu_ns();

	if (!w->end)
		return false;
	if (fm_proc_maps_of(FM_OWN_MAPS, f->ino, buf, sizeof(buf),
			    look_at_own, &o))
		return true; /* cannot tell: assume the worst */
	fm_lately_add(&spent, fm_now_ms(), fm_cpu_ns() - from);
	return o.unseen;
}
