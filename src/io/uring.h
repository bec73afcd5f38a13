/* SPDX-License-Identifier: MIT */
/*
 * uring.h - liburing, our copy of it: what makes a ring has names of its own
 * there (uring.redirects), for those of the program are hooks
 * (shim/io_async.c).
 */
#pragma once

#define io_uring_queue_init fm_own_uring_queue_init
#define io_uring_queue_init_params fm_own_uring_queue_init_params
#define io_uring_queue_init_mem fm_own_uring_queue_init_mem
#define io_uring_setup fm_own_uring_setup
#include <liburing.h>
