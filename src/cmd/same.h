/* SPDX-License-Identifier: MIT */
/*
 * same.h - files that a program writes, which must come out alike. Each run
 * begins with what they held before the first: a copy lies beside a file while
 * the command runs.
 */
#pragma once

#include <md5.h>
#include <stdbool.h>


struct same {
	const char *path;
	char *copy;            /* NULL: there was no file */
	char before[MD5_DIGEST_STRING_LENGTH]; /* "": none */
	char now[MD5_DIGEST_STRING_LENGTH];
};

/* 0, or -1 and a line on stderr. */
int same_keep(struct same *s);
int same_put_back(struct same *s);
/* What it holds now; "" of a file that is not there. */
int same_look(struct same *s);
/* The copy goes; the file is left as the last run has left it. */
void same_end(struct same *s);
