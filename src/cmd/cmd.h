/* SPDX-License-Identifier: MIT */
/* cmd.h - the parts of the `fastmap` command. Each returns an exit status. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

/* For a command whose only option is --help: -1, and optind is where its
 * arguments begin (`least` to `most` of them), or what to end with. */
int cmd_options(int argc, char **argv, int least, int most, const char *help);
/* The same with flags, which may stand behind the arguments: `known` says what
 * they set (getopt_long), and ends with CMD_HELP. */
#define CMD_HELP { "help", no_argument, NULL, 'h' }
#define CMD_FLAG(name, var) { name, no_argument, &(var), 1 }
int cmd_flags(int argc, char **argv, const struct option *known, int least,
	      int most, const char *help);
/* The same with values, which take() is told of: false, it is bad, and said. */
typedef bool cmd_take_fn(void *arg, int option, const char *value);
int cmd_values(int argc, char **argv, const struct option *known, int least,
	       int most, const char *help, cmd_take_fn *take, void *arg);
/* One line on stderr: what is wrong, and how it is used, by the help text. 2,
 * the exit status. */
int cmd_usage(const char *help, const char *why);

/* All of the text is a number of this range. */
bool cmd_between(const char *text, double least, double most, double *ret);

int cmd_run(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_prefetch(int argc, char **argv);
int cmd_drop(int argc, char **argv);
int cmd_flush(int argc, char **argv);
int cmd_save(int argc, char **argv);
int cmd_demote(int argc, char **argv);
int cmd_promote(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_suggest(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_options_list(int argc, char **argv);
