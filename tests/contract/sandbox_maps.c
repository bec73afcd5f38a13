/* SPDX-License-Identifier: MIT */
/* X31: a program that has confined itself (one thread, or all by TSYNC) so that
 * who looks for a file ends it maps one for the first time, by a descriptor
 * that it had: with another file mapped, with none, and where the kernel has
 * served mappings of it, so that its name was known. */
/* not engaged: it may open no file for its statistics */
/* env: FASTMAP_SOCKET=%p.sock */
#include "filter.h"

#define PAGES 64ul

static const int forbidden[] = {
	SYS_open, SYS_openat, SYS_openat2, SYS_creat, SYS_stat, SYS_lstat,
	SYS_statx, SYS_newfstatat, SYS_access, SYS_faccessat, SYS_faccessat2,
	SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_statfs, SYS_fstatfs,
	SYS_mincore, SYS_socket, SYS_connect, SYS_clone, SYS_clone3, SYS_fork,
	SYS_vfork, SYS_execve, SYS_perf_event_open, SYS_memfd_create,
};
#define N (sizeof(forbidden) / sizeof(*forbidden))

static int one, other;

static int use(int file, int flags)
{
	unsigned char *p = mmap(NULL, PAGES * PAGE, RW, flags, file, 0);
	int wrong = 0;

	if (p == MAP_FAILED)
		return 1;
	for (size_t k = 0; k < PAGES; k++) {
		wrong += p[k * PAGE] != ct_byte(k * PAGE);
		p[k * PAGE + 1] = 7;
	}
	wrong += msync(p, PAGES * PAGE, MS_SYNC) != 0;
	return wrong + (munmap(p, PAGES * PAGE) != 0);
}

/* Read only, and for execution: the kernel's, whatever the file. */
static int look(int file)
{
	unsigned char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_EXEC,
				MAP_SHARED, file, 0);
	int wrong = p == MAP_FAILED || p[PAGE] != ct_byte(PAGE);

	if (p != MAP_FAILED)
		munmap(p, PAGES * PAGE);
	return wrong;
}

struct way {
	bool mapped, known;
	unsigned flags;
};

static int confined(void *arg)
{
	const struct way *w = arg;
	volatile unsigned char *p = NULL;
	int wrong = 0;

	if (w->mapped) {
		p = (void *)ct_map(other, PAGES * PAGE, RW, MAP_SHARED, 0);
		wrong += p[PAGE] != ct_byte(PAGE);
	}
	for (int i = 0; w->known && i < 3; i++)
		wrong += look(one);
	ct_filter(forbidden, N, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW,
		  w->flags);
	wrong += use(one, MAP_SHARED) + use(one, MAP_PRIVATE);
	if (w->mapped)
		wrong += p[2 * PAGE] != ct_byte(2 * PAGE);
	_exit(wrong);
}

static void run(const char *what, bool mapped, unsigned flags)
{
	struct way w = { mapped, false, flags };

	for (int i = 0; i < 2; i++) {
		w.known = i;
		say("X31 %s%s%s: %d", what,
		    mapped ? ", another file is mapped" : "",
		    w.known ? ", known" : "", ct_child(confined, &w));
	}
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	one = ct_file("one", PAGES * PAGE);
	other = ct_file("other", PAGES * PAGE);
	for (int mapped = 0; mapped < 2; mapped++) {
		run("a thread", mapped, 0);
		run("all", mapped, SECCOMP_FILTER_FLAG_TSYNC);
	}
	return 0;
}
