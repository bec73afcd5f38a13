/* SPDX-License-Identifier: MIT */
/* options.c - fastmap options [NAME...]: what each option means. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd.h"
#include "meanings.h"

static const struct {
	const char *name, *line, *rest;
} meanings[] = {
#define FM_MEANING(name, line, rest) { name, line, rest },
#include "meanings.def"
};
#define WIDTH 79 /* columns */
#define MEANINGS (sizeof(meanings) / sizeof(meanings[0]))

static unsigned meaning_of(const struct fm_option *o)
{
	unsigned i = 0;

	while (i < MEANINGS && strcmp(meanings[i].name, o->name))
		i++;
	return i;
}

const char *meaning_line(const struct fm_option *o)
{
	unsigned i = meaning_of(o);

	return i < MEANINGS ? meanings[i].line : "";
}

const char *meaning_rest(const struct fm_option *o)
{
	unsigned i = meaning_of(o);

	return i < MEANINGS ? meanings[i].rest : "";
}

const char *meaning_value(const struct fm_option *o)
{
	switch (o->type) {
	case T_BOOL:
		return "yes|no";
	case T_CHOICE:
		return o->choices;
	case T_U32:
	case T_LEVEL:
		return "N";
	case T_FILE:
	case T_SOCKET:
	case T_STATS:
		return "FILE";
	case T_STATES:
		return "auto|off|DIR";
	case T_SOURCE:
		return "KIND:WHERE";
	case T_PATHS:
		return "PATH[:PATH...]";
	case T_GLOBS:
		return "GLOB[:GLOB...]";
	case T_PIN:
		return "SIZE|minute";
	default:
		return "SIZE";
	}
}

static bool has_range(const struct fm_option *o)
{
	return o->type == T_U32 || o->type == T_LEVEL;
}

void print_wrapped(int column, int indent, const char *text)
{
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column > indent && column + n >= WIDTH) {
			printf("\n");
			column = 0;
		}
		if (column < indent)
			column += printf("%*s", indent - column, "");
		else
			column += printf(" ");
		column += printf("%.*s", n, text);
		text += n + strspn(text + n, " ");
	}
	if (column)
		printf("\n");
}

static void options_show(const struct fm_option *o)
{
	printf("%s = %s", o->name, meaning_value(o));
	if (has_range(o))
		printf(" %lu to %lu", o->min, o->max);
	if (*o->standard)
		printf(" (default %s)", o->standard);
	printf("\n");
	if (o->env)
		printf("    --%s, %s\n", o->name, o->env);
	if (o->scope == OPT_PATH && !o->whole)
		printf("    also in a [path] section\n");
	print_wrapped(0, 4, meaning_line(o));
	print_wrapped(0, 4, meaning_rest(o));
}

static void options_show_json(struct fm_json *j, const struct fm_option *o)
{
	fm_json_open(j, NULL, '{');
	fm_json_text(j, "name", o->name);
	fm_json_text(j, "variable", o->env);
	fm_json_text(j, "value", meaning_value(o));
	if (has_range(o)) {
		fm_json_uint(j, "min", o->min);
		fm_json_uint(j, "max", o->max);
	}
	fm_json_text(j, "default", o->standard);
	fm_json_bool(j, "path", o->scope == OPT_PATH && !o->whole);
	fm_json_bool(j, "live", o->live);
	fm_json_text(j, "line", meaning_line(o));
	fm_json_text(j, "rest", meaning_rest(o));
	fm_json_close(j, '}');
}

static int show_all_json(void)
{
	struct fm_json j = { 0 };

	fm_json_open(&j, NULL, '[');
	for (unsigned i = 0; i < fm_option_count; i++)
		options_show_json(&j, &fm_options[i]);
	fm_json_close(&j, ']');
	if (j.failed)
		return 1;
	printf("%.*s\n", (int)j.len, j.text);
	return 0;
}

static int show_named(char **names)
{
	int status = 0;

	for (; *names; names++) {
		const struct fm_option *o = fm_option_find(*names);

		if (o) {
			options_show(o);
			continue;
		}
		fprintf(stderr, "fastmap options: no option '%s'; fastmap "
			"options lists them\n", *names);
		status = 2;
	}
	return status;
}

int cmd_options_list(int argc, char **argv)
{
	static const char help[] =
		"usage: fastmap options [NAME...]   what each option means\n"
		"       fastmap options --json      all of them, for programs\n"
		"A SIZE is in bytes, or has K, M, G or T behind it.\n";
	const bool json = argc > 1 && !strcmp(argv[1], "--json");
	int status;

	if (json && argc > 2)
		return cmd_usage(help, "too many arguments");
	if (json)
		return show_all_json();
	if (argc == 2 && !strcmp(argv[1], "--tunables")) {
		print_tunables();
		return 0;
	}
	status = cmd_options(argc, argv, 0, INT_MAX, help);
	if (status >= 0)
		return status;
	if (argc > optind)
		return show_named(argv + optind);
	for (unsigned i = 0; i < fm_option_count; i++)
		options_show(&fm_options[i]);
	return 0;
}
