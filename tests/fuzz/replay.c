/* SPDX-License-Identifier: MIT */
/* Run a fuzz target over every file of a folder, with any compiler. */
#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
	static uint8_t buf[1 << 20];
	char path[4096];
	struct dirent *e;
	DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
	int n = 0;

	while (d && (e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		LLVMFuzzerTestOneInput(buf, fread(buf, 1, sizeof(buf), f));
		fclose(f);
		n++;
	}
	if (d)
		closedir(d);
	printf("%d files\n", n);
	return n ? 0 : 1;
}
