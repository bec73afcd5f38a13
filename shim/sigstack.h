/* SPDX-License-Identifier: MIT */
/* sigstack.h - the machine-dependent half of fault delivery. */
#pragma once

#include <signal.h>

#define FM_SA_RESTORER 0x04000000

#define FM_HIDDEN __attribute__((visibility("hidden")))

/* entry.S: what the kernel calls, and what it returns through. */
FM_HIDDEN void fm_sig_entry(int sig, siginfo_t *info, void *uc);
FM_HIDDEN void fm_sig_restorer(void);
/* entry.S: handler(sig, info, uc) on the stack that ends at sp. */
FM_HIDDEN void fm_sig_call_on(void *sp, void (*handler)(int), int sig,
			      siginfo_t *info, void *uc);

/* Called by entry.S, on the private stack. 0: return and run the instruction
 * again; else pass this to fm_sig_deliver on the signal frame's stack. */
enum { FM_SIG_DONE = 0, FM_SIG_FAULT, FM_SIG_SENT };
FM_HIDDEN int fm_sig_resolve(int sig, siginfo_t *info, void *uc);
FM_HIDDEN void fm_sig_deliver(int sig, siginfo_t *info, void *uc, int why);

/* Top of this thread's private stack, NULL until the first fault; and the
 * function that provides it (NULL: no memory, use the stack we are on). */
extern FM_HIDDEN _Thread_local void *fm_sig_stack
	__attribute__((tls_model("initial-exec")));
FM_HIDDEN void *fm_sig_stack_new(void);

/* This thread's substitute for an alternate stack; NULL: no memory. */
#define FM_ALT_STACK ((size_t)64 << 10)
FM_HIDDEN char *fm_sig_stack_alt(void);

/* sigthreads.c: 0 when no thread of the process has SIGBUS blocked in the
 * kernel, else -EBUSY. */
FM_HIDDEN int fm_sig_threads_ready(void);
