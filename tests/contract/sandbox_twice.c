/* SPDX-License-Identifier: MIT */
/* X06f: a thread confines itself to what faults call, and then by a filter that
 * refuses a part of that; it goes on using pages that are in memory. And by
 * filters that count as the kernel does: by shifts, and a division by zero. */
#include "filter.h"

#define PAGES 64ul

static const int allowed[] = {
	SYS_ioctl, SYS_io_uring_enter, SYS_pread64, SYS_pwrite64, SYS_futex,
	SYS_madvise, SYS_sched_yield, SYS_fstat, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_getpid, SYS_gettid, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_clock_gettime, SYS_exit_group, SYS_prctl,
};
static const int rings[] = { SYS_io_uring_enter };
#define N (sizeof(allowed) / sizeof(*allowed))

static volatile unsigned char *map_it(void)
{
	int fd = ct_file("twice", 4 * PAGES * PAGE);
	volatile unsigned char *p;

	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = (void *)ct_map(fd, 4 * PAGES * PAGE, RW, MAP_SHARED, 0);
	p[0] = 5;
	return p;
}

static int twice(void *other)
{
	volatile unsigned char *p = map_it();

	ct_filter(allowed, N, SECCOMP_RET_ALLOW, *(unsigned *)other, 0);
	ct_filter(rings, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW, 0);
	syscall(SYS_exit_group, p[0] != 5);
	__builtin_unreachable();
}

#define OP(code, k) BPF_STMT(code, k)
#define ALU(op) OP(BPF_ALU | (op) | BPF_X, 0)
#define IF(op, k) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, 0, 1)

/* An error for io_uring_enter alone, or as good as. */
static struct sock_filter shift[] = {
	OP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 5),
	OP(BPF_MISC | BPF_TAX, 0),
	OP(BPF_LD | BPF_IMM, 1),
	ALU(BPF_LSH),
	IF(BPF_JSET, 1u << (SYS_io_uring_enter & 31)),
	OP(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	OP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_filter zero[] = {
	OP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 2),
	OP(BPF_LDX | BPF_IMM, 0),
	ALU(BPF_DIV),
	OP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int counts(void *prog)
{
	volatile unsigned char *p = map_it();
	int wrong = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog))
		ct_die("seccomp");
	for (size_t i = 4 * PAGES - 1; i > PAGES; i -= 7)
		wrong += p[i * PAGE] != ct_byte(i * PAGE);
	syscall(SYS_exit_group, wrong + (p[0] != 5));
	__builtin_unreachable();
}

int main(int argc, char **argv)
{
	unsigned death = SECCOMP_RET_KILL_PROCESS;
	unsigned error = SECCOMP_RET_ERRNO | EPERM;
	struct sock_fprog by_shift = { sizeof(shift) / sizeof(*shift), shift };
	struct sock_fprog by_zero = { sizeof(zero) / sizeof(*zero), zero };

	ct_begin(argc, argv);
	say("X06f death, and fewer: %d", ct_child(twice, &death));
	say("X06f an error, and fewer: %d", ct_child(twice, &error));
	say("X06f a shift: %d", ct_child(counts, &by_shift));
	say("X06f by zero: %d", ct_child(counts, &by_zero));
	return 0;
}
