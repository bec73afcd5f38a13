/* SPDX-License-Identifier: MIT */
/*
 * numbers.h - numbers of the system calls of shim/calls.def that the headers do
 * not have: they are older than the call, whose number is the same on every
 * processor, or the processor lacks it (its own numbers.h). FM_CALLS is more
 * than the kernel's numbers, FM_ROWS more than all.
 */
#pragma once

#include <sys/syscall.h>

#define FM_CALLS 512 /* ABI: as many as entry.S asks about */

#if defined(__x86_64__)
#include "x86_64/numbers.h"
#elif defined(__aarch64__)
#include "aarch64/numbers.h"
#endif

#ifndef __NR_cachestat
#define __NR_cachestat 451 /* ABI: Linux 6.5 */
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* ABI: Linux 6.6 */
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453 /* ABI: Linux 6.6 */
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454 /* ABI: Linux 6.7 */
#endif
#ifndef __NR_futex_wait
#define __NR_futex_wait 455 /* ABI: Linux 6.7 */
#endif
#ifndef __NR_futex_requeue
#define __NR_futex_requeue 456 /* ABI: Linux 6.7 */
#endif
#ifndef __NR_statmount
#define __NR_statmount 457 /* ABI: Linux 6.8 */
#endif
#ifndef __NR_listmount
#define __NR_listmount 458 /* ABI: Linux 6.8 */
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459 /* ABI: Linux 6.8 */
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460 /* ABI: Linux 6.8 */
#endif
#ifndef __NR_lsm_list_modules
#define __NR_lsm_list_modules 461 /* ABI: Linux 6.8 */
#endif
#ifndef __NR_mseal
#define __NR_mseal 462 /* ABI: Linux 6.10 */
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463 /* ABI: Linux 6.13 */
#endif
#ifndef __NR_getxattrat
#define __NR_getxattrat 464 /* ABI: Linux 6.13 */
#endif
#ifndef __NR_listxattrat
#define __NR_listxattrat 465 /* ABI: Linux 6.13 */
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466 /* ABI: Linux 6.13 */
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467 /* ABI: Linux 6.15 */
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468 /* ABI: Linux 6.17 */
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469 /* ABI: Linux 6.17 */
#endif
#ifndef __NR_listns
#define __NR_listns 470 /* ABI: Linux 6.19 */
#endif
#ifndef SYS_mseal
#define SYS_mseal __NR_mseal
#endif
