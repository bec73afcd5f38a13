/* SPDX-License-Identifier: MIT */
/* frame.h - the registers of who was interrupted by a signal. */
#pragma once

#include <asm/sigcontext.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define FM_ARCH_ELF EM_AARCH64 /* e_machine of a program for it */
#define FM_ARCH_LIBC "GLIBC_2.17" /* the first version of its names */
#define FM_ARCH_AUDIT AUDIT_ARCH_AARCH64 /* as filters of seccomp see it */
#define FM_ARCH_USER_END ((uintptr_t)1 << 48) /* ABI: of addresses */
#define FM_ARCH_RED_ZONE 0 /* ABI: bytes below the stack that are in use */
#define FM_ARCH_WNR (1u << 6) /* ABI: of a data abort's syndrome: a store */
#define FM_ARCH_CM (1u << 8)  /* ABI: cache maintenance, which says WnR, too */

/* [fault] */
static inline uintptr_t fm_arch_ip(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.pc;
}

/* [fault] Where it goes on. */
static inline void fm_arch_go_to(ucontext_t *uc, uintptr_t ip)
{
	uc->uc_mcontext.pc = ip;
}

/* [fault] */
static inline uintptr_t fm_arch_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.sp;
}

/* The records behind the registers; they end with one of no length. */
static inline const struct esr_context *fm_arch_esr(const ucontext_t *uc)
{
	const char *at = (const char *)uc->uc_mcontext.__reserved;
	const char *end = at + sizeof(uc->uc_mcontext.__reserved);

	while (at + sizeof(struct esr_context) <= end) {
		const struct _aarch64_ctx *c = (const void *)at;

		if (c->magic == ESR_MAGIC)
			return (const void *)at;
		if (!c->size)
			break;
		at += c->size;
	}
	return NULL;
}

/* [fault] Of a fault: was it a store? What is not known may have been one. */
static inline bool fm_arch_stores(const ucontext_t *uc)
{
	const struct esr_context *c = fm_arch_esr(uc);

	return !c || ((c->esr & FM_ARCH_WNR) && !(c->esr & FM_ARCH_CM));
}
