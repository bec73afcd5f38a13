/* SPDX-License-Identifier: MIT */
/* main.c - fastmap COMMAND ... */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", cmd_run,
	  "[OPTION...] [--] PROGRAM [ARG...]   run a program with libfastmap" },
	{ "compare", cmd_compare,
	  "[OPTION...] [--] PROGRAM [ARG...]   with and without it, in turns" },
	{ "suggest", cmd_suggest,
	  "[OPTION...] -- PROGRAM [ARG...]   a policy file, with reasons" },
	{ "doctor", cmd_doctor,
	  "                           what this system allows, with remedies" },
	{ "check", cmd_check,
	  "FILE...                     report every bad line of policy files" },
	{ "ps", cmd_ps,
	  "[--json]                       running processes under it" },
	{ "stat", cmd_stat,
	  "[OPTION...] WHO [SECONDS]    what a running process serves" },
	{ "why", cmd_why,
	  "[OPTION...] WHO FILE          why a file is served by whom it is" },
	{ "set", cmd_set,
	  "WHO KEY VALUE                 another value for an option" },
	{ "reload", cmd_reload,
	  "WHO                        read the policy file now" },
	{ "prefetch", cmd_prefetch,
	  "WHO FILE [OFFSET LENGTH] read a file into the cache" },
	{ "drop", cmd_drop,
	  "WHO FILE [OFFSET LENGTH]     let a file leave memory" },
	{ "flush", cmd_flush,
	  "WHO FILE [OFFSET LENGTH]    write what is dirty, durably" },
	{ "save", cmd_save,
	  "WHO                          write down what is hot, for a warm start" },
	{ "demote", cmd_demote,
	  "WHO [FILE]                 the kernel serves a file" },
	{ "promote", cmd_promote,
	  "WHO [FILE]              the engine serves it again" },
	{ "ctl", cmd_ctl,
	  "WHO COMMAND [ARG...]          one line to a running process" },
	{ "top", cmd_top,
	  "[OPTION...] [WHO]             what running processes do" },
	{ "map", cmd_map,
	  "[OPTION...] WHO [FILE]        which pages are in memory, as bars" },
	{ "options", cmd_options_list,
	  "[NAME...]                 what each option means" },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(FILE *out, int status)
{
	fprintf(out, "usage:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  fastmap %s %s\n", commands[i].name,
			commands[i].help);
	fprintf(out, "  fastmap --version\n"
		"fastmap COMMAND --help says more\n");
	return status;
}

/* What nobody got has not been said. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "fastmap: standard output: %m\n");
	return status ? status : 1;
}

static bool is(const char *word, const char *option)
{
	return !strcmp(word, option);
}

static int main_run(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr, 2);
		fprintf(stderr, "fastmap: a command is missing\n");
		return 2;
	}
	if (argc > 2 && *argv[1] == '-') {
		fprintf(stderr, "fastmap: nothing goes behind %s; options of a "
			"command stand behind its name\n", argv[1]);
		return 2;
	}
	if (is(argv[1], "--help") || is(argv[1], "-h"))
		return usage(stdout, 0);
	if (is(argv[1], "--version")) {
		puts("fastmap " FM_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "fastmap: no command '%s'; fastmap --help lists them\n",
		argv[1]);
	return 2;
}

int main(int argc, char **argv)
{
	return written(main_run(argc, argv));
}
