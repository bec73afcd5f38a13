/* SPDX-License-Identifier: MIT */
/*
 * calls.h - hooks that libc's syscall() enters, too, by their numbers. Each has
 * the arguments of the function; with `raw` the kernel is behind it, without it
 * the next definition of its name (FM_PASS_VIA). Results are libc's: -1 and
 * errno.
 */
#ifndef FM_CALLS_H
#define FM_CALLS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* mm.c */
void *fm_do_mmap(bool raw, void *addr, size_t len, int prot, int flags, int fd,
		 off_t off);
void *fm_do_mremap(bool raw, void *old, size_t old_len, size_t new_len,
		   int flags, void *new_addr);
void *fm_do_map_asked(void *addr, size_t len, int prot, int flags, int fd,
		      off_t off);
int fm_do_munmap(bool raw, void *addr, size_t len);
int fm_do_msync(bool raw, void *addr, size_t len, int flags);
int fm_do_madvise(bool raw, void *addr, size_t len, int advice);
int fm_do_mprotect(bool raw, void *addr, size_t len, int prot);
int fm_do_pkey_mprotect(bool raw, void *addr, size_t len, int prot, int pkey);
int fm_do_mincore(bool raw, void *addr, size_t len, unsigned char *vec);
int fm_do_mlock(bool raw, const void *addr, size_t len);
int fm_do_mlock2(bool raw, const void *addr, size_t len, unsigned int flags);
int fm_do_mseal(bool raw, void *addr, size_t len, unsigned long flags);
int fm_do_munlock(bool raw, const void *addr, size_t len);
int fm_do_mlockall(bool raw, int flags);
int fm_do_munlockall(bool raw);
int fm_do_remap_file_pages(bool raw, void *addr, size_t size, int prot, size_t
			   pgoff, int flags);
ssize_t fm_do_process_madvise(bool raw, int pidfd, const struct iovec *iov,
			      size_t n, int advice, unsigned int flags);

/* shm.c */
void *fm_do_shmat(bool raw, int id, const void *addr, int flags);
int fm_do_shmdt(bool raw, const void *addr);

/* parted.c: before a call with flags of which `which` takes descriptors from
 * those who share them. Returns the flags that it needs; fm_table_stays is to
 * be called where it fails if the engine was told. */
int fm_part_files(int flags, int which, bool *ret_told);
extern _Atomic bool fm_files_shared; /* with another process */
int fm_do_unshare(bool raw, int flags);
int fm_do_setns(bool raw, int fd, int type);

/* fd.c */
int fm_do_close(bool raw, int fd);
int fm_do_close_range(bool raw, unsigned int first, unsigned int last, int
		      flags);

/* exec.c */
int fm_do_execve(bool raw, const char *path, char *const argv[],
		 char *const envp[]);
int fm_do_execveat(bool raw, int fd, const char *path, char *const argv[],
		   char *const envp[], int flags);

/* io_rw.c */
ssize_t fm_do_read(bool raw, int fd, void *buf, size_t n);
ssize_t fm_do_write(bool raw, int fd, const void *buf, size_t n);
ssize_t fm_do_pread(bool raw, int fd, void *buf, size_t n, off_t off);
ssize_t fm_do_pwrite(bool raw, int fd, const void *buf, size_t n, off_t off);
off_t fm_do_lseek(bool raw, int fd, off_t off, int whence);

/* io_vec.c */
ssize_t fm_do_readv(bool raw, int fd, const struct iovec *iov, int cnt);
ssize_t fm_do_writev(bool raw, int fd, const struct iovec *iov, int cnt);
ssize_t fm_do_preadv(bool raw, int fd, const struct iovec *iov, int cnt, off_t
		     off);
ssize_t fm_do_pwritev(bool raw, int fd, const struct iovec *iov, int cnt, off_t
		      off);
ssize_t fm_do_preadv2(bool raw, int fd, const struct iovec *iov, int cnt, off_t
		      off, int flags);
ssize_t fm_do_pwritev2(bool raw, int fd, const struct iovec *iov, int cnt, off_t
		       off, int flags);
ssize_t fm_do_vmsplice(bool raw, int fd, const struct iovec *iov, size_t cnt,
		       unsigned flags);
ssize_t fm_do_process_vm_readv(bool raw, pid_t pid, const struct iovec *l,
			       unsigned long ln, const struct iovec *r, unsigned
			       long rn, unsigned long flags);
ssize_t fm_do_process_vm_writev(bool raw, pid_t pid, const struct iovec *l,
				unsigned long ln, const struct iovec *r,
				unsigned long rn, unsigned long flags);

/* io_size.c */
int fm_do_ftruncate(bool raw, int fd, off_t len);
int fm_do_truncate(bool raw, const char *path, off_t len);
int fm_do_fallocate(bool raw, int fd, int mode, off_t off, off_t len);
int fm_do_fsync(bool raw, int fd);
int fm_do_fdatasync(bool raw, int fd);
int fm_do_sync_file_range(bool raw, int fd, off64_t off, off64_t len, unsigned
			  flags);
int fm_do_syncfs(bool raw, int fd);
void fm_do_sync(bool raw);

/* io_copy.c */
ssize_t fm_do_sendfile(bool raw, int out, int in, off_t *off, size_t len);
ssize_t fm_do_copy_file_range(bool raw, int in, off64_t *in_off, int out,
			      off64_t *out_off, size_t len, unsigned flags);
ssize_t fm_do_splice(bool raw, int in, off64_t *in_off, int out, off64_t
		     *out_off, size_t len, unsigned flags);

/* io_ioctl.c */
int fm_do_ioctl(bool raw, int fd, unsigned long req, void *arg);

/* io_net.c */
ssize_t fm_do_sendmsg(bool raw, int fd, const struct msghdr *msg, int flags);
int fm_do_sendmmsg(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags);
ssize_t fm_do_recvmsg(bool raw, int fd, struct msghdr *msg, int flags);
int fm_do_recvmmsg(bool raw, int fd, struct mmsghdr *v, unsigned n, int flags,
		   struct timespec *timeout);

/* io_open.c; `at`: openat was called */
int fm_do_creat(bool raw, const char *path, mode_t mode);
int fm_do_open(bool raw, bool at, int dirfd, const char *path, int flags,
	       mode_t mode);

/* altstack.c */
int fm_do_sigaltstack(bool raw, const stack_t *ss, stack_t *old);

/* proc.c */
int fm_do_prctl(bool raw, int option, const unsigned long a[4]);

/* io_args.c: a limit that may concern us is about to be set. */
struct rlimit;
void fm_note_limit(pid_t pid, int what, const struct rlimit *set);

#endif
