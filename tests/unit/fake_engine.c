/* SPDX-License-Identifier: MIT */
/*
 * fake_engine.c - the smallest engine behind engine.h, to test the shim alone:
 * every file mapping under FASTMAP_PATHS becomes anonymous memory registered
 * with userfaultfd (signal delivery), pages are read on their first touch and
 * written back by msync, munmap and exit. No eviction, no coherence.
 */
#include "guard.h"
#include "io_stream.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/apart.h"
#include "base/thread.h"

#define MAPS 256
#define PAGE ((size_t)4096)

static struct map {
	_Atomic uintptr_t start, end;
	off_t off;
	int fd, prot;
	bool shared;
} maps[MAPS];
static int uffd = -1;
static struct fm_lock big_lock;
static char prefix[256];
/* Read-only mappings are writable underneath until a page is there, so that
 * FM_FAULT_SEGV is exercised. */
static bool soft_prot;

_Atomic uint32_t fm_live_maps;
_Atomic bool fm_threads;

bool fm_engine_init_asked(void)
{
	return false;
}

void *fm_mmap_asked(void *addr, size_t len, int prot, int flags, int fd,
		    off_t off)
{
	return fm_mmap(addr, len, prot, flags, fd, off);
}

bool fm_engine_init(const char *progname, char **envp)
{
	const char *mode = getenv("FASTMAP_MODE");

	soft_prot = getenv("FAKE_SOFT_PROT");
	if (getenv("FASTMAP_PATHS"))
		strncpy(prefix, getenv("FASTMAP_PATHS"), sizeof(prefix) - 1);
	return prefix[0] && !(mode && !strcmp(mode, "off"));
}

void fm_log(int level, const char *fmt, ...)
{
	if (level <= FM_LOG_WARN)
		fm_sys3(SYS_write, 2, fmt, strlen(fmt));
}

static int start(void)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_SIGBUS };
	fm_up_shim_take_signals *take;
	int fd, r;

	if (uffd >= 0)
		return 0;
	take = FM_UP_ONE(shim_take_signals);
	r = take ? take() : -ENOSYS;
	if (r)
		return r;
	fd = (int)fm_sys1(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	r = fm_sys_ioctl(fd, UFFDIO_API, &api);
	if (r)
		return r;
	uffd = (int)fm_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 700);
	fm_sys_close(fd);
	return 0;
}

bool fm_engine_may_serve(void)
{
	return true;
}

static struct map *find(uintptr_t a)
{
	for (int i = 0; i < MAPS; i++)
		if (a >= maps[i].start && a < maps[i].end)
			return &maps[i];
	return NULL;
}

void fm_warm_unmaps(const void *addr, size_t len)
{
}

void fm_fork_fill(void)
{
}

void fm_fork_opens_less(void)
{
}

void fm_fork_unmaps(const void *addr, size_t len)
{
	(void)addr;
	(void)len;
}

bool fm_overlaps(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	for (int i = 0; i < MAPS; i++)
		if (a < maps[i].end && a + len > maps[i].start)
			return true;
	return false;
}

static bool wanted(int fd, int prot, struct stat *st)
{
	char link[64] = "/proc/self/fd/", path[512], digits[16];
	int n = 0, v = fd;
	ssize_t len;

	if (fd < 0 || (prot & PROT_EXEC) || fm_sys_fstat(fd, st) ||
	    !S_ISREG(st->st_mode))
		return false;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (len = (ssize_t)strlen(link); n;)
		link[len++] = digits[--n];
	len = fm_sys3(SYS_readlink, link, path, sizeof(path) - 1);
	return len > 0 && !memcmp(path, prefix, strlen(prefix));
}

void *fm_mmap_window(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	return NULL;
}

bool fm_short_map_in(const void *addr, size_t len, uint64_t ret[FM_SHORT_MAPS])
{
	return false;
}

void fm_short_map_forget(const uint64_t what[FM_SHORT_MAPS])
{
}

_Atomic uint32_t fm_kranges; /* none, ever */

bool fm_krange_in(const void *addr, size_t len)
{
	return false;
}

uint32_t fm_krange_edit(const void *addr, size_t len)
{
	return 0;
}

void fm_krange_edit_ends(uint32_t edit, const void *addr, size_t len, bool gone)
{
}

void fm_krange_move_begins(struct fm_krange_move *m, void *old, size_t old_len,
			   size_t new_len, int flags, void *new_addr)
{
}

void fm_krange_move_ends(const struct fm_krange_move *m, void *at)
{
}

void fm_krange_one(const void *addr, size_t len)
{
}

void fm_krange_protected(const void *addr, size_t len, int prot)
{
}

bool fm_krange_says(void *addr, size_t len, int advice, int *ret)
{
	return false;
}

_Atomic uint32_t fm_promotable; /* none, ever */

bool fm_data_marked(const void *addr, size_t len)
{
	return false;
}

bool fm_counted_calls_enter(const struct iovec *iov, int n)
{
	return false;
}

void fm_counted_calls_ends(void)
{
}

bool fm_trapped(const void *addr)
{
	return false;
}

void fm_warm_thread_end(void)
{
}

void fm_helper_end(void)
{
}

void fm_krange_kept(const void *addr, size_t len)
{
}

void fm_krange_locked(const void *addr, size_t len)
{
}

void fm_krange_unlocked(const void *addr, size_t len)
{
}

int fm_krange_dontneed(void *addr, size_t len)
{
	return -EINVAL;
}

void fm_short_map_moves(const void *addr, size_t len)
{
}

void fm_close_begins(int fd)
{
}

void fm_close_ends(int fd)
{
}

void fm_seen_fd_closed(void)
{
}

void *fm_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct stat st;
	struct map *m;
	char *p;

	if ((flags & MAP_FIXED) || !wanted(fd, prot, &st) || start())
		return fm_sys_mmap(addr, len, prot, flags, fd, off);
	len = (len + PAGE - 1) & ~(PAGE - 1);
	p = fm_sys_mmap(addr, len, soft_prot ? PROT_READ | PROT_WRITE : prot,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fm_is_err(p))
		return p;
	fm_sys_madvise(p, len, MADV_DONTFORK);
	reg.range.start = (uintptr_t)p;
	reg.range.len = len;
	if (fm_sys_ioctl(uffd, UFFDIO_REGISTER, &reg))
		return (void *)-EIO;
	fm_lock(&big_lock);
	for (m = maps; m->start; m++)
		;
	m->off = off;
	m->fd = (int)fm_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 700);
	m->prot = prot;
	m->shared = flags & MAP_SHARED;
	m->end = (uintptr_t)p + len;
	m->start = (uintptr_t)p;
	fm_unlock(&big_lock);
	fm_live_maps++;
	return p;
}

enum fm_fault_result fm_fault(void *addr, bool write, uintptr_t ip)
{
	static __thread char page[4096] __attribute__((aligned(4096)));
	uintptr_t a = (uintptr_t)addr & ~4095ul;
	struct map *m = find(a);
	struct uffdio_copy copy = { .dst = a, .src = (uintptr_t)page,
				    .len = 4096 };
	ssize_t n;

	if (!m)
		return FM_FAULT_FOREIGN;
	if (write && !(m->prot & PROT_WRITE))
		return FM_FAULT_SEGV;
	memset(page, 0, sizeof(page));
	n = fm_sys_pread(m->fd, page, 4096, m->off + (off_t)(a - m->start));
	if (n <= 0)
		return FM_FAULT_BUS;
	fm_sys_ioctl(uffd, UFFDIO_COPY, &copy);
	return FM_FAULT_RETRY;
}

static void flush(struct map *m)
{
	unsigned char vec;
	struct stat st;

	if (!m->start || !m->shared || !(m->prot & PROT_WRITE) ||
	    fm_sys_fstat(m->fd, &st))
		return;
	for (uintptr_t a = m->start; a < m->end; a += 4096) {
		off_t off = m->off + (off_t)(a - m->start);
		size_t n = 4096;

		if (off >= st.st_size)
			break;
		if (st.st_size - off < (off_t)n)
			n = (size_t)(st.st_size - off);
		if (!fm_sys3(SYS_mincore, a, 4096, &vec) && (vec & 1))
			fm_sys_pwrite(m->fd, (void *)a, n, off);
	}
}

void fm_peers_acquire(void)
{
}

void fm_hear_less(int by)
{
}

void fm_filtered(int by, enum fm_filter kind)
{
}

void fm_files_inherited(enum fm_heir heir, int pid)
{
	(void)heir;
	(void)pid;
}

void fm_engine_flush_all(void)
{
	for (int i = 0; i < MAPS; i++)
		flush(&maps[i]);
}

void fm_engine_flush_for_others(void)
{
	fm_engine_flush_all();
}

void fm_engine_flush_for_fork(void)
{
}

void fm_engine_before_exec(void)
{
}

void fm_engine_waits_for_all(void)
{
}

void fm_engine_exit(void)
{
	fm_engine_flush_all();
}

int fm_munmap(void *addr, size_t len)
{
	struct map *m = find((uintptr_t)addr);

	if (m && m->start == (uintptr_t)addr) {
		flush(m);
		m->end = 0;
		m->start = 0;
		fm_sys_close(m->fd);
		fm_live_maps--;
	}
	return fm_sys_munmap(addr, len);
}

int fm_msync(void *addr, size_t len, int flags)
{
	fm_engine_flush_all();
	return 0;
}

int fm_madvise(void *addr, size_t len, int advice)
{
	return 0;
}

int fm_mprotect(void *addr, size_t len, int prot)
{
	struct map *m = find((uintptr_t)addr);

	if (m)
		m->prot = prot;
	return fm_sys_mprotect(addr, len, prot);
}

int fm_mincore(void *addr, size_t len, unsigned char *vec)
{
	return (int)fm_sys3(SYS_mincore, addr, len, vec);
}

int fm_mlockall(int flags)
{
	return (int)fm_sys1(SYS_mlockall, flags);
}

int fm_munlockall(void)
{
	return (int)fm_sys0(SYS_munlockall);
}

int fm_memory_merge(unsigned long on)
{
	return (int)fm_sys5(SYS_prctl, PR_SET_MEMORY_MERGE, on, 0, 0, 0);
}

int fm_mlock(const void *addr, size_t len, unsigned flags)
{
	return 0;
}

int fm_munlock(const void *addr, size_t len)
{
	return 0;
}

void *fm_mremap(void *old, size_t old_len, size_t new_len, int flags,
		void *new_addr)
{
	return (void *)-ENOMEM;
}

int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags)
{
	return -EINVAL;
}

bool fm_fork_unused(void)
{
	return false;
}

void fm_fork_child_unused(void)
{
}

void fm_fork_prepare(void)
{
	fm_lock(&big_lock);
	fm_engine_flush_all();
}

void fm_fork_parent(void)
{
	fm_unlock(&big_lock);
}

void fm_fork_child(void)
{
	for (int i = 0; i < MAPS; i++) {
		struct map *m = &maps[i];

		if (m->start)
			fm_sys_mmap((void *)m->start, m->end - m->start,
				    m->prot,
				    MAP_FIXED | (m->shared ? MAP_SHARED
							   : MAP_PRIVATE),
				    m->fd, m->off);
		m->start = m->end = 0;
	}
	fm_sys_close(uffd); /* it belongs to the parent's memory */
	uffd = -1;
	fm_live_maps = 0;
	fm_unlock(&big_lock);
}

bool fm_fd_is_ours(int fd)
{
	if (fd < 700)
		return false;
	for (int i = 0; i < MAPS; i++)
		if (maps[i].start && maps[i].fd == fd)
			return true;
	return fd == uffd;
}

void fm_peers_release(void)
{
}

int fm_fd_next(int from)
{
	for (int fd = from < 700 ? 700 : from; fd < 1024; fd++)
		if (fm_fd_is_ours(fd))
			return fd;
	return -1;
}

int fm_demote_range(const void *addr, size_t len, enum fm_server_reason why)
{
	return 0;
}

/* Nothing of the unit tests' is handed to the kernel. */
void *fm_object(struct fm_object *b, const void *user, size_t len, int how)
{
	return (void *)(uintptr_t)user;
}

bool fm_object_end(struct fm_object *b, size_t len)
{
	return true;
}

void *fm_alloc(size_t size)
{
	return calloc(1, size);
}

void fm_free(void *p)
{
	free(p);
}

bool fm_only_thread(void)
{
	return false;
}

void fm_table_parts(void)
{
}

void fm_table_stays(void)
{
}

bool fm_thread_any(void)
{
	return false;
}

int fm_engine_rest(void)
{
	return 0;
}

void fm_engine_no_threads(void)
{
}

/* It has no threads of its own. */
void fm_apart_from_fds(void (*fn)(void *arg), void *arg)
{
	fn(arg);
}

bool fm_thread_without_fds(void)
{
	return false;
}

bool fm_thread_fds_leave_for_good(void)
{
	return false;
}

bool fm_heap_wanted(void)
{
	return false;
}

void fm_heap_found(struct fm_heap_calls *c)
{
}

void fm_heap_copied(void)
{
}

void fm_heap_lay(void)
{
}

void fm_stream_boot(void)
{
}
