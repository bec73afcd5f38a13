/* SPDX-License-Identifier: MIT */
/*
 * C99p: a file of several mappings is to become the kernel's, and one of them
 * cannot: it was sealed behind our back, the process may have no more mappings,
 * or no more processes, or takes the last of them meanwhile; or each process
 * that lays mappings is killed in the middle. All mappings go on agreeing with
 * each other and with the file.
 */
#include "crowded.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define N 64ul
#define MOST 8

static int fd = -1;
static char *map[MOST];
static size_t maps = 3, longer = MOST; /* by a page: that one */
static unsigned char value;

static void begin(void)
{
	fd = ct_file("part", N * PAGE);
	for (size_t k = 0; k < maps; k++) {
		map[k] = ct_map(fd, (N + (k == longer)) * PAGE, RW, MAP_SHARED,
				0);
		ct_map(-1, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	}
	for (size_t i = 0; i < N; i++)
		map[i % maps][i * PAGE + 5] = (char)i;
}

/* What the kernel may look at at any time is the kernel's from then on. */
static void hand_over(void)
{
	syscall(SYS_futex, map[0] + 8, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void agree(const char *what)
{
	size_t bad = 0;

	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < maps; k++)
			bad += map[k][i * PAGE + 5] != (char)i;
	for (size_t i = 0; i < N * maps; i++) {
		char *p = map[i % maps] + i % N * PAGE + 100, c;

		*p = (char)++value;
		for (size_t k = 0; k < maps; k++)
			bad += map[k][i % N * PAGE + 100] != (char)value;
		bad += pread(fd, &c, 1, (off_t)(i % N * PAGE + 100)) != 1 ||
		       c != (char)value;
		c = (char)++value;
		ct_pwrite(fd, &c, 1, (off_t)(i % N * PAGE + 100));
		for (size_t k = 0; k < maps; k++)
			bad += map[k][i % N * PAGE + 100] != c;
	}
	say("C99p %s: %zu wrong", what, bad);
}

static void sealed(int which)
{
	begin();
	if (ct_raw(SYS_mseal, (long)map[which], N * PAGE, 0, 0)) {
		say("C99p sealed %d: 0 wrong", which);
		return; /* no mseal in this kernel */
	}
	hand_over();
	agree(which ? which == 1 ? "sealed 1" : "sealed 2" : "sealed 0");
}

static void sealed0(void)
{
	sealed(0);
}

static void sealed1(void)
{
	sealed(1);
}

static void sealed2(void)
{
	sealed(2);
}

static void processes(void)
{
	const struct rlimit none = { 0, 0 };

	begin();
	setrlimit(RLIMIT_NPROC, &none);
	hand_over();
	agree("no processes");
}

/* What is laid over a part makes two of a mapping, or three. */
static void side_by_side(void)
{
	static char *at;

	if (at)
		munmap(at, maps * N * PAGE);
	at = mmap(NULL, maps * N * PAGE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	close(fd);
	unlink(ct_path("part")); /* the kernel's */
	fd = ct_file("part", N * PAGE);
	for (size_t k = 0; k < maps; k++) {
		map[k] = at + (k + 1) % maps * N * PAGE;
		if (mmap(map[k], N * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0) !=
		    map[k])
			ct_die("mmap");
	}
	for (size_t i = 0; i < N; i++)
		map[i % maps][i * PAGE + 5] = (char)i;
}

static void mappings(void)
{
	for (size_t room = 0; room < 5; room++) {
		if (room)
			give_back(LAST / 2);
		side_by_side();
		take(room);
		hand_over();
		agree("mappings");
	}
}

static int maps_fd;
static _Atomic bool changed;

static bool one_is_the_kernels(void)
{
	for (size_t k = 0; k < maps; k++)
		if (crowd_asks(maps_fd, map[k]))
			return true;
	return false;
}

static void *take_the_rest(void *arg)
{
	while (!changed && !one_is_the_kernels())
		;
	take(0);
	return arg;
}

/* The program takes the last of them while the file changes hands. */
static void mappings_meanwhile(void)
{
	pthread_t t;

	maps_fd = crowd_maps_fd();
	take(LAST - 8);
	for (int i = 0; i < 2; i++) {
		const size_t before = taken;

		side_by_side();
		changed = false;
		if (pthread_create(&t, NULL, take_the_rest, NULL))
			ct_die("pthread_create");
		hand_over();
		changed = true;
		pthread_join(t, NULL);
		agree("mappings meanwhile");
		give_back(taken - before);
	}
}

static void *take_the_processes(void *arg)
{
	const struct rlimit none = { 0, 0 };

	while (!changed && !one_is_the_kernels())
		;
	setrlimit(RLIMIT_NPROC, &none);
	return arg;
}

/* From the first mapping on that is the kernel's no process can be made. */
static void processes_meanwhile(void)
{
	pthread_t t;

	maps_fd = crowd_maps_fd();
	maps = MOST;
	begin();
	if (pthread_create(&t, NULL, take_the_processes, NULL))
		ct_die("pthread_create");
	hand_over();
	changed = true;
	pthread_join(t, NULL);
	agree("processes meanwhile");
}

#define ARG(k) (offsetof(struct seccomp_data, args) + 8 * (k))

/* Who maps a file shared, so long, from now on. */
static void is_killed(unsigned len)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, len, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(3)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(*f), f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		ct_die("seccomp");
}

/* The second mapping is the last thing that it does. */
static void killed(void)
{
	longer = 1;
	begin();
	is_killed((N + 1) * PAGE);
	hand_over();
	agree("killed");
}

static void memory(void)
{
	struct rlimit space;

	begin();
	getrlimit(RLIMIT_AS, &space);
	space.rlim_cur = 1;
	setrlimit(RLIMIT_AS, &space);
	hand_over();
	agree("memory");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	say_child("C99p sealed 0", sealed0);
	say_child("C99p sealed 1", sealed1);
	say_child("C99p sealed 2", sealed2);
	say_child("C99p processes", processes);
	say_child("C99p processes meanwhile", processes_meanwhile);
	say_child("C99p mappings", mappings);
	say_child("C99p mappings meanwhile", mappings_meanwhile);
	say_child("C99p killed", killed);
	say_child("C99p memory", memory);
	return 0;
}
