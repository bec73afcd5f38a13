/* SPDX-License-Identifier: MIT */
/* Any bytes as a line to the control socket: what is parsed lies within it. */
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "fuzz.h"

static void part(struct fm_request *r)
{
	struct fm_file_part p = { 0 };
	const char *end = r->args + strlen(r->args);

	if (fm_request_part(r, &p)) {
		if (p.path < r->args || p.path >= end || *p.path != '/' ||
		    !p.len || p.off + p.len < p.off || r->answer.len)
			abort();
	} else if (r->answer.len < 8 || memcmp(r->answer.text, "error: ", 7) ||
		   r->answer.text[r->answer.len - 1] != '\n') {
		abort();
	}
}

FM_CONTROL(fuzz, .word = "fuzz", .args = "[OFFSET LENGTH] FILE", .run = part,
	   .help = "nothing")
FM_CONTROL(echo, .word = "fuzz-too", .args = "", .run = part, .help = "nothing")

static void check(const struct fm_control *c, struct fm_request *r,
		  const char *line, size_t size)
{
	const size_t n = strlen(r->args);

	if (r->args < line || r->args + n > line + size || *r->args == ' ' ||
	    (n && r->args[n - 1] == ' '))
		abort();
	if (!strncmp(c->word, "fuzz", 4))
		c->run(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct fm_request r = { .fd = -1 };
	const struct fm_control *c;

	if (size < FM_CONTROL_LINE) {
		memcpy(line, data, size);
		line[size] = 0;
		c = fm_control_parse(line, &r);
		if (c)
			check(c, &r, line, size);
	}
	fm_json_free(&r.answer);
	free(line);
	return 0;
}
