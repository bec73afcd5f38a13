/* SPDX-License-Identifier: MIT */
/* K20: the program gives up its privileges while files are mapped. */
/* needs: root */
#include "ct.h"

#include <grp.h>
#include <pthread.h>

#define N (64 * PAGE)
#define NOBODY 65534

static void *others_id(void *arg)
{
	*(uid_t *)arg = getuid();
	return NULL;
}

static void look(char *p, int fd)
{
	uid_t id = 0;
	pthread_t t;

	p[2] = 'b';
	say_rc("K20 msync", msync(p, N, MS_SYNC));
	p[9 * PAGE] = 'c';
	say("K20 in the file: %c %c %c", ct_in_file(fd, 1), ct_in_file(fd, 2),
	    ct_in_file(fd, 9 * PAGE));
	say_load("K20 first touch", p, 50 * PAGE);
	pthread_create(&t, NULL, others_id, &id);
	pthread_join(t, NULL);
	say("K20 a new thread: %d %d", id == NOBODY, getuid() == NOBODY);
}

static void child(void)
{
	char *p = ct_map(ct_file("mine", N), N, RW, MAP_SHARED, 0);

	p[1] = 'm';
	look(p, open(ct_path("mine"), O_RDONLY));
}

static char *p, *q;

static int looks(void *arg CT_UNUSED)
{
	return p[2] != 'b' || q[3] != 'q';
}

static void body(void)
{
	int fd;

	fd = ct_file("f", N);
	fchmod(fd, 0666);
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	q = ct_map(fd, N, RW, MAP_PRIVATE, 0);
	p[1] = 'a';
	q[3] = 'q';
	say_rc("K20 setgroups", setgroups(0, NULL));
	say_rc("K20 setresgid", setresgid(NOBODY, NOBODY, NOBODY));
	say_rc("K20 seteuid", seteuid(NOBODY));
	say_rc("K20 seteuid back", seteuid(0));
	say_rc("K20 setresuid", setresuid(NOBODY, NOBODY, NOBODY));
	look(p, fd);
	say("K20 child: %d", ct_child(looks, NULL));
	say_child("K20 maps for itself", child);
	munmap(p, N);
	say("K20 unmapped: %c", ct_in_file(fd, 9 * PAGE));
}

/* The statistics are this process's, which may write them at the end. It looks
 * before there is a child: one that gives up its user maps what it has
 * inherited, and the kernel serves the file. */
int main(int argc, char **argv)
{
	char *p;

	ct_begin(argc, argv);
	chmod(ct_dir, 0777);
	p = ct_map(ct_file("ours", N), N, RW, MAP_SHARED, 0);
	say("K20 before: %d", ct_matches(p, N, 0));
	say_child("K20", body);
	say("K20 parent: %d", ct_matches(p, N, 0));
	return 0;
}
