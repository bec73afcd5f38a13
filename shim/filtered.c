/* SPDX-License-Identifier: MIT */
/*
 * filtered.c - would a filter of seccomp let a fault pass?
 *
 * Who is refused what brings a page in gets SIGBUS there, or is ended. So the
 * filter is run here, as the kernel runs it, for each call that a fault makes,
 * before it is in place. And for those that hand a file over: where it could
 * not be, none is for the sake of a filter that follows.
 */
#include "shim.h"
#include "user.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define CALL(name, ...) { .nr = __NR_##name, .args = { __VA_ARGS__ } }
#define RW (PROT_READ | PROT_WRITE)

/* With arguments of their kind. */
static const struct seccomp_data needed[] = {
	CALL(ioctl, 3, UFFDIO_COPY), CALL(io_uring_enter, 3, 1, 1),
	CALL(pread64, 3), CALL(pwrite64, 3),
	CALL(futex, 0, FUTEX_WAIT_PRIVATE), CALL(futex, 0, FUTEX_WAKE_PRIVATE),
	CALL(madvise, 0, 4096, MADV_DONTNEED),
	CALL(mmap, 0, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, UINT32_MAX),
	CALL(munmap, 0, 4096), CALL(mprotect, 0, 4096, RW), CALL(sched_yield),
	CALL(fstat, 3), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(getpid),
	CALL(gettid),
};

/* What hands a file over cannot do without, */
static const struct seccomp_data laying[] = {
	CALL(mremap, 0, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED),
	CALL(mmap, 0, 4096, RW, MAP_SHARED | MAP_FIXED, 3), CALL(statx, 3),
	CALL(close, 3),
};

/* and where an error will do. */
static const struct seccomp_data asking[] = {
	CALL(fcntl, 3, F_OFD_SETLK), CALL(openat, 3), CALL(getdents64, 3),
	CALL(readlinkat, 3), CALL(fstatfs, 3), CALL(prlimit64), CALL(prctl),
	CALL(io_uring_register, 3), CALL(fanotify_mark, 3), CALL(kcmp),
	CALL(ppoll), CALL(wait4), CALL(clone, SIGCHLD), CALL(capget),
	CALL(geteuid), CALL(clock_gettime),
};

struct machine {
	const struct seccomp_data *d;
	uint32_t a, x, m[BPF_MEMWORDS];
};

static uint32_t filtered_load(const struct machine *m, uint16_t code,
			      uint32_t k)
{
	uint32_t word = 0;

	switch (BPF_MODE(code)) {
	case BPF_IMM:
		return k;
	case BPF_MEM:
		return m->m[k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof(*m->d);
	default:
		if (k <= sizeof(*m->d) - sizeof(word))
			memcpy(&word, (const char *)m->d + k, sizeof(word));
		return word;
	}
}

static uint32_t compute(uint32_t a, uint16_t code, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31); /* as the kernel has it */
	case BPF_RSH:
		return a >> (b & 31);
	default:
		return -a; /* BPF_NEG */
	}
}

/* By how many it goes on beyond the next. */
static uint32_t jump(uint32_t a, const struct sock_filter *f, uint32_t b)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		return a == b ? f->jt : f->jf;
	case BPF_JGT:
		return a > b ? f->jt : f->jf;
	case BPF_JGE:
		return a >= b ? f->jt : f->jf;
	default:
		return a & b ? f->jt : f->jf; /* BPF_JSET */
	}
}

/* One that is no jump, and not the last. */
static void step(struct machine *m, const struct sock_filter *f, uint32_t b)
{
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
		m->a = filtered_load(m, f->code, f->k);
		break;
	case BPF_LDX:
		m->x = filtered_load(m, f->code, f->k);
		break;
	case BPF_ST:
		m->m[f->k % BPF_MEMWORDS] = m->a;
		break;
	case BPF_STX:
		m->m[f->k % BPF_MEMWORDS] = m->x;
		break;
	case BPF_ALU:
		m->a = compute(m->a, f->code, b);
		break;
	case BPF_MISC:
		if (BPF_MISCOP(f->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		break;
	}
}

/* The program's filter, piece by piece. */
struct pieces {
	const struct sock_filter *at;
	size_t n, first;
	struct sock_filter piece[64];
};

/* NULL: it is not there. */
static const struct sock_filter *at(struct pieces *p, size_t i)
{
	const size_t most = sizeof(p->piece) / sizeof(p->piece[0]);

	if (i >= p->n)
		return NULL;
	if (i - p->first >= most) {
		const size_t n = fm_least(p->n - i, most);

		p->first = i;
		if (!fm_user_read(p->piece, p->at + i, n * sizeof(*p->at)))
			return NULL;
	}
	return &p->piece[i - p->first];
}

/* The kernel ends a filter there, and says 0. */
static bool by_zero(const struct sock_filter *f, uint32_t b)
{
	return BPF_CLASS(f->code) == BPF_ALU && BPF_OP(f->code) == BPF_DIV &&
	       !b;
}

static uint32_t filter_answer(struct pieces *p,
			      const struct seccomp_data *d)
{
	struct machine m = { .d = d };
	const struct sock_filter *f;

	for (size_t i = 0; (f = at(p, i)); i++) {
		const uint32_t b = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

		if (BPF_CLASS(f->code) == BPF_RET)
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		if (by_zero(f, b))
			return SECCOMP_RET_KILL_THREAD;
		if (BPF_CLASS(f->code) == BPF_JMP)
			i += jump(m.a, f, b);
		else
			step(&m, f, b);
	}
	return SECCOMP_RET_ALLOW; /* the kernel takes no such program */
}

static bool passes(uint32_t answer, bool error_will_do)
{
	const uint32_t action = answer & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (error_will_do && action == SECCOMP_RET_ERRNO);
}

static bool pass_all(struct pieces *p, const struct seccomp_data *calls,
		     size_t n, bool error_will_do)
{
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		struct seccomp_data d = calls[i];

		d.arch = FM_ARCH_AUDIT;
		all &= passes(filter_answer(p, &d), error_will_do);
	}
	return all;
}

#define PASS(p, calls, e) \
	pass_all(p, calls, sizeof(calls) / sizeof(*(calls)), e)

bool fm_filter_refuses(const void *filter, bool *ret_stays)
{
	struct pieces p = { .first = BPF_MAXINSNS };
	struct sock_fprog program;

	*ret_stays = false;
	if (!filter || !fm_user_read(&program, filter, sizeof(program)))
		return false;
	p.at = program.filter;
	p.n = program.len;
	*ret_stays = !PASS(&p, laying, false) || !PASS(&p, asking, true);
	return !PASS(&p, needed, false);
}
