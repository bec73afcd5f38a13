/* SPDX-License-Identifier: MIT */
/* io_stream.h - streams of files whose bytes come from a source. */
#pragma once

#include <stdio.h>

/* fopen of such a file. NULL and errno. */
FILE *fm_stream_open(const char *path, const char *mode);
/* freopen, where the new file, or without a path the old one, is such a one. */
FILE *fm_stream_again(const char *path, const char *mode, FILE *fp);
/* At the start: the program may have been given one as its standard input. */
void fm_stream_boot(void);
