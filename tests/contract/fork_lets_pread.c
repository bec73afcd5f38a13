/* SPDX-License-Identifier: MIT */
/* X12 without io_uring. */
/* env: FASTMAP_URING=0 */
#include "fork_lets_go.c"
