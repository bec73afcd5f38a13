/* SPDX-License-Identifier: MIT */
#include "command_line.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "stats_doc.h"

#define PLAIN                                                        \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"_-+=./,:@%"
#define MOST 65536

/* $'...', as a line of a file cannot hold a line break. */
static void put_escaped(const char *word, FILE *out)
{
	fputs("$'", out);
	for (; *word; word++)
		if ((unsigned char)*word < ' ')
			fprintf(out, "\\%03o", (unsigned)*word);
		else
			fprintf(out, "%s%c", strchr("\\'", *word) ? "\\" : "",
				*word);
	fputc('\'', out);
}

static void put_quoted(const char *word, FILE *out)
{
	fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

static bool has_control(const char *word)
{
	while (*word && (unsigned char)*word >= ' ')
		word++;
	return *word;
}

static void put_word(const char *word, FILE *out)
{
	if (*word && !word[strspn(word, PLAIN)])
		fputs(word, out);
	else if (has_control(word))
		put_escaped(word, out);
	else
		put_quoted(word, out);
}

void command_put(char **argv, FILE *out)
{
	for (; *argv; argv++) {
		put_word(*argv, out);
		if (argv[1])
			fputc(' ', out);
	}
}

static bool link_of(int pid, const char *what, char *ret)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	n = readlink(path, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Bytes: arguments that end with 0. */
static size_t arguments_of(int pid, char *buf, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(buf, 1, size - 1, f);
		fclose(f);
	}
	buf[n] = 0;
	return n;
}

static void put_arguments(const char *buf, size_t n, FILE *out)
{
	for (const char *s = buf; s < buf + n; s += strlen(s) + 1) {
		fputs(s == buf ? "" : " ", out);
		put_word(s, out);
	}
}

void command_of(const json_t *doc, const char *head, FILE *out)
{
	static char args[MOST];
	const int pid = (int)doc_uint(doc, "pid");
	char exe[PATH_MAX], cwd[PATH_MAX];
	size_t n;

	/* A number of another namespace is another program's here. */
	if (!link_of(pid, "exe", exe) || !link_of(pid, "cwd", cwd) ||
	    strcmp(exe, doc_text(doc, "program")) ||
	    !(n = arguments_of(pid, args, sizeof(args)))) {
		fprintf(out, "%s%s ARG...", head, doc_text(doc, "program"));
		return;
	}
	fputs("cd ", out);
	put_word(cwd, out);
	fprintf(out, " && %s", head);
	put_arguments(args, n, out);
}
