/* SPDX-License-Identifier: MIT */
/*
 * run.c - fastmap run: options become environment variables, the library goes
 * behind what LD_PRELOAD already names, and the program takes our place.
 * The options come from the table that policy files use: --NAME is NAME there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "set.h"

enum { OPT_POLICY = 1000, OPT_LIBRARY, OPT_HELP };

static char *own_dir(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = 0;
	*strrchr(path, '/') = 0;
	return path;
}

/* Build directory first, then beside us in an installed tree wherever that has
 * been moved to, then where it was meant to be. */
static const char *find_library(void)
{
	static const char *const places[] = {
		"/../../libfastmap.so",
		"/../lib/libfastmap.so",
		"/../lib64/libfastmap.so",
		"/../lib/x86_64-linux-gnu/libfastmap.so",
	};
	static char path[8192];
	const char *dir = own_dir();

	for (int i = 0; dir && i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", dir, places[i]);
		if (access(path, R_OK) == 0)
			return path;
	}
	return FM_LIBDIR "/libfastmap.so";
}

/* A bare name means one of the profiles that come with the library. */
static const char *find_policy(const char *name)
{
	static char path[8192];
	struct stat st;

	if (strchr(name, '/') ||
	    (stat(name, &st) == 0 && S_ISREG(st.st_mode)))
		return name;
	snprintf(path, sizeof(path), FM_PROFILES "/%s.policy", name);
	return path;
}

/* By its full name: the program, or a child of it, may be elsewhere. */
static int set_policy(const char *name)
{
	const char *file = find_policy(name);
	char real[PATH_MAX];
	struct stat st;

	if (!*name)
		return setenv("FASTMAP_POLICY", "", 1);
	if (!realpath(file, real) || access(real, R_OK)) {
		fprintf(stderr, "fastmap: policy %s: %s: %m\n", name, file);
		return -1;
	}
	if (stat(real, &st) == 0 && !S_ISREG(st.st_mode)) {
		fprintf(stderr, "fastmap: policy %s: not a file\n", name);
		return -1;
	}
	return setenv("FASTMAP_POLICY", real, 1);
}

static void help(void)
{
	printf("usage: fastmap run [OPTION...] [--] PROGRAM [ARG...]\n\n"
	       "  --policy FILE|PROFILE   policy file, or the name of a "
	       "shipped profile\n"
	       "  --library FILE          libfastmap.so to preload\n");
	for (unsigned i = 0; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];

		if (!o->env)
			continue;
		printf("  --%-21s ", o->name);
		if (o->choices)
			printf("%s", o->choices);
		else if (o->type == T_BOOL)
			printf("yes|no");
		if (*o->standard)
			printf("%s(default %s)",
			       o->choices || o->type == T_BOOL ? " " : "",
			       o->standard);
		printf("\n");
	}
}

static struct option *long_options(void)
{
	static struct option opt[64];
	int n = 0;

	for (unsigned i = 0; i < fm_option_count && n < 60; i++)
		if (fm_options[i].env)
			opt[n++] = (struct option){ fm_options[i].name,
						    required_argument, NULL,
						    (int)i };
	opt[n++] = (struct option){ "policy", required_argument, NULL,
				    OPT_POLICY };
	opt[n++] = (struct option){ "library", required_argument, NULL,
				    OPT_LIBRARY };
	opt[n] = (struct option){ "help", no_argument, NULL, OPT_HELP };
	return opt;
}

static int preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char real[4096], *value;

	if (!realpath(library, real)) {
		fprintf(stderr, "fastmap: %s: %m\n", library);
		return -1;
	}
	if (strpbrk(real, ": ")) {
		fprintf(stderr, "fastmap: %s: LD_PRELOAD cannot name a path "
			"with a space or a colon\n", real);
		return -1;
	}
	if (!old || !*old)
		return setenv("LD_PRELOAD", real, 1);
	if (asprintf(&value, "%s:%s", old, real) < 0)
		return -1;
	return setenv("LD_PRELOAD", value, 1);
}

/* ---- programs that no preload reaches ---------------------------------- */

static bool has_interpreter(int fd, const Elf64_Ehdr *h)
{
	for (int i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p),
			  (off_t)h->e_phoff + i * (off_t)sizeof(p)) !=
		    sizeof(p))
			return true;
		if (p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static const char *unreachable(int fd)
{
	struct stat st;
	Elf64_Ehdr h;

	if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
		return "set-user-ID or set-group-ID";
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG))
		return NULL; /* a script: its interpreter counts */
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64)
		return "not an x86-64 program";
	return has_interpreter(fd, &h) ? NULL : "statically linked";
}

static int open_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[8192];

	if (strchr(name, '/') || !path)
		return open(name, O_RDONLY | O_CLOEXEC);
	for (;;) {
		size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (access(file, X_OK) == 0)
			return open(file, O_RDONLY | O_CLOEXEC);
		if (!path[n])
			return -1;
		path += n + 1;
	}
}

static void warn_if_unreachable(const char *name)
{
	int fd = open_in_path(name);
	const char *why = fd < 0 ? NULL : unreachable(fd);

	if (why)
		fprintf(stderr, "fastmap: %s is %s: LD_PRELOAD has no effect, "
			"the kernel's mmap is used\n", name, why);
	if (fd >= 0)
		close(fd);
}

/* Values are checked here, where an error can stop the command. */
static int set_option(const struct fm_option *o, const char *value)
{
	static struct fm_set scratch;
	int problems = 0;
	const struct fm_origin from = { .file = "run",
					.problems = &problems };

	fm_option_set(o, &scratch, &scratch.defaults, value, &from);
	return problems ? -1 : setenv(o->env, value, 1);
}

int cmd_run(int argc, char **argv)
{
	const char *library = NULL;
	int c;

	argv[0] = "fastmap run"; /* getopt_long's messages begin with it */
	while ((c = getopt_long(argc, argv, "+", long_options(), NULL)) != -1) {
		if (c == '?')
			return 2;
		if (c == OPT_HELP) {
			help();
			return 0;
		}
		if (c == OPT_LIBRARY)
			library = optarg;
		else if (c == OPT_POLICY ? set_policy(optarg) :
					   set_option(&fm_options[c], optarg))
			return 2;
	}
	if (optind >= argc) {
		fprintf(stderr, "fastmap run: no program given; see --help\n");
		return 2;
	}
	if (preload(library ? library : find_library()))
		return 1;
	warn_if_unreachable(argv[optind]);
	execvp(argv[optind], argv + optind);
	c = errno == ENOENT ? 127 : 126;
	fprintf(stderr, "fastmap: %s: %m\n", argv[optind]);
	return c;
}
