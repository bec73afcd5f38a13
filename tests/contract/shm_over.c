/* SPDX-License-Identifier: MIT */
/*
 * M96: a segment of shared memory is attached over pages of the mapping
 * (SHM_REMAP), by name and by number: what was stored there is in the file,
 * what is refused changes nothing, and other threads see no hole.
 */
#include "ct.h"

#include <pthread.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define N 64ul
#define FROM 16ul
#define SEGMENT (8 * PAGE - 100)

static int fd, id;
static bool by_number;

static void *attach(int which, void *addr, int flags)
{
	if (by_number)
		return (void *)syscall(SYS_shmat, which, addr, flags);
	return shmat(which, addr, flags);
}

static int detach(void *addr)
{
	return by_number ? (int)syscall(SYS_shmdt, addr) : shmdt(addr);
}

static void say_map_rc(const char *what, void *p, void *want)
{
	say("M96 %s: %s %d", what, ct_errno(p == MAP_FAILED), p == want);
}

static void look(const char *what, char *p)
{
	say("M96 %s: %zu %zu", what, ct_wrong(p, 2, FROM),
	    ct_wrong(p, FROM + 8, N));
}

static void refused(char *p)
{
	char *at = p + FROM * PAGE;

	say_map_rc("between pages", attach(id, at + 8, SHM_REMAP), at);
	say_map_rc("no address", attach(id, NULL, SHM_REMAP), at);
	say_map_rc("no segment", attach(-1, at, SHM_REMAP), at);
	say_map_rc("not over it", attach(id, at, 0), at);
	say("M96 refused: %zu", ct_wrong(p, 2, N));
}

/* May only be read, by who is not root. */
static void forbidden(char *p)
{
	char *at = p + FROM * PAGE;
	int other = shmget(IPC_PRIVATE, SEGMENT, IPC_CREAT | 0400);

	say_map_rc("no right to store", attach(other, at, SHM_REMAP), at);
	say("M96 then: %d", ct_load(at + 5));
	say_map_rc("read only", attach(other, at, SHM_REMAP | SHM_RDONLY), at);
	say("M96 then: %d", ct_load(at + 5));
	say_rc("M96 RMID", shmctl(other, IPC_RMID, NULL));
}

static void attached(char *p)
{
	char *at = p + FROM * PAGE, *second;
	char b[2];

	p[PAGE] = 'a';
	at[PAGE] = 'b';
	say_map_rc("attach", attach(id, at + 5, SHM_REMAP | SHM_RND), at);
	say("M96 segment: %d %d %d", at[0], at[PAGE], at[8 * PAGE - 1]);
	at[2 * PAGE] = 'c';
	second = attach(id, NULL, 0);
	say("M96 the other: %c", second[2 * PAGE]);
	second[2 * PAGE] = 0;
	detach(second);
	look("beside", p);
	if (pread(fd, b, 1, PAGE) + pread(fd, b + 1, 1, (FROM + 1) * PAGE) == 2)
		say("M96 file: %c %c", b[0], b[1]);
	say_rc("M96 detach", detach(at));
	say("M96 gone: %d %d", ct_load(at), ct_load(at + 7 * PAGE));
	look("beside", p);
}

/* ---- another thread ------------------------------------------------------ */

/* While it is attached; the file comes back when nobody looks. */
static _Atomic bool stop;
static _Atomic size_t holes;

static void *reads(void *arg)
{
	volatile unsigned char *at = arg;

	while (!stop)
		for (size_t i = 0; i < 8; i++) {
			const unsigned char c = at[i * PAGE + 9];

			holes += c && c != ct_byte((FROM + i) * PAGE + 9);
		}
	return NULL;
}

static void in_one_step(char *p)
{
	char *at = p + FROM * PAGE;
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		stop = false;
		if (pthread_create(&t, NULL, reads, at))
			ct_die("pthread_create");
		usleep(2000);
		if (attach(id, at, SHM_REMAP) != at)
			ct_die("shmat");
		usleep(500);
		stop = true;
		pthread_join(t, NULL);
		if (mmap(at, 8 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd,
			 FROM * PAGE) != at)
			ct_die("mmap");
	}
	say("M96 another thread: %zu", (size_t)holes);
}

static void all(void)
{
	char *p;

	fd = ct_file("shm", N * PAGE);
	id = shmget(IPC_PRIVATE, SEGMENT, IPC_CREAT | 0600);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	refused(p);
	in_one_step(p);
	attached(p);
	munmap(p, N * PAGE);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	forbidden(p);
	munmap(p, N * PAGE);
	say_rc("M96 RMID", shmctl(id, IPC_RMID, NULL));
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	say_child("M96 by name", all);
	by_number = true;
	say_child("M96 by number", all);
	return 0;
}
