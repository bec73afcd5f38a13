/* SPDX-License-Identifier: MIT */
/* M94: a read(2) of the file is under way when its last mapping goes and one
 * comes that stays the kernel's (executable): the next mapping and that one
 * agree. */
/* needs: root */
#include "own_uffd.h"

#include <pthread.h>

#define LEN (8 * PAGE)

static char *missing;
static int fd, uffd;
static ssize_t got;

static void user_faults(void)
{
	uffd = ct_uffd(0);
	missing = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ct_uffd_watch(uffd, missing, PAGE))
		ct_skip("no userfaultfd for the kernel's own faults");
}

static void *reader(void *arg CT_UNUSED)
{
	got = pread(fd, missing, 100, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct uffdio_zeropage z = { { 0, PAGE }, 0, 0 };
	char *map, *code;
	pthread_t id;

	ct_begin(argc, argv);
	user_faults();
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	map[0] = 'a';
	pthread_create(&id, NULL, reader, NULL);
	usleep(50000);
	munmap(map, LEN);
	code = ct_map(fd, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, 0);
	say("M94 executable: %c", code[0]);
	z.range.start = (uintptr_t)missing;
	if (ioctl(uffd, UFFDIO_ZEROPAGE, &z))
		ct_die("UFFDIO_ZEROPAGE");
	pthread_join(id, NULL);
	say("M94 read: %zd %c", got, missing[0]);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	map[1] = 'b';
	say("M94 the other sees: %c", code[1]);
	mprotect(code, PAGE, RW);
	code[2] = 'c';
	say("M94 and this sees: %c", map[2]);
	munmap(map, LEN);
	munmap(code, PAGE);
	return 0;
}
