/* SPDX-License-Identifier: MIT */
/* summary.h - one line at the end of a program: what the library did for it. */
#pragma once

/* [plain] If there is something to say, and somebody who wants it. */
void fm_summary(void);
