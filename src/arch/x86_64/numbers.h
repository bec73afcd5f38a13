/* SPDX-License-Identifier: MIT */
/* numbers.h - system calls of x86-64 alone that are newer than the headers. */
#pragma once

#define FM_ROWS FM_CALLS

#ifndef __NR_uretprobe
#define __NR_uretprobe 335 /* ABI: Linux 6.11 */
#endif
#ifndef __NR_uprobe
#define __NR_uprobe 336 /* ABI: Linux 6.18 */
#endif
