/* SPDX-License-Identifier: MIT */
/*
 * arch.h - all that depends on the processor. Each has a folder with the same
 * files, of which the build takes one:
 *
 *	call.h    a system call without libc
 *	numbers.h system calls that not every processor has
 *	thread.h  clone(2) onto a stack, the thread pointer
 *	frame.h   the registers of who was interrupted by a signal
 *	jump.h    what others write over the beginning of a function
 *	entry.S   what C cannot express: stack switches, hooks that must not
 *	          stay on the stack of their caller
 *
 * Pages have 4096 bytes (FM_PAGE), and addresses of the program 47 bits, or
 * nothing is served (process/engine.c asks).
 */
#pragma once

#define FM_ARCH_BITS 47 /* bits: of an address that we serve */
#define FM_ARCH_END ((uintptr_t)1 << FM_ARCH_BITS) /* ABI: of them */

#include "numbers.h"

#if !defined(__linux__)
#error "libfastmap is for Linux"
#elif defined(__x86_64__)
#include "x86_64/call.h"
#include "x86_64/frame.h"
#include "x86_64/jump.h"
#include "x86_64/thread.h"
#elif defined(__aarch64__)
#include "aarch64/call.h"
#include "aarch64/frame.h"
#include "aarch64/jump.h"
#include "aarch64/thread.h"
#else
#error "no folder for this processor in src/arch"
#endif
