/* SPDX-License-Identifier: MIT */
/* Y81: what is stored to a mapping cannot be written, for RLIMIT_FSIZE has been
 * lowered (by a system call that is not seen, as another process would): msync
 * and fsync say so by an error that they may have. */
#include "ct.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define LEN (64 * PAGE)

static bool known(bool failed)
{
	return !failed || errno == EIO || errno == ENOSPC || errno == EDQUOT;
}

int main(int argc, char **argv)
{
	const struct rlimit low = { 8 * PAGE, 8 * PAGE };
	char *p;
	int fd;

	ct_begin(argc, argv);
	signal(SIGXFSZ, SIG_IGN);
	fd = ct_file("f", LEN);
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	ct_load(p);
	if (ct_raw(SYS_prlimit64, 0, RLIMIT_FSIZE, (long)&low, 0))
		ct_die("prlimit");
	p[40 * PAGE] = 0x42;
	say("Y81 fsync: %d", known(fsync(fd)));
	say("Y81 fdatasync: %d", known(fdatasync(fd)));
	say("Y81 msync: %d", known(msync(p, LEN, MS_SYNC)));
	say_load("Y81 not lost", p, 40 * PAGE);
	return 0;
}
