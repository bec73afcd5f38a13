/* SPDX-License-Identifier: MIT */
/* frame.h - the registers of who was interrupted by a signal. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define FM_ARCH_ELF EM_X86_64 /* e_machine of a program for it */
#define FM_ARCH_LIBC "GLIBC_2.2.5" /* the first version of its names */
#define FM_ARCH_AUDIT AUDIT_ARCH_X86_64 /* as filters of seccomp see it */
#define FM_ARCH_USER_END (((uintptr_t)1 << 47) - 4096) /* ABI: of addresses */
#define FM_ARCH_RED_ZONE 128 /* ABI: bytes below the stack that are in use */
#define FM_ARCH_WRITE 2	     /* ABI: of a page fault's error code */

/* [fault] */
static inline uintptr_t fm_arch_ip(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

/* [fault] Where it goes on. */
static inline void fm_arch_go_to(ucontext_t *uc, uintptr_t ip)
{
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
}

/* [fault] */
static inline uintptr_t fm_arch_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

/* [fault] Of a fault: was it a store? */
static inline bool fm_arch_stores(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_ERR] & FM_ARCH_WRITE;
}
