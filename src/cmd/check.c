/* SPDX-License-Identifier: MIT */
/* check.c - fastmap check FILE...: bad lines are errors here. */
#include <stdio.h>

#include "cmd.h"
#include "policy.h"

int cmd_check(int argc, char **argv)
{
	int bad = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: fastmap check FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		int n = fm_policy_check(argv[i]);

		if (n)
			fprintf(stderr, "fastmap: %s: %d problem%s\n", argv[i],
				n, n == 1 ? "" : "s");
		else
			printf("%s: good\n", argv[i]);
		bad += n;
	}
	return bad ? 1 : 0;
}
