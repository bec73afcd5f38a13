/* SPDX-License-Identifier: MIT */
/* cmd.h - the parts of the `fastmap` command. Each returns an exit status. */
#pragma once

/* For a command whose only option is --help: -1, and optind is where its
 * arguments begin (`least` to `most` of them), or what to end with. */
int cmd_options(int argc, char **argv, int least, int most, const char *help);
/* One line on stderr: what is wrong, and how it is used, by the help text. 2,
 * the exit status. */
int cmd_usage(const char *help, const char *why);
int cmd_usage_count(const char *help, int given, int least);

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
