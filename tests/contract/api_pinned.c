/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_SOCKET={own}/s */
/*
 * AP08: what is pinned stays so when the file goes to the kernel and comes
 * back, and is locked there; advice, protection and the program's own locks do
 * there what they do without. While it changes its server over and over threads
 * pin and unpin, and every byte stays right.
 */
#include "api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "../stress/ask.h"

#define PAGES 1024ul
#define FIRST 16
#define PINNED 64
#define THREADS 3

static char *p;
static struct fastmap_range pins;
static atomic_bool stop;
static atomic_int bad;

/* Does the kernel have the page locked? */
static bool locked(const char *at)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long a, e, want = (uintptr_t)at;
	bool in = false, yes = false;
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*4s", &a, &e) == 2)
			in = a <= want && want < e;
		else if (in && !strncmp(line, "VmFlags:", 8))
			yes = strstr(line, " lo") != NULL;
	}
	if (f)
		fclose(f);
	return yes;
}

static bool by_kernel(void)
{
	char text[80];

	return fastmap_why(p, text, sizeof(text)) > 0 &&
	       !strncmp(text, "the kernel", 10);
}

/* Natively nothing can be asked for. */
static void to_kernel(void)
{
	for (int i = 0; fastmap_available() && i < 100 && !by_kernel(); i++)
		if (!ask("demote\n"))
			usleep(10000);
}

/* All that is pinned and nothing else, if the kernel serves it. */
static void say_locked(const char *what, bool pinned)
{
	const bool right = locked(p + FIRST * PAGE) == pinned &&
			   locked(p + (FIRST + PINNED - 1) * PAGE) == pinned &&
			   !locked(p) && !locked(p + (FIRST + PINNED) * PAGE);

	say("AP08 %s: %d", what,
	    !fastmap_available() || !by_kernel() || right);
}

static bool bytes_right(void)
{
	for (size_t i = 0; i < PAGES; i += 7)
		if (ct_load(p + i * PAGE + 7) != ct_byte(i * PAGE + 7))
			return false;
	return true;
}

static void there_and_back(void)
{
	say("AP08 pin: %s", api_rc(fastmap_pin(&pins, 1)));
	to_kernel();
	say("AP08 it went: %d", !fastmap_available() || by_kernel());
	say_locked("locked", true);
	say("AP08 bytes: %d", bytes_right());
	say_rc("AP08 DONTNEED", madvise(p, PAGES * PAGE, MADV_DONTNEED));
	say_rc("AP08 munlock", munlock(p, PAGES * PAGE));
	say_locked("locked after it", true);
	say_rc("AP08 protected", mprotect(p + 20 * PAGE, PAGE, PROT_READ));
	say_rc("AP08 again", mprotect(p + 20 * PAGE, PAGE, RW));
	say("AP08 release: %s", api_rc(fastmap_release(&pins, 1)));
	ask("promote\n");
	say("AP08 bytes: %d", bytes_right());
	to_kernel();
	say_locked("locked once more", true);
	say("AP08 unpin: %s", api_rc(fastmap_unpin(&pins, 1)));
	say_locked("unlocked", false);
	ask("promote\n");
	to_kernel();
	say_locked("it stays unlocked", false);
}

static int child(void *arg)
{
	return !bytes_right() || locked(p + FIRST * PAGE);
}

/* The kernel is asked for no more than the program may. */
static void limited(void)
{
	const struct fastmap_range one = { p + FIRST * PAGE, PAGE };
	struct rlimit was, few;
	int rc;

	getrlimit(RLIMIT_MEMLOCK, &was);
	few = (struct rlimit){ 4 * PAGE, was.rlim_max };
	say("AP08 pin: %s", api_rc(fastmap_pin(&pins, 1)));
	say_locked("locked", true);
	say("AP08 child: %d", ct_child(child, NULL));
	say("AP08 unpin: %s", api_rc(fastmap_unpin(&pins, 1)));
	setrlimit(RLIMIT_MEMLOCK, &few);
	say("AP08 one: %s", api_rc(fastmap_pin(&one, 1)));
	rc = fastmap_pin(&pins, 1);
	say("AP08 too many: %d", !fastmap_available() || !rc ||
	    errno == ENOMEM);
	say("AP08 root may: %d", !fastmap_available() || !by_kernel() ||
	    !rc == !geteuid());
	fastmap_unpin(&pins, 1);
	setrlimit(RLIMIT_MEMLOCK, &was);
}

static void *pinner(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!stop) {
		const struct fastmap_range r = {
			p + (size_t)rand_r(&seed) % PAGES * PAGE, 5 * PAGE
		};
		const size_t i = (size_t)rand_r(&seed) % PAGES;

		seed % 3 ? fastmap_pin(&r, 1) : fastmap_unpin(&r, 1);
		if (ct_load(p + i * PAGE + 7) != ct_byte(i * PAGE + 7))
			atomic_fetch_add(&bad, 1);
	}
	return NULL;
}

static void at_once(void)
{
	/* Natively there is nothing that it could meet. */
	const time_t end = time(NULL) +
			   (fastmap_available() ? ct_rounds(2, 20) : 0);
	const struct fastmap_range all = { p, PAGES * PAGE };
	pthread_t t[THREADS];

	for (uintptr_t k = 0; k < THREADS; k++)
		pthread_create(&t[k], NULL, pinner, (void *)(k + 1));
	while (time(NULL) < end) {
		ask("demote\n");
		ask("promote\n");
	}
	stop = true;
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	say("AP08 wrong: %d", bad);
	fastmap_unpin(&all, 1);
	to_kernel();
	say_locked("none is left", false);
}

/* The program's own lock stays, and keeps the file the kernel's. */
static void own_lock(void)
{
	say("AP08 pin: %s", api_rc(fastmap_pin(&pins, 1)));
	say_rc("AP08 mlock", mlock(p + FIRST * PAGE, 2 * PAGE));
	say("AP08 unpin: %s", api_rc(fastmap_unpin(&pins, 1)));
	say("AP08 its lock: %d %d", locked(p + FIRST * PAGE),
	    locked(p + (FIRST + 2) * PAGE));
	say_rc("AP08 munlock", munlock(p + FIRST * PAGE, 2 * PAGE));
	say("AP08 its lock: %d", locked(p + FIRST * PAGE));
	say_rc("AP08 all", munlock(p, PAGES * PAGE));
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	fdatasync(fd);
	p = api_map(fd, PAGES * PAGE, RW, MAP_SHARED);
	pins = (struct fastmap_range){ p + FIRST * PAGE, PINNED * PAGE };
	say("AP08 bytes: %d", bytes_right());
	there_and_back();
	at_once();
	limited();
	own_lock();
	say("AP08 bytes: %d", bytes_right());
	munmap(p, PAGES * PAGE);
	return 0;
}
