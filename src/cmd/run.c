/* SPDX-License-Identifier: MIT */
/*
 * run.c - fastmap run: options become environment variables, the library goes
 * behind what LD_PRELOAD already names, and the program takes our place.
 * The options come from the table that policy files use: --NAME is NAME there.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "heard.h"
#include "program.h"
#include "set.h"

enum { OPT_POLICY = 1000, OPT_LIBRARY, OPT_HELP = 'h' };

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

/* Behind what is there already. */
static int preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;

	if (!old || !*old)
		return setenv("LD_PRELOAD", library, 1);
	if (asprintf(&value, "%s:%s", old, library) < 0)
		return -1;
	return setenv("LD_PRELOAD", value, 1);
}

static int check_library(const char *library, char *ret_real)
{
	if (!realpath(library, ret_real)) {
		fprintf(stderr, "fastmap: %s: %m\n", library);
		return -1;
	}
	if (!program_is_library(ret_real)) {
		fprintf(stderr, "fastmap: %s is not libfastmap.so\n", ret_real);
		return -1;
	}
	if (strpbrk(ret_real, ": ")) {
		fprintf(stderr, "fastmap: %s: LD_PRELOAD cannot name a path "
			"with a space or a colon\n", ret_real);
		return -1;
	}
	return 0;
}

/* ---- what will come of it ---------------------------------------------- */

/* Programs that no preload reaches. NULL: it is one that is served. */
static const char *why_not(const char *name, const struct program *p)
{
	static char text[PATH_MAX + 1024];

	if (p->out_of_reach)
		snprintf(text, sizeof(text), "%s is %s: LD_PRELOAD has no "
			 "effect, the kernel's mmap is used", name,
			 p->out_of_reach);
	else if (p->harmed)
		snprintf(text, sizeof(text), "%s is not for glibc (its loader "
			 "is %s): run without the library", name, p->loader);
	else if (!fm_policy_any())
		snprintf(text, sizeof(text), "%s: nothing will be served: "
			 "neither --paths nor FASTMAP_PATHS, and no policy "
			 "file names any", name);
	else
		return NULL;
	return text;
}

/* The library would find the same wrong: told once, here. -1: strict. */
static int foretell(const char *name, const struct program *p)
{
	const char *base = strrchr(p->file, '/') + 1, *why;
	char pid[16];

	fm_policy_load_for(base, p->file, environ);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv(FM_RUN_VARIABLE, pid, 1);
	if (fm_settings()->mode == FM_MODE_OFF)
		return 0;
	why = why_not(name, p);
	if (why && fm_settings()->strict)
		fm_log(FM_LOG_ERROR, "%s; strict: not run", why);
	else if (why)
		fm_log(FM_LOG_WARN, "%s", why);
	return why && fm_settings()->strict ? -1 : 0;
}

/* ---- options ----------------------------------------------------------- */

/* Values are checked here, where an error can stop the command. */
static int set_option(const struct fm_option *o, const char *value)
{
	static struct fm_set scratch;
	int problems = 0;
	const struct fm_origin from = { .file = "run", .fatal = true,
					.problems = &problems };

	fm_option_set(o, &scratch, &scratch.defaults, value, &from);
	return problems ? -1 : setenv(o->env, value, 1);
}

/* Returns what to end with, or -1: go on. */
static int take_option(int c, const char **ret_library)
{
	int bad = 0;

	if (c == '?')
		return 2;
	if (c == OPT_HELP) {
		help();
		return 0;
	}
	if (!strcmp(optarg, "--")) {
		fprintf(stderr, "fastmap run: a value is missing before "
			"'--'\n");
		return 2;
	}
	if (c == OPT_LIBRARY)
		*ret_library = optarg;
	else if (c == OPT_POLICY)
		bad = set_policy(optarg);
	else
		bad = set_option(&fm_options[c], optarg);
	return bad ? 2 : -1;
}

static int not_run(const char *name, int err)
{
	fprintf(stderr, "fastmap: %s: %s\n", name, strerror(err));
	return err == ENOENT ? 127 : 126; /* as env(1) */
}

static int run(char **argv, const char *library)
{
	static struct program p;
	char real[PATH_MAX];
	int err;

	if (check_library(library, real))
		return 1;
	err = program_find(argv[0], &p);
	if (err)
		return not_run(argv[0], err);
	if (foretell(argv[0], &p))
		return 125;
	if (!p.harmed && preload(real))
		return 1;
	execvp(argv[0], argv);
	return not_run(argv[0], errno);
}

int cmd_run(int argc, char **argv)
{
	const char *library = NULL;
	int c, status;

	argv[0] = "fastmap run"; /* getopt_long's messages begin with it */
	while ((c = getopt_long(argc, argv, "+h", long_options(), NULL)) !=
	       -1) {
		status = take_option(c, &library);
		if (status >= 0)
			return status;
	}
	if (optind >= argc) {
		fprintf(stderr, "fastmap run: no program given; see --help\n");
		return 2;
	}
	return run(argv + optind, library ? library : find_library());
}
