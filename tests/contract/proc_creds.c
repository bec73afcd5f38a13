/* SPDX-License-Identifier: MIT */
/* K34: what a program may do: each thread of the process that the kernel lists
 * has the user, the groups and the capabilities that the program has just
 * taken. So has any other process that shares its memory. */
/* needs: root */
#include "creds_seen.h"

#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>

#define N (64 * PAGE)
#define NOBODY 65534

static const char *const keys[] = { "Uid:",    "Gid:",    "Groups:",
				    "CapEff:", "CapPrm:", NULL };

static void look(const char *what, long rc)
{
	int threads, other;

	say_rc(what, rc);
	creds_differ(&threads, &other);
	say("%s: others differ: %d", what, threads);
	say("%s: who is in our memory differs: %d", what, other);
}

static long drop_caps(bool raw)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	int capset(struct __user_cap_header_struct *,
		   const struct __user_cap_data_struct *);

	syscall(SYS_capget, &h, d);
	d[0].effective &= raw ? 0xff : 0xffff;
	d[0].permitted &= raw ? 0xff : 0xffff;
	return raw ? syscall(SYS_capset, &h, d) : capset(&h, d);
}

static void begin(void)
{
	char *p = ct_map(ct_file("f", N), N, RW, MAP_SHARED, 0);

	p[1] = 'a';
	find_beside();
	look("K34 mapped", p[1] != 'a');
}

static void step_by_step(void)
{
	gid_t many[100];

	for (int i = 0; i < 100; i++)
		many[i] = (gid_t)(1000 + i);
	begin();
	look("K34 setgroups", setgroups(100, many));
	look("K34 initgroups", initgroups("nobody", NOBODY));
	look("K34 setegid", setegid(NOBODY));
	look("K34 seteuid", seteuid(NOBODY));
	look("K34 seteuid not allowed", seteuid(12));
	look("K34 seteuid back", seteuid(0));
	look("K34 setegid back", setegid(0));
	look("K34 setregid", setregid(7, NOBODY));
	look("K34 setreuid", setreuid(0, 7));
	look("K34 setreuid back", setreuid(0, 0));
	look("K34 setgroups none", setgroups(0, NULL));
	look("K34 setresgid", setresgid(NOBODY, NOBODY, NOBODY));
	look("K34 setresuid", setresuid(NOBODY, NOBODY, NOBODY));
}

static void at_once(void)
{
	begin();
	look("K34 setgid", setgid(NOBODY));
	look("K34 setuid", setuid(NOBODY));
}

static void raw(void)
{
	begin();
	look("K34 raw setgroups", syscall(SYS_setgroups, 0, NULL));
	look("K34 raw setresgid", syscall(SYS_setresgid, -1, NOBODY, -1));
	look("K34 raw setresuid", syscall(SYS_setresuid, -1, NOBODY, -1));
	look("K34 raw back", syscall(SYS_setresuid, -1, 0, -1));
	look("K34 raw setgid", syscall(SYS_setgid, NOBODY));
	look("K34 raw setuid", syscall(SYS_setuid, NOBODY));
}

static void caps(void)
{
	begin();
	look("K34 capset", drop_caps(false));
	look("K34 raw capset", drop_caps(true));
}

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

/* The other thread of the program differs, and nobody else. */
static void threaded(void)
{
	pthread_t t;
	char *p;

	begin();
	pthread_create(&t, NULL, sleeps, NULL);
	look("K34 one of two: capset", drop_caps(false));
	p = ct_map(ct_file("g", N), N, RW, MAP_SHARED, 0);
	p[2] = 'g';
	look("K34 one of two: raw capset", drop_caps(true));
	p[PAGE] = 'h';
	look("K34 one of two: again", drop_caps(true));
}

int main(int argc, char **argv)
{
	char *p;

	ct_begin(argc, argv);
	creds_keys = keys;
	chmod(ct_dir, 0777);
	p = ct_map(ct_file("ours", N), N, RW, MAP_SHARED, 0);
	p[0]++;
	say_child("K34 step by step", step_by_step);
	say_child("K34 at once", at_once);
	say_child("K34 raw", raw);
	say_child("K34 capabilities", caps);
	say_child("K34 one of two", threaded);
	return 0;
}
