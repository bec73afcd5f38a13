/* SPDX-License-Identifier: MIT */
/* said.h - what a process has said of its settings, for what it executes. */
#pragma once

#include <stdbool.h>

/* [plain] Has this process, before it executed this program, or one that it
 * descends from said `text` of `what`? From now on it has. Some system calls:
 * only when there is something to say. */
bool fm_said_before(const char *runtime_dir, const char *what,
		    const char *text);
