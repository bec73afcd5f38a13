/* SPDX-License-Identifier: MIT */
/* X29: a library hears what is mapped and unmapped by jumps over the functions
 * that it finds: what the program calls, and what libc does by itself. */
/* all ours */
#include "ct.h"
#include "lib/patcher.h"

#include <malloc.h>
#include <sys/shm.h>

#define N 64ul
#define LARGE (8ul << 20)
#define TIMES 4

static void tell(const char *what)
{
	const struct heard h = patcher_heard();

	say("X29 %s: mapped %d, unmapped %d, moved %d, advised %d, "
	    "attached %d, detached %d",
	    what, h.maps, h.unmaps, h.moves, h.advised, h.attached,
	    h.detached);
}

static void use_file(int fd)
{
	char *p = mmap(NULL, N * PAGE, RW, MAP_SHARED, fd, 0), *q;
	size_t bad = 0;

	tell("mmap of a file");
	for (size_t i = 0; i < N; i++)
		p[i * PAGE] = 7;
	q = mremap(p, N * PAGE, N / 2 * PAGE, 0);
	say("X29 it stays: %d", q == p);
	tell("mremap");
	say_rc("X29 munmap", munmap(p, N / 2 * PAGE));
	tell("munmap of it");
	for (size_t i = 0; i < N; i++)
		bad += ct_in_file(fd, (off_t)(i * PAGE)) != 7;
	say("X29 lost: %zu", bad);
}

static void use_private(int fd)
{
	char *p = mmap64(NULL, N * PAGE, RW, MAP_PRIVATE, fd, 0);

	tell("mmap64 of a file");
	p[2 * PAGE] = 1;
	say_rc("X29 madvise", madvise(p, N * PAGE, MADV_DONTNEED));
	say("X29 the file's again: %d", p[2 * PAGE]);
	tell("madvise");
	say("X29 over it: %d", mmap(p, N * PAGE, RW, MAP_SHARED | MAP_FIXED, fd,
				    0) == p);
	tell("mmap over it");
	say_rc("X29 munmap", munmap(p, N * PAGE));
	tell("munmap of it");
}

static void use_memory(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	const int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	char *p = mmap(NULL, N * PAGE, RW, flags, -1, 0);

	munmap(p, N * PAGE);
	tell("memory");
	p = shmat(id, NULL, 0);
	*p = 1;
	shmdt(p);
	shmctl(id, IPC_RMID, NULL);
	tell("a segment");
}

static void use_malloc(void)
{
	char *volatile p[TIMES];

	for (int i = 0; i < TIMES; i++) {
		p[i] = malloc(LARGE);
		*p[i] = 1;
	}
	tell("malloc");
	for (int i = 0; i < TIMES; i++)
		free(p[i]);
	tell("free");
}

static void use(const char *how)
{
	int fd = ct_file(how, N * PAGE);

	patcher_heard();
	say("X29 %s", how);
	use_file(fd);
	use_private(fd);
	use_memory();
	use_malloc();
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	use("patched by a constructor");
	patcher_restore();
	use("not any more");
	patcher_patch(PATCH_MEMORY);
	use("by memory");
	patcher_patch(PATCH_NEAR);
	use("near");
	patcher_restore();
	patcher_patch(PATCH_REGISTER);
	use("restored, and by a register");
	patcher_restore();
	patcher_patch(PATCH_AGAIN);
	use("taken away for each call");
	return 0;
}
