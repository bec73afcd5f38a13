/* SPDX-License-Identifier: MIT */
/* Runs the unit test that is named. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

extern const struct unit *const __start_fm_units[], *const __stop_fm_units[];

int main(int argc, char **argv)
{
	const struct unit *const *u;

	for (u = __start_fm_units; argc == 2 && u < __stop_fm_units; u++)
		if (!strcmp((*u)->name, argv[1]))
			return (*u)->run();
	fprintf(stderr, "usage: %s TEST\n", argv[0]);
	return 2;
}
