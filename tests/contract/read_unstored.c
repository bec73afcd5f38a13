/* SPDX-License-Identifier: MIT */
/* C87: a file that could be stored to is mapped. Reads of other files need no
 * look at what they are before the first store; from that one on reads of the
 * file show what is stored, whoever read it meanwhile. */
#include "traps.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIZE (2ul << 20)
#define ROUNDS ct_rounds(20, 60)

static _Atomic bool stop;
static int file;

static void *counted(void *arg)
{
	const int other = *(int *)arg;
	char c;

	trap_calls(SYS_statx, SYS_fstat);
	for (int i = 0; i < 100; i++)
		if (pread(other, &c, 1, i) != 1)
			ct_die("pread");
	return NULL;
}

static void count_looks(void)
{
	int fd = ct_file("mapped", SIZE), other = ct_file("other", PAGE);
	volatile char *p = ct_map(fd, SIZE, PROT_READ, MAP_SHARED, 0);
	char c = p[PAGE];
	pthread_t t;

	(void)c;
	pthread_create(&t, NULL, counted, &other);
	pthread_join(t, NULL);
	say("C87 looks at other files: %d", trapped);
}

static void *reader(void *arg CT_UNUSED)
{
	char buf[4 * PAGE];

	for (unsigned k = 0; !stop; k++)
		if (pread(file, buf, sizeof(buf), k % 8 * PAGE) < 0)
			ct_die("pread");
	return NULL;
}

static bool shows(off_t page, char want)
{
	char c = 0;

	return pread(file, &c, 1, page * (off_t)PAGE) == 1 && c == want;
}

static int one_round(int r)
{
	pthread_t t;
	char name[16], *p;
	int bad = 0;

	snprintf(name, sizeof(name), "f%d", r);
	file = ct_file(name, SIZE);
	p = ct_map(file, SIZE, r % 2 ? RW : PROT_READ, MAP_SHARED, 0);
	if (mprotect(p, SIZE, RW))
		ct_die("mprotect");
	stop = false;
	pthread_create(&t, NULL, reader, NULL);
	usleep((useconds_t)(r * 37 % 500));
	for (off_t k = 0; k < 8; k++) {
		p[(size_t)k * PAGE] = (char)('a' + k);
		bad += !shows(k, (char)('a' + k));
	}
	msync(p, SIZE, MS_SYNC);
	for (off_t k = 0; k < 8; k++)
		bad += !shows(k, (char)('a' + k));
	stop = true;
	pthread_join(t, NULL);
	munmap(p, SIZE);
	for (off_t k = 0; k < 8; k++)
		bad += !shows(k, (char)('a' + k));
	close(file);
	unlink(ct_path(name));
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	ct_begin(argc, argv);
	for (int r = 0; r < ROUNDS; r++)
		bad += one_round(r);
	say("C87 stores that a read did not show: %d", bad);
	count_looks();
	return 0;
}
