/* SPDX-License-Identifier: MIT */
/*
 * entry.S - x86-64 code that C cannot express: stack switches, and hooks that
 * must not stay on the stack of their caller (vfork returns twice, dlopen
 * looks at its return address, a child of syscall(SYS_clone) returns on
 * another stack).
 */
#if !defined(__x86_64__) || !defined(__linux__)
#error "libfastmap's signal entry exists for x86-64 Linux only"
#endif

	.text

/* void fm_sig_restorer(void): these exact bytes are how unwinders and
 * debuggers recognise a signal frame. */
	.globl	fm_sig_restorer
	.hidden	fm_sig_restorer
	.type	fm_sig_restorer, @function
	.p2align 4
	nop
fm_sig_restorer:
	movq	$15, %rax
	syscall
	.size	fm_sig_restorer, . - fm_sig_restorer

/*
 * size_t fm_copy_try(void *to, const void *from, size_t n)
 *
 * Returns how much is left where an access raised a signal for good: fm_sig_resolve
 * then lets it go on at fm_copy_end. The kernel keeps rcx up to date.
 */
	.globl	fm_copy_try, fm_copy_at, fm_copy_end
	.hidden	fm_copy_try, fm_copy_at, fm_copy_end
	.type	fm_copy_try, @function
	.p2align 4
fm_copy_try:
	.cfi_startproc
	endbr64
	movq	%rdx, %rcx
fm_copy_at:
	rep movsb
fm_copy_end:
	movq	%rcx, %rax
	ret
	.cfi_endproc
	.size	fm_copy_try, . - fm_copy_try

/*
 * void fm_sig_entry(int sig, siginfo_t *info, void *uc)
 *
 * All signals are blocked, so nothing nests. The frame may lie on an
 * alternate stack with hardly any room: resolve the fault on a private stack,
 * and come back here before code of the program runs.
 */
	.globl	fm_sig_entry
	.hidden	fm_sig_entry
	.type	fm_sig_entry, @function
	.p2align 4
fm_sig_entry:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq	%rbx
	.cfi_offset %rbx, -24
	pushq	%r12
	.cfi_offset %r12, -32
	movq	%rsi, %rbx
	movq	%rdx, %r12
	movq	fm_sig_stack@gottpoff(%rip), %rax
	movq	%fs:(%rax), %rax
	testq	%rax, %rax
	jz	2f
1:	movq	%rax, %rsp
	movl	$7, %edi
	movq	%rbx, %rsi
	movq	%r12, %rdx
	call	fm_sig_resolve
	leaq	-16(%rbp), %rsp
	testl	%eax, %eax
	jnz	3f
0:	popq	%r12
	popq	%rbx
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
2:	andq	$-16, %rsp
	call	fm_sig_stack_new
	testq	%rax, %rax
	cmovzq	%rsp, %rax
	jmp	1b
3:	andq	$-16, %rsp
	movl	%eax, %ecx
	movl	$7, %edi
	movq	%rbx, %rsi
	movq	%r12, %rdx
	call	fm_sig_deliver
	leaq	-16(%rbp), %rsp
	jmp	0b
	.cfi_endproc
	.size	fm_sig_entry, . - fm_sig_entry

/* void fm_sig_call_on(sp, handler, sig, info, uc) */
	.globl	fm_sig_call_on
	.hidden	fm_sig_call_on
	.type	fm_sig_call_on, @function
	.p2align 4
fm_sig_call_on:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rdi
	movq	%rdi, %rsp
	movq	%rsi, %rax
	movl	%edx, %edi
	movq	%rcx, %rsi
	movq	%r8, %rdx
	call	*%rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	fm_sig_call_on, . - fm_sig_call_on

/* pid_t vfork(void): write dirty data back, so that the program which the
 * child executes reads what the parent has stored, then jump. */
	.globl	vfork, __vfork
	.type	vfork, @function
	.type	__vfork, @function
	.p2align 4
vfork:
__vfork:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_def_cfa_offset 16
	call	fm_before_vfork
	addq	$8, %rsp
	.cfi_def_cfa_offset 8
	jmp	*%rax
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - __vfork

/* void *dlopen(const char *file, int mode): libc searches the RUNPATH of the
 * module that calls, so the return address must stay the caller's. */
	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_def_cfa_offset 16
	movl	%esi, %edi
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	leaq	8(%rsp), %rsi
	call	fm_dlopen_mode
	movl	8(%rsp), %esi
	addq	$16, %rsp
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	jmp	*%rax
	.cfi_endproc
	.size	dlopen, . - dlopen

/* void *dlmopen(Lmid_t ns, const char *file, int mode) */
	.globl	dlmopen
	.type	dlmopen, @function
	.p2align 4
dlmopen:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_def_cfa_offset 16
	pushq	%rsi
	.cfi_def_cfa_offset 24
	movl	%edx, %edi
	subq	$8, %rsp
	.cfi_def_cfa_offset 32
	movq	%rsp, %rsi
	call	fm_dlmopen_mode
	movl	(%rsp), %edx
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
	popq	%rsi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	jmp	*%rax
	.cfi_endproc
	.size	dlmopen, . - dlmopen

/* void *dlsym(void *handle, const char *name): what RTLD_DEFAULT (0) and RTLD_NEXT
 * (-1) mean depends on the caller, so the return address must stay the caller's. */
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	leaq	1(%rdi), %rax
	cmpq	$1, %rax
	ja	fm_dlsym_of
	pushq	%rdi
	.cfi_def_cfa_offset 16
	pushq	%rsi
	.cfi_def_cfa_offset 24
	movq	16(%rsp), %rdx
	subq	$8, %rsp
	.cfi_def_cfa_offset 32
	call	fm_dlsym_behind
	testq	%rax, %rax
	jnz	4f
	call	fm_dlsym_next
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
	popq	%rsi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	jmp	*%rax
4:	.cfi_def_cfa_offset 32
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	dlsym, . - dlsym

/* long syscall(long nr, ...): seven longs, in the registers and the stack slot
 * of an ordinary C call, so that the numbers we know go to C by a jump. Not while the
 * library is inert: the kernel's, then, from the first instruction on. */
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmpb	$0, fm_shim_on(%rip)
	je	1f
	cmpq	$512, %rdi
	jae	1f
	leaq	fm_syscall_hooked(%rip), %rax
	movzbl	(%rax,%rdi), %eax
	cmpl	$1, %eax
	je	fm_syscall_hook
	ja	3f
1:	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	2f
	ret
2:	movq	%rax, %rdi
	jmp	fm_syscall_error
3:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	fm_syscall_forks
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testb	%al, %al
	jnz	fm_syscall_hook
	jmp	1b
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
