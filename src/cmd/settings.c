/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "meanings.h"
#include "places.h"
#include "policy.h"
#include "set.h"

enum { OPT_POLICY = 1000, OPT_LIBRARY };

static const char *library;

/* ---- the library and the policy file ----------------------------------- */

/* By its full name: the program, or a child of it, may be elsewhere. */
static int set_policy(const char *name)
{
	const char *file = place_of_policy(name);
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

/* ---- options ----------------------------------------------------------- */

#define HELP_COLUMN 26

/* As "  --NAME VALUE   what it means (default ...)". */
static void help_line(const char *name, const char *value, const char *line,
		      const char *standard)
{
	char text[512];
	int n = printf("  --%s %s", name, value);

	if (n > HELP_COLUMN - 2) {
		printf("\n");
		n = 0;
	}
	snprintf(text, sizeof(text), *standard ? "%s (default %s)" : "%s", line,
		 standard);
	print_wrapped(n, HELP_COLUMN, text);
}

void settings_help(void)
{
	help_line("policy", "FILE|PROFILE",
		  "policy file, or the name of a shipped profile", "");
	help_line("library", "FILE", "libfastmap.so to preload", "");
	for (unsigned i = 0; i < fm_option_count; i++) {
		const struct fm_option *o = &fm_options[i];

		if (o->env)
			help_line(o->name, meaning_value(o), meaning_line(o),
				  o->standard);
	}
	printf("A SIZE is in bytes, or has K, M, G or T behind it. More: "
	       "fastmap options NAME\n");
}

static const struct option *settings_options(const struct option *own)
{
	static struct option opt[96];
	int n = 0;

	for (unsigned i = 0; i < fm_option_count && n < 70; i++)
		if (fm_options[i].env)
			opt[n++] = (struct option){ fm_options[i].name,
						    required_argument, NULL,
						    (int)i };
	opt[n++] = (struct option){ "policy", required_argument, NULL,
				    OPT_POLICY };
	opt[n++] = (struct option){ "library", required_argument, NULL,
				    OPT_LIBRARY };
	while (own->name && n < 90)
		opt[n++] = *own++;
	opt[n] = (struct option){ "help", no_argument, NULL, 'h' };
	return opt;
}

/* Values are checked here, where an error can stop the command. */
static int settings_set_option(const struct fm_option *o, const char *value)
{
	static struct fm_set scratch;
	int problems = 0;
	const struct fm_origin from = { .file = "run", .fatal = true,
					.problems = &problems };

	fm_option_set(o, &scratch, &scratch.defaults, value, &from);
	return problems ? -1 : setenv(o->env, value, 1);
}

static int settings_take(const char *command, int c, const char *value)
{
	if (!strcmp(value, "--")) {
		fprintf(stderr, "%s: a value is missing before '--'\n",
			command);
		return -1;
	}
	if (c == OPT_POLICY)
		return set_policy(value);
	if (c != OPT_LIBRARY)
		return settings_set_option(&fm_options[c], value);
	library = value;
	return 0;
}

int settings_parse(const struct settings_command *command, int argc,
		   char **argv)
{
	const struct option *known = settings_options(command->own);
	int c;

	argv[0] = (char *)command->name; /* getopt_long's messages begin so */
	while ((c = getopt_long(argc, argv, "+h", known, NULL)) != -1) {
		if (c == 'h') {
			command->help();
			return 0;
		}
		if (c == '?' || (c >= SETTINGS_OWN ?
					 command->take(c, optarg) :
					 settings_take(command->name, c,
						       optarg)))
			return 2;
	}
	return -1;
}

/* ---- before it is run -------------------------------------------------- */

int settings_library(char *ret_full)
{
	const char *file = library ? library : place_of_library();

	if (place_full(file, ret_full) || access(ret_full, R_OK)) {
		fprintf(stderr, "fastmap: %s: %m\n", file);
		return -1;
	}
	if (!program_is_library(ret_full)) {
		fprintf(stderr, "fastmap: %s is not libfastmap.so\n", ret_full);
		return -1;
	}
	if (strpbrk(ret_full, ": ")) {
		fprintf(stderr, "fastmap: %s: LD_PRELOAD cannot name a path "
			"with a space or a colon\n", ret_full);
		return -1;
	}
	return 0;
}

/* Behind what is there already. */
int settings_preload(const char *full)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;

	if (!old || !*old)
		return setenv("LD_PRELOAD", full, 1);
	if (asprintf(&value, "%s:%s", old, full) < 0)
		return -1;
	return setenv("LD_PRELOAD", value, 1);
}

int settings_preload_heap(const char *library)
{
	const char *heap = place_of_heap(library);

	if (!fm_settings()->heap)
		return 0;
	if (access(heap, R_OK)) {
		fprintf(stderr, "fastmap: %s: %m\n", heap);
		return -1;
	}
	return settings_preload(heap);
}

const char *settings_why_not(const char *name, const struct program *p)
{
	static char text[PATH_MAX + 1024];

	if (p->out_of_reach)
		snprintf(text, sizeof(text), "%s is %s: LD_PRELOAD has no "
			 "effect, the kernel's mmap is used", name,
			 p->out_of_reach);
	else if (p->harmed)
		snprintf(text, sizeof(text), "%s is not for glibc (its loader "
			 "is %s): run without the library", name, p->loader);
	else if (!fm_policy_any() && !fm_settings()->heap &&
		 !program_asks(p->file))
		snprintf(text, sizeof(text), "%s: nothing will be served: "
			 "neither --paths nor FASTMAP_PATHS, and no policy "
			 "file names any", name);
	else
		return NULL;
	return text;
}
