/* SPDX-License-Identifier: MIT */
/*
 * entry.S - aarch64 code that C cannot express: stack switches, and hooks that
 * must not stay on the stack of their caller (vfork returns twice, dlopen
 * looks at its return address, a child of syscall(SYS_clone) returns on
 * another stack). x86_64/entry.S says more of each.
 */
#if !defined(__aarch64__) || !defined(__linux__)
#error "this signal entry is for aarch64 Linux"
#endif

#define BTI_C hint #34

	.macro begin name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	BTI_C
	.endm

	.macro hidden name
	.globl	\name
	.hidden	\name
	begin	\name
	.endm

	.macro public name
	.globl	\name
	begin	\name
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* The frame pointer, the return address, and room behind them. */
	.macro enter size
	stp	x29, x30, [sp, #-\size]!
	.cfi_def_cfa_offset \size
	.cfi_offset x29, -\size
	.cfi_offset x30, -\size + 8
	mov	x29, sp
	.endm

	.macro leave size
	ldp	x29, x30, [sp], #\size
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	.endm

	.text

/* These exact bytes are how unwinders and debuggers recognise a signal frame. */
	.globl	fm_sig_restorer
	.hidden	fm_sig_restorer
	.type	fm_sig_restorer, %function
	.p2align 4
	nop
fm_sig_restorer:
	mov	x8, #139
	svc	#0
	.size	fm_sig_restorer, . - fm_sig_restorer

/*
 * size_t fm_copy_try(void *to, const void *from, size_t n)
 *
 * What is not copied yet is in x2 at each access. By 16 bytes where none can
 * lie across the end of a page.
 */
	.globl	fm_copy_at, fm_copy_end
	.hidden	fm_copy_at, fm_copy_end
	hidden	fm_copy_try
	orr	x9, x0, x1
	tst	x9, #15
	b.ne	2f
fm_copy_at:
1:	subs	x9, x2, #16
	b.lo	2f
	ldp	x10, x11, [x1]
	stp	x10, x11, [x0]
	add	x1, x1, #16
	add	x0, x0, #16
	mov	x2, x9
	b	1b
2:	cbz	x2, fm_copy_end
	ldrb	w10, [x1]
	strb	w10, [x0]
	add	x1, x1, #1
	add	x0, x0, #1
	sub	x2, x2, #1
	b	2b
fm_copy_end:
	mov	x0, x2
	ret
	end	fm_copy_try

/* void fm_sig_entry(int sig, siginfo_t *info, void *uc) */
	hidden	fm_sig_entry
	enter	32
	.cfi_def_cfa_register x29
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -16
	.cfi_offset x20, -8
	mov	x19, x1
	mov	x20, x2
	adrp	x9, :gottprel:fm_sig_stack
	ldr	x9, [x9, #:gottprel_lo12:fm_sig_stack]
	mrs	x10, tpidr_el0
	ldr	x9, [x10, x9]
	cbz	x9, 2f
1:	mov	sp, x9
	mov	w0, #7
	mov	x1, x19
	mov	x2, x20
	bl	fm_sig_resolve
	mov	sp, x29
	cbnz	w0, 3f
0:	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_remember_state
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	.cfi_restore x19
	.cfi_restore x20
	ret
	.cfi_restore_state
2:	bl	fm_sig_stack_new
	mov	x9, sp
	cmp	x0, #0
	csel	x9, x9, x0, eq
	b	1b
3:	mov	w3, w0
	mov	w0, #7
	mov	x1, x19
	mov	x2, x20
	bl	fm_sig_deliver
	b	0b
	end	fm_sig_entry

/* void fm_sig_call_on(sp, handler, sig, info, uc) */
	hidden	fm_sig_call_on
	enter	16
	.cfi_def_cfa_register x29
	and	x9, x0, #-16
	mov	sp, x9
	mov	x9, x1
	mov	w0, w2
	mov	x1, x3
	mov	x2, x4
	blr	x9
	mov	sp, x29
	.cfi_def_cfa_register sp
	leave	16
	ret
	end	fm_sig_call_on

/* pid_t vfork(void) */
	.globl	__vfork
	.set	__vfork, vfork
	public	vfork
	enter	16
	bl	fm_before_vfork
	leave	16
	mov	x16, x0
	br	x16
	end	vfork

/* void *dlopen(const char *file, int mode) */
	public	dlopen
	enter	32
	str	x0, [sp, #16]
	mov	w0, w1
	add	x1, sp, #24
	bl	fm_dlopen_mode
	mov	x16, x0
	ldr	x0, [sp, #16]
	ldr	w1, [sp, #24]
	leave	32
	br	x16
	end	dlopen

/* void *dlmopen(Lmid_t ns, const char *file, int mode) */
	public	dlmopen
	enter	48
	stp	x0, x1, [sp, #16]
	mov	w0, w2
	add	x1, sp, #32
	bl	fm_dlmopen_mode
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldr	w2, [sp, #32]
	leave	48
	br	x16
	end	dlmopen

/* void *dlsym(void *handle, const char *name) */
	public	dlsym
	add	x9, x0, #1
	cmp	x9, #1
	b.ls	1f
	b	fm_dlsym_of
1:	mov	x2, x30
	enter	32
	stp	x0, x1, [sp, #16]
	bl	fm_dlsym_behind
	cbnz	x0, 2f
	bl	fm_dlsym_next
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	.cfi_remember_state
	leave	32
	br	x16
	.cfi_restore_state
2:	leave	32
	ret
	end	dlsym

/* long syscall(long nr, ...): seven longs, all in registers. */
	public	syscall
	adrp	x9, fm_shim_on
	ldrb	w9, [x9, #:lo12:fm_shim_on]
	cbz	w9, 1f
	cmp	x0, #512
	b.hs	1f
	adrp	x9, fm_syscall_hooked
	add	x9, x9, #:lo12:fm_syscall_hooked
	ldrb	w9, [x9, x0]
	cmp	w9, #1
	b.eq	4f
	b.hi	3f
1:	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	svc	#0
	cmn	x0, #4095
	b.hs	2f
	ret
2:	b	fm_syscall_error
3:	enter	80
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	str	x6, [sp, #64]
	bl	fm_syscall_forks
	mov	w9, w0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldr	x6, [sp, #64]
	leave	80
	tbz	w9, #0, 1b
4:	b	fm_syscall_hook
	end	syscall

	.section .note.GNU-stack, "", %progbits
