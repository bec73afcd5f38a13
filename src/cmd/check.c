/* SPDX-License-Identifier: MIT */
/* check.c - fastmap check FILE...: bad lines are errors here. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd.h"
#include "policy.h"

int cmd_check(int argc, char **argv)
{
	int status = cmd_options(
		argc, argv, 1, INT_MAX,
		"usage: fastmap check FILE...\n"
		"Says what is wrong with policy files: line by line, status 1.\n");
	int bad = 0;

	if (status >= 0)
		return status;
	for (int i = optind; i < argc; i++) {
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
