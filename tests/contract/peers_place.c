/* SPDX-License-Identifier: MIT */
/* C106r: root forks behind a filter that refuses to open (EPERM): the files in
 * which processes claim theirs are the same afterwards. */
/* needs: root */
#include "places.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define PAGES 64ul

static struct sock_filter no_open[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void nothing(void)
{
}

static void filtered(void)
{
	const struct sock_fprog f = { sizeof(no_open) / sizeof(*no_open),
				      no_open };
	int fd = ct_file("1", PAGES * PAGE);
	char *p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	close(fd);
	ct_store(p, 1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f))
		ct_die("prctl");
	say_child("C106r child", nothing);
}

static ino_t number(int k)
{
	struct stat st;

	return stat(place_names[k], &st) ? 0 : st.st_ino;
}

int main(int argc, char **argv)
{
	ino_t before[2];
	char *ours;

	ct_begin(argc, argv);
	own_places();
	ours = ct_map(ct_file("ours", PAGES * PAGE), PAGES * PAGE, RW,
		      MAP_SHARED, 0);
	ours[0]++;
	for (int k = 0; k < 2; k++)
		before[k] = number(k);
	say_child("C106r filtered", filtered);
	for (int k = 0; k < 2; k++)
		say("C106r the same file: %d", number(k) == before[k]);
	return 0;
}
