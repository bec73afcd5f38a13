/* SPDX-License-Identifier: MIT */
#include "uffd_deadlock.h"

#include "base/epoch.h"
#include "base/life.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "fault.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"
#include "uffd_poison.h"

static struct slot {
	_Atomic uintptr_t addr;
	_Atomic uint32_t tid, phase;
	_Atomic uint64_t since_ms;
} slots[FM_HANDLERS];
static _Atomic uint32_t again_tid;
static _Atomic uint64_t freed_ms;

void fm_deadlock_begin(unsigned i, uintptr_t a, uint32_t tid)
{
	fm_load_phase = &slots[i].phase;
	atomic_store(&slots[i].tid, tid);
	atomic_store(&slots[i].since_ms, fm_now_ms());
	atomic_store(&slots[i].addr, a);
}

void fm_deadlock_end(unsigned i)
{
	atomic_store(&slots[i].addr, 0);
}

bool fm_deadlock_lately(void)
{
	return fm_now_ms() - atomic_load(&freed_ms) <
	       FM_SECOND_MS;
}

/* Calls that use memory while they hold the lock of the file that is their
 * first argument. */
static bool locks_file(long nr)
{
	static const short calls[] = {
		SYS_read, SYS_write, SYS_ioctl, SYS_pread64, SYS_pwrite64,
		SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_preadv2,
		SYS_pwritev2,
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* Which file the thread's system call is about. False: it is in none of
 * these. */
static bool works_on(uint32_t tid, struct stat *st)
{
	struct fm_proc_call c;
	char name[12];

	fm_number_text(name, tid);
	return fm_proc_syscall(name, &c) && locks_file(c.nr) &&
	       !fm_sys_fstat((int)c.arg[0], st);
}

/* The page is there, and its handler, which has locked it, asks for a block of
 * it. */
static bool let_store(struct slot *s, struct fm_map *m, uintptr_t a)
{
	uint64_t i = (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
	uint8_t mode = fm_mode(m, i);
	uint32_t v = FM_LOAD_ALLOCATES;
	bool can;

	if (!atomic_compare_exchange_strong(&s->phase, &v, FM_LOAD_LENT))
		return false;
	can = m->shared &&
	      (mode & (PM_PRESENT | PM_COW | PM_LAZY)) == PM_PRESENT &&
	      atomic_load(&s->addr) == a;
	if (can) {
		fm_fault_mark_dirty(m, i);
		fm_mode_set(m, i, mode | PM_WRITABLE);
		can = !fm_uffd_protect((void *)a, FM_PAGE, false);
	}
	atomic_store(&s->phase, FM_LOAD_ALLOCATES);
	return can;
}

static void uffd_deadlock_say(struct fm_file *f)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		fm_log(FM_LOG_WARN,
		       "%s: a system call that passes libc by works on "
		       "this file and on its mapping at once, and holds its "
		       "lock: stores get no block, or it gets EFAULT",
		       f->path);
}

static void free_it(struct slot *s, uintptr_t a)
{
	FM_IN_EPOCH();
	struct fm_map *m = fm_space_find(a);
	struct fm_file *f = m ? m->file : NULL;
	struct stat st;

	if (f && works_on(atomic_load(&s->tid), &st) && st.st_ino == f->ino &&
	    st.st_dev == f->dev && atomic_load(&s->addr) == a &&
	    (let_store(s, m, a) || !fm_poison_deadlock(m, a))) {
		uffd_deadlock_say(f);
		atomic_store(&again_tid, atomic_load(&s->tid));
		atomic_store(&freed_ms, fm_now_ms());
		fm_uffd_wake((void *)a, FM_PAGE);
	}
}

void fm_deadlock_look(void)
{
	static _Atomic uint64_t last;
	uint64_t now = fm_now_ms(), before = atomic_load(&last);

	if (now - before < (fm_deadlock_lately() ?
				    fm_tune.uffd_poison_fail_ms / 2 :
				    FM_SECOND_MS) ||
	    !atomic_compare_exchange_strong(&last, &before, now))
		return;
	for (unsigned i = 0; i < FM_HANDLERS; i++) {
		uintptr_t a = atomic_load(&slots[i].addr);

		uint64_t patience =
			atomic_load(&slots[i].tid) == atomic_load(&again_tid) &&
					fm_deadlock_lately() ?
				fm_tune.uffd_poison_fail_ms :
				fm_tune.patience_ms;

		if (!a || now < atomic_load(&slots[i].since_ms) + patience)
			continue;
		atomic_store(&slots[i].since_ms, now);
		free_it(&slots[i], a);
	}
}
