/* SPDX-License-Identifier: MIT */
/* ctl.c - fastmap ctl SOCKET WORD...: one line to the control socket. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd.h"

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int dial(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (strlen(path) >= sizeof(addr.sun_path)) {
		close(fd);
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		close(fd);
		/* Refused is what connect(2) says of any other file. */
		if (errno == ECONNREFUSED && !is_socket(path))
			errno = ENOTSOCK;
		return -1;
	}
	return fd;
}

static int copy_answer(int fd)
{
	char buf[4096];
	bool first = true, error = false;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		error |= first && n >= 5 && !memcmp(buf, "error", 5);
		first = false;
		fwrite(buf, 1, (size_t)n, error ? stderr : stdout);
	}
	return n < 0 || first || error;
}

int cmd_ctl(int argc, char **argv)
{
	char line[500];
	int fd, n;
	int r = cmd_options(
		argc, argv, 2, 3,
		"usage: fastmap ctl SOCKET stats        what it has done, JSON\n"
		"       fastmap ctl SOCKET cache SIZE   bytes, a percentage, auto\n"
		"       fastmap ctl SOCKET demote [PATH]     the kernel serves the\n"
		"                                       file (all) from now on\n"
		"       fastmap ctl SOCKET take-back [PATH]  the engine, again\n"
		"SOCKET is what FASTMAP_SOCKET names in the program.\n");

	if (r >= 0)
		return r;
	argv += optind;
	argc -= optind;
	n = snprintf(line, sizeof(line), "%s%s%s\n", argv[1],
		     argc == 3 ? " " : "", argc == 3 ? argv[2] : "");
	if (n >= (int)sizeof(line)) {
		fprintf(stderr, "fastmap: command too long\n");
		return 2;
	}
	fd = dial(argv[0]);
	if (fd < 0 || write(fd, line, (size_t)n) != n) {
		fprintf(stderr, "fastmap: %s: %m\n", argv[0]);
		return 1;
	}
	r = copy_answer(fd);
	close(fd);
	return r;
}
