/* SPDX-License-Identifier: MIT */
/*
 * said.c - nothing of a process but its number and the time of its start
 * outlives exec that is not the program's. So what it has said is noted under
 * these, in a table of hashes in a file of the user's own. Where there is none,
 * all is said once more. The oldest entries are written over.
 *
 * Who descends from whom is not to be found any more where one of them has
 * ended. So a process that executes another program notes it under its own
 * number, too: a copy of who has said it remembers.
 */
#include "said.h"

#include "engine.h"

#include <fcntl.h>
#include <string.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

#define SETS 64u /* of entries; one is read at once */
#define WAYS 8
#define DEEP 64 /* processes, from this one up */
#define PPID 4  /* fields of proc_pid_stat(5) */
#define START 22
#define OTHERS (S_IRWXG | S_IRWXO)

/* FNV-1a: the next bytes. */
static uint64_t said_add(uint64_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	while (n--)
		h = (h ^ *s++) * 0x100000001b3ull;
	return h;
}

static uint64_t said_add_text(uint64_t h, const char *s)
{
	return said_add(h, s, strlen(s) + 1);
}

/* In a directory where nobody else renames it, and nobody's but this user's;
 * nor is it, by a link that another user has made, some other file. */
static int open_in(const char *dir)
{
	const uid_t user = (uid_t)fm_sys0(SYS_geteuid);
	char name[32] = "/fastmap-said.", path[512];
	struct stat st;
	int fd;

	if (fm_sys_lstat(dir, &st) || !S_ISDIR(st.st_mode) ||
	    (st.st_uid && st.st_uid != user) ||
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX)))
		return -EPERM;
	fm_number_text(name + strlen(name), user);
	if (fm_join(path, sizeof(path), dir, name, ""))
		return -ENAMETOOLONG;
	fd = fm_sys_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
			 0600);
	if (fd < 0 || (!fm_sys_fstat(fd, &st) && S_ISREG(st.st_mode) &&
		       st.st_uid == user && st.st_nlink == 1 &&
		       !(st.st_mode & OTHERS)))
		return fd;
	fm_sys_close(fd);
	return -EPERM;
}

static int open_table(const char *runtime_dir)
{
	int fd = -ENOENT;

	if (runtime_dir && *runtime_dir == '/')
		fd = open_in(runtime_dir);
	return fd < 0 ? open_in("/dev/shm") : fd;
}

/* By process `pid`; *ret_parent: whose child it is. */
static uint64_t entry_of(int pid, uint64_t text, int *ret_parent)
{
	char digits[12], path[32], state;
	uint64_t start;

	fm_number_text(digits, (unsigned)pid);
	fm_join(path, sizeof(path), "/proc/", digits, "/stat");
	start = fm_proc_stat(path, START, &state);
	*ret_parent = (int)fm_proc_stat(path, PPID, &state);
	return said_add(said_add(text, &pid, sizeof(pid)), &start,
			sizeof(start));
}

static off_t said_place_of(uint64_t entry)
{
	return (off_t)((entry >> 32) % SETS * WAYS * sizeof(entry));
}

/* Entries of one hash, the newest first. */
struct set {
	uint64_t entry[WAYS];
};

static bool said_find(int fd, uint64_t entry, struct set *set)
{
	unsigned i = 0;

	memset(set, 0, sizeof(*set));
	fm_sys_pread(fd, set, sizeof(*set), said_place_of(entry));
	while (i < WAYS && set->entry[i] != entry)
		i++;
	return i < WAYS;
}

/* The oldest of its set goes: two that were said at one time do not drive each
 * other out. */
static void said_note(int fd, uint64_t entry)
{
	struct set set;

	if (said_find(fd, entry, &set))
		return;
	memmove(set.entry + 1, set.entry, sizeof(set) - sizeof(entry));
	set.entry[0] = entry;
	fm_sys_pwrite(fd, &set, sizeof(set), said_place_of(entry));
}

static bool look_and_note(int fd, uint64_t text)
{
	int pid = fm_sys_getpid();
	bool there = false;
	struct set set;

	for (int i = 0; i < DEEP && pid > 0 && !there; i++)
		there = said_find(fd, entry_of(pid, text, &pid), &set);
	if (!there)
		said_note(fd, entry_of(fm_sys_getpid(), text, &(int){ 0 }));
	return there;
}

/* ---- for what is executed ---------------------------------------------- */

/* size: of what is wrong with one environment; of more the rest is repeated */
#define MOST 16

static struct {
	const char *runtime_dir;
	unsigned n;
	uint64_t text[MOST];
} told;

static void said_remember(const char *runtime_dir, uint64_t text)
{
	told.runtime_dir = runtime_dir;
	if (told.n < MOST)
		told.text[told.n++] = text;
}

void fm_said_pass_on(void)
{
	const int fd = told.n ? open_table(told.runtime_dir) : -1;

	if (fd < 0)
		return;
	for (unsigned i = 0; i < told.n; i++)
		said_note(fd,
			  entry_of(fm_sys_getpid(), told.text[i], &(int){ 0 }));
	fm_sys_close(fd);
}

bool fm_said_before(const char *runtime_dir, const char *what, const char *text)
{
	const uint64_t basis = 0xcbf29ce484222325ull; /* of FNV-1a */
	const uint64_t h = said_add_text(said_add_text(basis, what), text);
	const int fd = open_table(runtime_dir);
	bool said;

	if (fd < 0)
		return false;
	said = look_and_note(fd, h);
	said_remember(runtime_dir, h);
	fm_sys_close(fd);
	return said;
}
