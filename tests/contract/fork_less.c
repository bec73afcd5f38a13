/* SPDX-License-Identifier: MIT */
/* X34: a process that maps files, forks, and becomes less: another user, in
 * another root, without /proc, behind a filter that forbids to open. A mapping
 * needs no permission. */
/* timeout: 100 */
#include "ct.h"

#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#define PAGES 64ul

/* ---- ways ---------------------------------------------------------------- */

static int as_nobody(void)
{
	return setgid(65534) || setuid(65534);
}

static int as_nobody_by_number(void)
{
	return (int)syscall(SYS_setresuid, 65534, 65534, 65534);
}

static int other_root(void)
{
	return chroot(ct_path("root")) || chdir("/");
}

static int other_root_by_number(void)
{
	return (int)syscall(SYS_chroot, ct_path("root"));
}

static int without_proc(void)
{
	return unshare(CLONE_NEWNS) ||
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       umount2("/proc", MNT_DETACH);
}

static struct sock_filter no_open[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int filtered(void)
{
	struct sock_fprog p = { sizeof(no_open) / sizeof(*no_open), no_open };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static int landlocked(void)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE |
				     LANDLOCK_ACCESS_FS_WRITE_FILE,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr),
			      0);

	return fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_landlock_restrict_self, fd, 0);
}

static int as_it_was(void)
{
	return 0;
}

static const struct way {
	const char *name;
	int (*leave)(void);
} ways[] = {
	{ "setuid", as_nobody },
	{ "setuid by its number", as_nobody_by_number },
	{ "chroot", other_root },
	{ "chroot by its number", other_root_by_number },
	{ "no /proc", without_proc },
	{ "no open", filtered },
	{ "landlock", landlocked },
};

/* ---- the mappings -------------------------------------------------------- */

static const struct kind {
	const char *name;
	int prot, flags;
	bool stores;
} kinds[] = {
	{ "read", PROT_READ, MAP_SHARED, false },
	{ "stored to", RW, MAP_SHARED, true },
	{ "private", RW, MAP_PRIVATE, false },
	{ "private, stored to", RW, MAP_PRIVATE, true },
};

static char *p[4];

static void map_all(void)
{
	for (int k = 0; k < 4; k++) {
		int fd = ct_file("f", PAGES * PAGE);

		if (fchmod(fd, 0600))
			ct_die("fchmod");
		ct_uncache(fd);
		close(fd);
		fd = open(ct_path("f"),
			  kinds[k].flags == MAP_SHARED && kinds[k].stores ?
				  O_RDWR : O_RDONLY);
		p[k] = ct_map(fd, PAGES * PAGE, kinds[k].prot, kinds[k].flags,
			      0);
		close(fd);
		unlink(ct_path("f"));
		if (kinds[k].stores)
			p[k][3 * PAGE + 100] = 's';
	}
}

/* Of pages that begin otherwise, and of bytes that were stored. */
static int wrong(int k)
{
	int n = 0;

	for (size_t i = 0; i < PAGES; i++)
		n += ct_load(p[k] + i * PAGE) != ct_byte(i * PAGE);
	return n + (kinds[k].stores && ct_load(p[k] + 3 * PAGE + 100) != 's');
}

static void look(const char *who, const char *way)
{
	for (int k = 0; k < 4; k++)
		if (wrong(k))
			say("X34 %s, %s, %s: %d wrong", way, who,
			    kinds[k].name, wrong(k));
}

/* ---- cases --------------------------------------------------------------- */

static const struct way *way;
static bool before;

static void child(void)
{
	say("X34 %s: %s", way->name, before ? "before" :
	    ct_errno(way->leave() != 0));
	look("child", way->name);
	for (int k = 0; k < 4; k++)
		if (kinds[k].stores)
			ct_store(p[k] + 5 * PAGE + 100, 'c');
}

static void family(void)
{
	map_all();
	if (before)
		say("X34 %s, then fork: %s", way->name,
		    ct_errno(way->leave() != 0));
	say_child("X34", child);
	look("parent", way->name);
	say("X34 %s: the child's store %c %d", way->name, p[1][5 * PAGE + 100],
	    ct_load(p[3] + 5 * PAGE + 100) == 'c');
}

int main(int argc, char **argv)
{
	static const struct way none = { "nothing", as_it_was };

	ct_begin(argc, argv);
	mkdir(ct_path("root"), 0755);
	way = &none;
	say_child("X34", family);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (int b = 0; b < 2; b++) {
			way = &ways[i];
			before = b;
			say_child("X34", family);
		}
	rmdir(ct_path("root"));
	return 0;
}
