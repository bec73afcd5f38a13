/* SPDX-License-Identifier: MIT */
/* K39: a program gives up its user, groups and capabilities by instructions of
 * its own. Some seconds later each thread of the process, and whoever shares
 * its memory, has what its threads have; what was opened before goes on. */
/* needs: root */
#include "creds_seen.h"
#include "filter.h"

#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>

#define N (64 * PAGE)
#define NOBODY 65534
#define LIMIT_S 20

static const char *const keys[] = { "Uid:",    "Gid:",	  "Groups:",
				    "CapEff:", "CapPrm:", "CapBnd:", NULL };

static int differ(void)
{
	int threads, other;

	creds_differ(&threads, &other);
	return threads + other;
}

static void look(const char *what)
{
	for (int i = 0; differ() && i < 100 * LIMIT_S; i++)
		usleep(10000);
	say("%s: differ %d", what, differ());
}

static char *p;
static int fd;

/* The file is root's alone. */
static void begin(void)
{
	fd = ct_file("f", N);
	fchmod(fd, 0600);
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	p[1] = 'a';
	find_beside();
	look("K39 mapped");
}

static void end(const char *what)
{
	p[2] = 'b';
	p[40 * PAGE] = 'c';
	say("%s: msync %s, in the file %c %c %c", what,
	    ct_errno(msync(p, N, MS_SYNC) != 0), ct_in_file(fd, 1),
	    ct_in_file(fd, 2), ct_in_file(fd, 40 * PAGE));
	say_load(what, p, 50 * PAGE);
}

static long become_nobody(void)
{
	return ct_raw(SYS_setgroups, 0, 0, 0, 0) |
	       ct_raw(SYS_setresgid, NOBODY, NOBODY, NOBODY, 0) |
	       ct_raw(SYS_setresuid, NOBODY, NOBODY, NOBODY, 0);
}

static void one(void)
{
	begin();
	say("K39 setresuid: %ld", become_nobody());
	look("K39 setresuid");
	end("K39 setresuid");
}

static void bounds(void)
{
	begin();
	say("K39 bounds: %ld",
	    ct_raw(SYS_prctl, PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0) |
		    ct_raw(SYS_prctl, PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0) |
		    ct_raw(SYS_setuid, 7, 0, 0, 0));
	look("K39 bounds");
	end("K39 bounds");
}

static void caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	begin();
	ct_raw(SYS_capget, (long)&h, (long)d, 0, 0);
	d[0].effective = d[0].permitted &= 0xff;
	d[1].effective = d[1].permitted = 0;
	say("K39 capset: %ld", ct_raw(SYS_capset, (long)&h, (long)d, 0, 0));
	look("K39 capset");
	end("K39 capset");
}

/* Nobody may look afterwards. */
static void confined(void)
{
	begin();
	become_nobody();
	ct_filter(NULL, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW,
		  SECCOMP_FILTER_FLAG_TSYNC);
	look("K39 confined");
	end("K39 confined");
}

/* What it stored as somebody else is written all the same. */
static void killed(void)
{
	begin();
	become_nobody();
	look("K39 killed");
	p[3] = 'k';
	p[41 * PAGE] = 'l';
	kill(getpid(), SIGKILL);
}

static void after_death(void)
{
	int in = open(ct_path("f"), O_RDONLY);

	for (int i = 0; i < 100 * LIMIT_S &&
			(ct_in_file(in, 3) != 'k' ||
			 ct_in_file(in, 41 * PAGE) != 'l'); i++)
		usleep(10000);
	say("K39 killed: in the file %c %c", ct_in_file(in, 3),
	    ct_in_file(in, 41 * PAGE));
	close(in);
}

/* Its number goes first, and the rest by what it has kept. */
static void kept(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	begin();
	ct_raw(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0);
	ct_raw(SYS_setresuid, NOBODY, NOBODY, NOBODY, 0);
	ct_raw(SYS_capget, (long)&h, (long)d, 0, 0);
	d[0].effective = d[0].permitted &= 1u << CAP_SETGID;
	d[1].effective = d[1].permitted = 0;
	say("K39 kept: %ld", ct_raw(SYS_capset, (long)&h, (long)d, 0, 0));
	look("K39 kept");
	ct_raw(SYS_setgroups, 0, 0, 0, 0);
	ct_raw(SYS_setresgid, NOBODY, NOBODY, NOBODY, 0);
	d[0].effective = d[0].permitted = 0;
	say("K39 none kept: %ld", ct_raw(SYS_capset, (long)&h, (long)d, 0, 0));
	look("K39 none kept");
	end("K39 none kept");
}

/* ---- with another thread ------------------------------------------------ */

static sem_t go, done;

static void *other(void *arg)
{
	while (sem_wait(&go))
		;
	become_nobody();
	sem_post(&done);
	while (sem_wait(&go))
		;
	return arg;
}

/* While one of them is root so may the others be. */
static void two(void)
{
	pthread_t t;

	begin();
	pthread_create(&t, NULL, other, NULL);
	say("K39 one of two: %ld", become_nobody());
	usleep(1500000);
	end("K39 one of two");
	sem_post(&go);
	while (sem_wait(&done))
		;
	look("K39 both");
	end("K39 both");
	sem_post(&go);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	char *ours;

	ct_begin(argc, argv);
	creds_keys = keys;
	chmod(ct_dir, 0777);
	ours = ct_map(ct_file("ours", N), N, RW, MAP_SHARED, 0);
	ours[0]++;
	say_child("K39", one);
	say_child("K39 confined", confined);
	say_child("K39 killed", killed);
	after_death();
	say_child("K39 bounding set", bounds);
	say_child("K39 capabilities", caps);
	say_child("K39 capabilities kept", kept);
	say_child("K39 threads", two);
	return 0;
}
