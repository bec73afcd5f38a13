/* SPDX-License-Identifier: MIT */
/* report.h - the beginning of `fastmap doctor --report`. */
#pragma once

/* Print the machine, its devices, the settings, and the statistics of a process
 * (`live.h` says what WHO may be), or none (NULL). */
void report(const char *version, const char *who);
