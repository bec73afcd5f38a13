/* SPDX-License-Identifier: MIT */
/*
 * numbers.h - system calls that others have, and functions of libc are named
 * after: rows of shim/calls.def, whose numbers the kernel does not know.
 */
#pragma once

/* clang-format off */
enum {
	__NR_open = FM_CALLS, __NR_stat, __NR_lstat, __NR_poll, __NR_access,
	__NR_pipe, __NR_select, __NR_dup2, __NR_pause, __NR_alarm, __NR_fork,
	__NR_vfork, __NR_getdents, __NR_rename, __NR_mkdir, __NR_rmdir,
	__NR_creat, __NR_link, __NR_unlink, __NR_symlink, __NR_readlink,
	__NR_chmod, __NR_chown, __NR_lchown, __NR_getpgrp, __NR_utime,
	__NR_mknod, __NR_uselib, __NR_ustat, __NR_sysfs, __NR_modify_ldt,
	__NR__sysctl, __NR_arch_prctl, __NR_iopl, __NR_ioperm,
	__NR_create_module, __NR_get_kernel_syms, __NR_query_module,
	__NR_getpmsg, __NR_putpmsg, __NR_afs_syscall, __NR_tuxcall,
	__NR_security, __NR_time, __NR_set_thread_area, __NR_get_thread_area,
	__NR_epoll_create, __NR_epoll_ctl_old, __NR_epoll_wait_old,
	__NR_epoll_wait, __NR_utimes, __NR_vserver, __NR_inotify_init,
	__NR_futimesat, __NR_signalfd, __NR_eventfd, __NR_uretprobe,
	__NR_uprobe, FM_ROWS
};
/* clang-format on */
