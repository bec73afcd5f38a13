/* SPDX-License-Identifier: MIT */
/*
 * waiters.h - threads that wait for a page of what the kernel serves, and since
 * when.
 *
 * Nothing tells that of a fault before it is over. But who is in one fault at
 * two looks was in it all the time between. Of a program with many threads some
 * are asked, for each costs a few system calls. [plain]
 */
#pragma once

#include <stdint.h>

/* A look: once a second where nothing is read, and when somebody asks. */
void fm_waiters_look(void);
/* Milliseconds that the longest of them has waited, as far as looks have seen
 * it. 0: none does. */
uint64_t fm_waiters_ms(void);
