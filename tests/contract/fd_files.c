/* SPDX-License-Identifier: MIT */
/* D8: with 256 descriptors the program maps 200 files and closes each: most are
 * free. */
/* env: FASTMAP_MIN_SIZE=0 */
#include "ct.h"

#include <sys/resource.h>

#define FILES 200

int main(int argc, char **argv)
{
	struct rlimit rl = { 256, 256 };
	char *map[FILES], name[16];
	int n = 0, good = 0;

	ct_begin(argc, argv);
	setrlimit(RLIMIT_NOFILE, &rl);
	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = ct_file(name, 2 * PAGE);
		map[i] = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);
		close(fd);
		map[i][PAGE] = (char)i;
	}
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	for (int i = 0; i < FILES; i++)
		good += ct_matches(map[i], PAGE, 0) && map[i][PAGE] == (char)i;
	say("D8 more than half: %d, %s; right: %d", n > 128, ct_errno(true),
	    good);
	return 0;
}
