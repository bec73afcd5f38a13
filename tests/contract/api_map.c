/* SPDX-License-Identifier: MIT */
/* AP01: fastmap_map is mmap by its arguments, errors and bytes, also of what is
 * too short, and of a file that no path names; fastmap_sync and _unmap. */
#include "api.h"

/* With the library the engine has it, if it can run. */
static const char *server(const char *p)
{
	char text[256] = "";
	int n = fastmap_why(p, text, sizeof(text));

	if (!fastmap_available())
		return n == -1 && errno == ENOSYS ? "known" : "not missing";
	return n == (int)strlen(text) && (!strcmp(text, "the engine") ||
					  strstr(text, "the kernel: "))
		       ? "known"
		       : "not known";
}

static void errors(int fd)
{
	say_map("AP01 length 0", fastmap_map(NULL, 0, RW, MAP_SHARED, fd, 0));
	say_map("AP01 no descriptor",
		fastmap_map(NULL, PAGE, RW, MAP_SHARED, -1, 0));
	say_map("AP01 odd offset",
		fastmap_map(NULL, PAGE, RW, MAP_SHARED, fd, 1));
	say_map("AP01 no type", fastmap_map(NULL, PAGE, RW, 0, fd, 0));
	say_map("AP01 anonymous", fastmap_map(NULL, PAGE, RW, MAP_PRIVATE |
					     MAP_ANONYMOUS, -1, 0));
	say_map("AP01 executable", fastmap_map(NULL, PAGE, PROT_READ | PROT_EXEC,
					      MAP_PRIVATE, fd, 0));
}

static void whole(int fd, size_t pages)
{
	const size_t len = pages * PAGE;
	char *p = api_map(fd, len, RW, MAP_SHARED);

	say("AP01 bytes: %d, %s", ct_matches(p, len, 0), server(p));
	p[PAGE + 5] = 77;
	say_rc("AP01 sync", fastmap_sync(p, len));
	say("AP01 in the file: %d", ct_in_file(fd, PAGE + 5));
	say_rc("AP01 sync, odd", fastmap_sync(p + 1, PAGE));
	say_map("AP01 over it", fastmap_map(p, PAGE, PROT_READ,
					   MAP_SHARED | MAP_FIXED, fd, 0));
	say("AP01 bytes over it: %d", ct_matches(p, PAGE, 0));
	say_rc("AP01 unmap a part", fastmap_unmap(p, PAGE));
	say_touch("AP01 the part", p, 0, false);
	say("AP01 the rest: %d", ct_load(p + PAGE + 5));
	say_rc("AP01 unmap", fastmap_unmap(p, len));
	p = api_map(fd, PAGE, RW, MAP_PRIVATE);
	*p = 5;
	say("AP01 private: %d %d", *p, ct_in_file(fd, 0) != 5);
	say_rc("AP01 why not", fastmap_available() &&
			      fastmap_why(&fd, NULL, 0) != -1);
}

int main(int argc, char **argv)
{
	char text[4];
	char *p;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", 600 * PAGE);
	errors(fd);
	whole(fd, 600);
	fd = ct_file("short", 2 * PAGE);
	whole(fd, 2);
	p = api_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED);
	say("AP01 cut: %s",
	    api_rc(fastmap_why(p, text, sizeof(text)) < (int)sizeof(text) ?
			   -1 : (long)strlen(text) - 3));
	return 0;
}
