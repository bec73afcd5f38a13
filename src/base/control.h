/* SPDX-License-Identifier: MIT */
/*
 * control.h - what a running process can be asked by the control socket.
 *
 * Each file that has something to be asked says so itself, whatever its room:
 *
 *	static void run(struct fm_request *r)
 *	{
 *		if (save(r->args))
 *			fm_answer_error(r, "%s: no such file", r->args);
 *		else
 *			fm_answer_ok(r, "%u pages", saved);
 *	}
 *
 *	FM_CONTROL(save, .word = "save", .args = "[FILE]", .run = run,
 *		   .help = "what is hot now, for a warm start", .job = true)
 *
 * An entry is an upcall (up.h). One line comes in, "WORD ARGS"; the answer is
 * one line, "ok ..." or "error: ...", or one JSON document, which the function
 * writes into r->answer. Afterwards the connection ends.
 *
 * A function runs in the control thread, with no lock: what takes longer than
 * some 10 ms is a job. Jobs run in a thread of their own, one after the other,
 * and say now and then how far they are (fm_answer_progress). Both are threads
 * of ours (thread.h): [plain], and nothing of libc that allocates or locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "up.h"

/* Bytes of a line with its end: a word, two numbers and the longest path. */
#define FM_CONTROL_LINE 4352

struct fm_request {
	char *args; /* behind the word, without spaces around; never NULL */
	struct fm_json answer;
	/* A job's: where progress goes (-1: nowhere), when (ms) and whether it
	 * was heard last. */
	int fd;
	uint64_t told_ms;
	bool left;
};

struct fm_control {
	const char *word;
	const char *args; /* for help: "SIZE", "[OFFSET LENGTH] FILE", "" */
	const char *help; /* half a line, from a small letter on */
	void (*run)(struct fm_request *r);
	bool job;
};

#define FM_CONTROL(name, ...)                                             \
	static const struct fm_control control_##name = { __VA_ARGS__ };  \
	FM_UP(control, control_##name)

FM_UP_STRUCT(const struct fm_control, control);

/* [plain] The command that the line begins with, or NULL; then its arguments
 * are in r->args, and end where the line does. */
const struct fm_control *fm_control_parse(char *line, struct fm_request *r);
/* [plain] The next command after `at` by the alphabet (NULL: the first); NULL:
 * no more. */
const struct fm_control *fm_control_next(const struct fm_control *at);

/* [plain] The whole answer, with the conversions of fm_log. The end of the line
 * is added, to "ok" and what follows it a space. */
void fm_answer_ok(struct fm_request *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void fm_answer_error(struct fm_request *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* [plain] In a job: `done` of `total`, in whatever unit; often is fine. False:
 * the client has gone, and nobody wants the rest. */
bool fm_answer_progress(struct fm_request *r, uint64_t done, uint64_t total);

/* [plain] For commands on a part of a file: "[OFFSET LENGTH] PATH", numbers in
 * bytes, the path absolute; without numbers from 0 to UINT64_MAX. The answer
 * has been given when it says false. */
struct fm_file_part {
	char *path;
	uint64_t off, len;
};
bool fm_request_part(struct fm_request *r, struct fm_file_part *ret);
