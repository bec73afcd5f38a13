/* SPDX-License-Identifier: MIT */
/* C115: a sandbox refuses process_vm_readv and process_vm_writev to a program,
 * as that of a container may, which stores to a file and is killed. */
#include "filter.h"

#define PAGES 40
#define N (PAGES * PAGE - 1000)

static const int refused[] = { SYS_process_vm_readv, SYS_process_vm_writev };

/* By an instruction: what the library hears of is written before. */
static void die(void)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_kill), "D"((long)getpid()),
			   "S"((long)SIGKILL)
			 : "rcx", "r11", "memory");
}

static void store_and_die(void)
{
	int fd = open(ct_path("f"), O_RDWR | O_CLOEXEC);
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);

	for (size_t k = 0; k < PAGES; k++)
		m[k * PAGE] = 's';
	die();
}

static int begin(void *self)
{
	ct_filter(refused, 2, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW, 0);
	execl(self, self, ct_dir, "store", NULL);
	ct_die("exec");
}

/* Pages that are not in the file as they were stored. */
static int missing(int fd)
{
	int n = 0;
	char c;

	for (size_t k = 0; k < PAGES; k++)
		n += pread(fd, &c, 1, (off_t)(k * PAGE)) != 1 || c != 's';
	return n;
}

int main(int argc, char **argv)
{
	int fd, r;

	ct_begin(argc, argv);
	if (argc > 2)
		store_and_die();
	fd = ct_file("f", N);
	ct_uncache(fd);
	close(fd);
	r = ct_child(begin, argv[0]);
	fd = open(ct_path("f"), O_RDONLY);
	for (int t = 0; missing(fd) && t < 300; t++)
		usleep(10000);
	usleep(300000); /* it writes its statistics, too */
	say("C115 ended %d, pages missing %d, bytes %ld", r, missing(fd),
	    (long)lseek(fd, 0, SEEK_END));
	return 0;
}
