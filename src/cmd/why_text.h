/* SPDX-License-Identifier: MIT */
/* why_text.h - who serves a file, why, and what would change that, in words. */
#ifndef FM_CMD_WHY_TEXT_H
#define FM_CMD_WHY_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Of a file in a document of statistics; some 20 lines at most. */
void why_text(const json_t *stats, const json_t *file, FILE *out);

#endif
