/* SPDX-License-Identifier: MIT */
/* why_text.h - who serves a file, why, and what would change that, in words. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Of a file in a document of statistics; some 20 lines at most. */
void why_text(const json_t *stats, const json_t *file, FILE *out);
