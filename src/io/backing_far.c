/* SPDX-License-Identifier: MIT */
/*
 * backing_far.c - sources that take a program of their own to read: a process
 * that we start and that shares memory with us (far.h). What it runs can
 * allocate, block or crash: a fault waits for a word. A child of fork goes on
 * with the process of its parent.
 */
#include "far.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backing.h"
#include "base/apart.h"
#include "base/event.h"
#include "base/fds.h"
#include "base/life.h"
#include "base/pause.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "device.h"
#include "engine.h"
#include "policy.h"
#include "ring_priv.h"
#include "store.h"
#include "tunables.h"

extern const struct fm_backing_kind fm_backing_far;

#define HELPER "fastmap-store"
#define STACK 65536 /* size: bytes */
#define VARIABLES 1024 /* size: of an environment */
#define WAITS 64 /* size: reads that wait for a slot */
#define PART 16 /* unit: of all memory, at most, is for what is read ahead */

struct far {
	struct fm_far *m;
	int sock;
	_Atomic bool gone, told;
	bool pumped; /* a thread of ours takes what was read ahead */
	bool inherited; /* from the parent, whose thread does that */
	unsigned slots; /* that there is memory for */
	const char *text;
	/* of the slots for reading ahead; and what waits for one */
	struct fm_io *_Atomic ahead[FM_FAR_SLOTS], *_Atomic waits[WAITS];
	struct fm_event *bell;
	struct far *next;
};

static struct far *fars;

/* ---- waiting ------------------------------------------------------------- */

static FM_FAULT void far_wake(_Atomic uint32_t *word, int n)
{
	fm_sys4(SYS_futex, word, FUTEX_WAKE, n, NULL);
}

/* A second at most: who waits looks whether the helper lives. */
static FM_FAULT void far_sleep(_Atomic uint32_t *word, uint32_t was)
{
	const struct timespec t = { 1, 0 };

	fm_sys4(SYS_futex, word, FUTEX_WAIT, was, &t);
}

static FM_FAULT bool far_ended(const struct far *f)
{
	struct pollfd p = { .fd = f->sock };
	const struct timespec now = { 0, 0 };

	return !fm_sys_confined() && fm_fd_still_ours(f->sock) &&
	       fm_sys5(SYS_ppoll, &p, 1, &now, NULL, 8) > 0 &&
	       (p.revents & POLLHUP);
}

static FM_FAULT bool far_gone(struct far *f)
{
	if (atomic_load(&f->gone))
		return true;
	if (!far_ended(f))
		return false;
	if (!atomic_exchange(&f->gone, true))
		fm_log(FM_LOG_ERROR, "source %s: its process has ended: what "
		       "was not read yet cannot be", f->text);
	return true;
}

/* As a hard mount: it goes on waiting, and has said so. */
static FM_FAULT void say_waits(struct far *f, const struct fm_wait *w)
{
	if (!fm_wait_on(w) && !atomic_exchange(&f->told, true))
		fm_log(FM_LOG_WARN, "source %s: no answer; waiting for it",
		       f->text);
}

/* ---- slots --------------------------------------------------------------- */

/* A child that was killed may have left it. */
static FM_FAULT void slot_free_left(struct fm_far_slot *t)
{
	uint32_t word = atomic_load(&t->state);
	const uint32_t step = fm_far_step(word);

	if ((step == FM_FAR_CLAIMED || step == FM_FAR_DONE) &&
	    !fm_sys_confined() &&
	    fm_sys2(SYS_kill, word >> FM_FAR_OWNER, 0) == -ESRCH)
		atomic_compare_exchange_strong(&t->state, &word, FM_FAR_FREE);
}

static FM_FAULT int slot_claim(struct far *f, unsigned from, unsigned to)
{
	const uint32_t ours = (uint32_t)fm_sys_getpid() << FM_FAR_OWNER;

	for (unsigned i = from; i < to; i++) {
		uint32_t free = FM_FAR_FREE;

		if (atomic_compare_exchange_strong(&f->m->slot[i].state, &free,
						   ours | FM_FAR_CLAIMED))
			return (int)i;
	}
	return -EBUSY;
}

static FM_FAULT int claim_wait(struct far *f)
{
	const unsigned n = FM_FAR_SLOTS - FM_FAR_AHEAD;
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);

	for (;;) {
		const uint32_t seen = atomic_load(&f->m->freed);
		const int i = slot_claim(f, 0, n);

		if (i >= 0 || far_gone(f))
			return i >= 0 ? i : -EIO;
		far_sleep(&f->m->freed, seen);
		for (unsigned k = 0; k < n; k++)
			slot_free_left(&f->m->slot[k]);
		say_waits(f, &w);
	}
}

static FM_FAULT void slot_post(struct far *f, int i, uint64_t off, uint64_t len)
{
	struct fm_far_slot *t = &f->m->slot[i];

	t->off = off;
	t->len = fm_least(len, FM_FAR_BYTES);
	atomic_store(&t->state,
		     fm_far_next(atomic_load(&t->state), FM_FAR_POSTED));
	atomic_fetch_add(&f->m->posted, 1);
	far_wake(&f->m->posted, 1);
}

static FM_FAULT void slot_free(struct far *f, int i)
{
	atomic_store(&f->m->slot[i].state, FM_FAR_FREE);
	atomic_fetch_add(&f->m->freed, 1);
	far_wake(&f->m->freed, 1);
}

/* What it says is judged: it is another program. */
static FM_FAULT long slot_result(struct far *f, int i, void *buf, uint64_t len)
{
	const long res = f->m->slot[i].res;

	if (res > 0 && (uint64_t)res <= fm_least(len, FM_FAR_BYTES))
		memcpy(buf, fm_far_data(f->m, (unsigned)i), (size_t)res);
	else if (res >= 0)
		return -EIO;
	return res;
}

static FM_FAULT bool slot_done(const struct far *f, unsigned i,
			       uint32_t *ret_word)
{
	*ret_word = atomic_load(&f->m->slot[i].state);
	return fm_far_step(*ret_word) == FM_FAR_DONE;
}

static FM_FAULT long far_read(struct fm_backing *s, void *buf, uint64_t off,
			      uint64_t len)
{
	struct far *f = s->own;
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	const int i = claim_wait(f);
	uint32_t state;
	long res;

	if (i < 0)
		return i;
	slot_post(f, i, off, len);
	while (!slot_done(f, (unsigned)i, &state)) {
		far_sleep(&f->m->slot[i].state, state);
		if (slot_done(f, (unsigned)i, &state))
			break;
		if (far_gone(f))
			return -EIO; /* and nobody needs the slot */
		say_waits(f, &w);
	}
	res = slot_result(f, i, buf, len);
	slot_free(f, i);
	return res;
}

/* ---- what is read ahead -------------------------------------------------- */

static FM_FAULT int ahead_claim(struct far *f)
{
	return slot_claim(f, FM_FAR_SLOTS - FM_FAR_AHEAD, f->slots);
}

static FM_FAULT void ahead_post(struct far *f, int i, struct fm_io *io)
{
	atomic_store(&f->ahead[i], io);
	slot_post(f, i, io->off,
		  fm_least(io->len, (uint64_t)io->file->io->backing->size -
					    io->off));
}

/* Slots are free, perhaps: the first that wait have them. */
static FM_FAULT void ahead_go_on(struct far *f)
{
	for (unsigned k = 0; k < WAITS; k++) {
		struct fm_io *io;
		const int i = atomic_load(&f->waits[k]) ? ahead_claim(f) : 0;

		if (i < 0)
			return;
		io = i ? atomic_exchange(&f->waits[k], NULL) : NULL;
		if (io)
			ahead_post(f, i, io);
		else if (i)
			slot_free(f, i); /* another thread was first */
	}
}

/* All of them are busy. Who lands the last has looked before this, perhaps. */
static FM_FAULT bool ahead_wait(struct far *f, struct fm_io *io)
{
	for (unsigned k = 0; k < WAITS; k++) {
		struct fm_io *none = NULL;

		if (!atomic_compare_exchange_strong(&f->waits[k], &none, io))
			continue;
		ahead_go_on(f);
		return true;
	}
	return false;
}

/* NULL in its place, by one thread. */
static FM_FAULT bool ahead_take(struct fm_io *_Atomic *at, struct fm_io *io)
{
	return io && atomic_compare_exchange_strong(at, &io, NULL);
}

/* The helper has ended: was it too late for who lands what was begun? */
static FM_FAULT bool ahead_missed(struct far *f, struct fm_io *io)
{
	bool ours = false;

	if (!atomic_load(&f->gone))
		return false;
	for (unsigned i = 0; i < FM_FAR_SLOTS && !ours; i++)
		ours = ahead_take(&f->ahead[i], io);
	for (unsigned k = 0; k < WAITS && !ours; k++)
		ours = ahead_take(&f->waits[k], io);
	return ours;
}

/* Its thread goes on with other files meanwhile: a thread of the far's own ends
 * the transfer, and rings. */
static FM_FAULT bool far_begin(struct fm_ring *r, struct fm_io *io)
{
	struct far *f = io->file->io->backing->own;
	const bool may = r->bell && f->pumped && !atomic_load(&f->gone);
	const int i = may ? ahead_claim(f) : -EBUSY;

	f->bell = may ? r->bell : f->bell;
	if (i >= 0)
		ahead_post(f, i, io);
	if ((i < 0 && (!may || !ahead_wait(f, io))) || ahead_missed(f, io))
		fm_ring_finish(r, io, -EBUSY);
	return false;
}

static void ahead_end(struct far *f, struct fm_io *io, long res)
{
	io->res = (int32_t)res;
	fm_device_end(io);
	__atomic_store_n(&io->done, true, __ATOMIC_RELEASE);
	fm_event_raise(f->bell);
}

static void far_land(struct far *f, unsigned i, bool gone)
{
	struct fm_io *io = atomic_load(&f->ahead[i]);
	uint32_t word;
	const bool done = slot_done(f, i, &word);
	long res = -EIO;

	if (!(done || gone) || !ahead_take(&f->ahead[i], io))
		return;
	if (done) {
		res = slot_result(f, (int)i, io->buf, io->len);
		slot_free(f, (int)i);
	}
	ahead_end(f, io, res);
}

/* What waits is not begun any more. */
static void ahead_give_up(struct far *f)
{
	for (unsigned k = 0; k < WAITS; k++) {
		struct fm_io *io = atomic_load(&f->waits[k]);

		if (ahead_take(&f->waits[k], io))
			ahead_end(f, io, -EIO);
	}
}

static void *far_pump(void *arg)
{
	struct far *f = arg;
	struct pollfd p[2] = { { .fd = f->sock, .events = POLLIN } };
	bool gone = false;
	char byte[64];

	fm_thread_begin("fastmap-far");
	while (!gone) {
		atomic_store(&f->m->pump, 1);
		gone = far_gone(f);
		for (unsigned i = FM_FAR_SLOTS - FM_FAR_AHEAD;
		     i < FM_FAR_SLOTS; i++)
			far_land(f, i, gone);
		if (gone)
			ahead_give_up(f);
		else
			ahead_go_on(f);
		if (!gone)
			fm_thread_poll(p, 1, -1);
		if (p[0].revents & POLLIN)
			fm_sys6(SYS_recvfrom, f->sock, (long)byte, sizeof(byte),
				MSG_DONTWAIT, 0, 0);
	}
	return NULL;
}

static void pump_start(struct far *f)
{
	fm_thread_will_poll();
	f->pumped = !fm_thread_create(far_pump, f);
}

static int pumps_start(void)
{
	for (struct far *f = fars; f; f = f->next)
		if (!f->pumped && !f->inherited)
			pump_start(f);
	return 0;
}

/* The socket's bytes are the parent's thread's. */
static void far_forked(void)
{
	for (struct far *f = fars; f; f = f->next) {
		f->pumped = false;
		f->inherited = true;
		memset(&f->ahead, 0, sizeof(f->ahead));
		memset(&f->waits, 0, sizeof(f->waits));
	}
}

FM_LIFE(far, .level = FM_LIFE_HELPERS, .start = pumps_start,
	.forked = far_forked)

/* ---- the process --------------------------------------------------------- */

struct helper_start {
	const char *exe, *source;
	char *stack;
	const char **env;
	int memory, sock;
	long err;
};

/* Memory is shared until it executes the helper, descriptors are not. */
static void far_become(void *arg)
{
	struct helper_start *st = arg;
	const char *argv[] = { HELPER, st->source, NULL };
	const uint64_t none = 0;
	int null = fm_sys_open("/dev/null", O_RDWR, 0);

	fm_sys3(SYS_dup3, null, 0, 0);
	fm_sys3(SYS_dup3, null, 1, 0);
	st->memory = (int)fm_sys3(SYS_fcntl, st->memory, F_DUPFD, 16);
	st->sock = (int)fm_sys3(SYS_fcntl, st->sock, F_DUPFD, 16);
	fm_sys3(SYS_dup3, st->memory, FM_FAR_MEMORY, 0);
	fm_sys3(SYS_dup3, st->sock, FM_FAR_SOCKET, 0);
	fm_sys3(SYS_close_range, FM_FAR_SOCKET + 1, ~0u, 0);
	fm_sys0(SYS_setsid); /* not the terminal's: ^C is the program's */
	fm_sys4(SYS_rt_sigprocmask, 2, &none, NULL, 8);
	st->err = fm_sys3(SYS_execve, st->exe, argv, st->env);
}

/* Made by one that ends at once, so that it is no child of the program's. */
static void far_make(void *arg)
{
	struct helper_start *st = arg;
	long pid = fm_sys_clone_on(CLONE_VM | CLONE_VFORK, st->stack + STACK,
				   far_become, st, NULL, NULL);

	if (pid < 0)
		st->err = pid;
}

/* Not preloaded itself. */
static void far_env(const char **env)
{
	unsigned n = 0;

	for (char **e = environ; e && *e && n + 1 < VARIABLES; e++)
		if (strncmp(*e, "LD_", 3) && strncmp(*e, "FASTMAP_", 8))
			env[n++] = *e;
	env[n] = NULL;
}

/* Beside the library, or in a folder of ours there. */
static bool far_exe(char *buf, size_t size)
{
	const char *lib = &fm_library ? fm_library : NULL;
	const char *end = lib ? strrchr(lib, '/') : NULL;
	char dir[4096];

	if (!end || (size_t)(end - lib) + 2 > sizeof(dir))
		return false;
	memcpy(dir, lib, (size_t)(end - lib) + 1);
	dir[end - lib + 1] = 0;
	return (!fm_join(buf, size, dir, "fastmap/", HELPER) &&
		fm_exists(buf)) ||
	       (!fm_join(buf, size, dir, HELPER, "") && fm_exists(buf));
}

static long far_spawn(const char *source, int memory, int sock)
{
	static const char *env[VARIABLES]; /* one is opened at a time */
	char exe[4200];
	struct helper_start st = { .exe = exe, .source = source, .env = env,
				   .memory = memory, .sock = sock };
	int err;

	if (!far_exe(exe, sizeof(exe)))
		return -ENOENT;
	st.stack = fm_sys_anon(STACK);
	if (!st.stack)
		return -ENOMEM;
	far_env(env);
	err = fm_apart(far_make, &st);
	fm_sys_munmap(st.stack, STACK);
	return err ? err : st.err;
}

static int far_why(struct fm_backing *s, const char *why, int err)
{
	fm_join(s->why, sizeof(s->why), why, "", "");
	return err;
}

/* Until it has opened what it is to read. */
static int far_ready(struct fm_backing *s, struct far *f)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	uint32_t state;

	while ((state = atomic_load(&f->m->state)) == FM_FAR_STARTS) {
		far_sleep(&f->m->state, state);
		if (far_ended(f) && atomic_load(&f->m->state) == FM_FAR_STARTS)
			return far_why(s, "its process has ended", -EIO);
		say_waits(f, &w);
	}
	if (state == FM_FAR_READY && f->m->magic == FM_FAR_MAGIC &&
	    f->m->size >= 0)
		return 0;
	f->m->why[sizeof(f->m->why) - 1] = 0;
	return far_why(s, f->m->why, f->m->err > 0 ? -f->m->err : -EIO);
}

static int far_memory(struct far *f)
{
	int fd = (int)fm_sys2(SYS_memfd_create, "fastmap-far", 1 /* CLOEXEC */);
	void *p;

	if (fd < 0)
		return fd;
	p = fm_sys3(SYS_ftruncate, fd, FM_FAR_ALL, 0) ? NULL :
	    fm_sys_far_map(FM_FAR_ALL, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   0);
	if (!p || fm_is_err(p)) {
		fm_sys_close(fd);
		return -ENOMEM;
	}
	f->m = p;
	f->m->magic = FM_FAR_MAGIC;
	f->m->memory = fm_memory_limit();
	f->slots = FM_FAR_SLOTS - FM_FAR_AHEAD + 1 +
		   (unsigned)fm_least(f->m->memory / PART / FM_FAR_BYTES,
				      FM_FAR_AHEAD - 1);
	return fd;
}

static int far_start(struct fm_backing *s, struct far *f)
{
	int pair[2] = { -1, -1 }, memory = far_memory(f);
	long err = memory < 0 ? memory :
		fm_sys4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			pair);

	if (!err) {
		f->sock = fm_fd_raise(pair[0]);
		err = far_spawn(s->text, memory, pair[1]);
		fm_sys_close(pair[1]);
	}
	if (memory >= 0)
		fm_sys_close(memory);
	if (err)
		return far_why(s, "cannot start " HELPER, (int)err);
	return far_ready(s, f);
}

static int far_open(struct fm_backing *s, const char *where)
{
	static unsigned minor;
	struct far *f = fm_sys_confined() ? NULL : fm_alloc(sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->sock = -1;
	f->text = s->text;
	err = far_start(s, f);
	if (err) {
		if (f->sock >= 0)
			fm_fd_drop(f->sock);
		if (f->m)
			fm_sys_munmap(f->m, FM_FAR_ALL);
		fm_free(f);
		return err;
	}
	s->size = f->m->size;
	s->dev = makedev(0, 1u << 19 | ++minor); /* nobody else's */
	s->own = f;
	f->next = fars;
	fars = f;
	if (fm_life_running())
		pump_start(f);
	return 0;
}

static struct fm_backing_io calls FM_FAULT_CALLS = {
	.read = far_read,
	.begin = far_begin,
};

const struct fm_backing_kind fm_backing_far = {
	.prefix = "", /* the helper knows which there are */
	.open = far_open,
	.io = &calls,
};
