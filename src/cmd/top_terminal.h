/* SPDX-License-Identifier: MIT */
/* top_terminal.h - apart, because term.h defines words such as "columns". */
#pragma once

/* 0, or -1 and a line on stderr. */
int top_terminal_check(void);
