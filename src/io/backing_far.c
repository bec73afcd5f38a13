/* SPDX-License-Identifier: MIT */
/*
 * backing_far.c - sources that take a program of their own to read: a process
 * that we start and that shares memory with us (far.h). What it runs can
 * allocate, block, crash or write nonsense: a fault waits for a word, and what
 * is no answer to what was asked is an I/O error. A child of fork goes on with
 * the process of its parent.
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

#include "answers.h"
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

/* Which slots are taken. Shared with children of fork, not with the helper. */
struct far_claims {
	_Atomic uint32_t freed; /* futex: how many slots have been */
	struct far_claim {
		_Atomic uint32_t owner; /* process, or 0 */
		_Atomic uint32_t turn;
		_Atomic bool posted; /* in this turn */
		uint32_t len;        /* asked for */
	} slot[FM_FAR_SLOTS];
};

struct far {
	struct fm_far *m;
	struct far_claims *claims;
	int sock;
	_Atomic bool gone, told;
	bool pumped; /* a thread of ours takes what was read ahead */
	bool inherited; /* from the parent, whose thread does that */
	unsigned slots; /* that there is memory for */
	const char *text, *path;
	_Atomic uint64_t since_ms[FM_FAR_SLOTS]; /* for reading ahead: posted */
	/* of the slots for reading ahead: who wants the answer, or `nobody`;
	 * and what waits for a slot */
	struct fm_io *_Atomic ahead[FM_FAR_SLOTS], *_Atomic waits[WAITS];
	struct fm_event *bell;
	struct far *next;
};

static struct far *fars;
static struct fm_io nobody;

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

static FM_FAULT void far_stop(struct far *f, const char *why)
{
	if (!atomic_exchange(&f->gone, true))
		fm_log(FM_LOG_ERROR, "source %s: its process has %s: what was "
		       "not read yet cannot be", f->text, why);
}

static FM_FAULT bool far_gone(struct far *f)
{
	if (!atomic_load(&f->gone) && far_ended(f))
		far_stop(f, "ended");
	return atomic_load(&f->gone);
}

/* As a hard mount: it goes on waiting, and has said so. */
static FM_FAULT void say_silent(struct far *f)
{
	if (!atomic_exchange(&f->told, true))
		fm_log(FM_LOG_WARN, "%s: its source %s has not answered for "
		       "%u s, and who reads it waits: what it reads from is "
		       "away or slow; to have an error instead (SIGBUS, EIO), "
		       "end its " HELPER, f->path, f->text,
		       (fm_tune.patience_ms + 999) / 1000);
}

static FM_FAULT bool say_waits(struct far *f, const struct fm_wait *w)
{
	const bool late = !fm_wait_on(w);

	if (late)
		say_silent(f);
	return late;
}

/* It has answered one that was late: the next one is said again. */
static FM_FAULT void far_speaks(struct far *f, bool late)
{
	if (late)
		atomic_store(&f->told, false);
}

/* ---- slots --------------------------------------------------------------- */

static FM_FAULT uint32_t slot_word(const struct far_claim *c, uint32_t step)
{
	return atomic_load(&c->turn) << FM_FAR_TURN | step;
}

/* What it has to be from the post on, until it is done. */
static FM_FAULT bool slot_under_way(const struct far_claim *c, uint32_t word)
{
	return word == slot_word(c, FM_FAR_POSTED) ||
	       word == slot_word(c, FM_FAR_BUSY);
}

/* A child that was killed may have left it. */
static FM_FAULT void slot_free_left(struct far *f, unsigned i)
{
	struct far_claim *c = &f->claims->slot[i];
	uint32_t owner = atomic_load(&c->owner);

	if (owner && !slot_under_way(c, atomic_load(&f->m->slot[i].state)) &&
	    !fm_sys_confined() && fm_sys2(SYS_kill, owner, 0) == -ESRCH)
		atomic_compare_exchange_strong(&c->owner, &owner, 0);
}

static FM_FAULT int slot_claim(struct far *f, unsigned from, unsigned to)
{
	const uint32_t ours = (uint32_t)fm_sys_getpid();

	for (unsigned i = from; i < to; i++) {
		struct far_claim *c = &f->claims->slot[i];
		uint32_t nobody = 0;

		if (!atomic_compare_exchange_strong(&c->owner, &nobody, ours))
			continue;
		atomic_store(&c->posted, false);
		return (int)i;
	}
	return -EBUSY;
}

static FM_FAULT int claim_wait(struct far *f)
{
	const unsigned n = FM_FAR_SLOTS - FM_FAR_AHEAD;
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);

	for (;;) {
		const uint32_t seen = atomic_load(&f->claims->freed);
		const int i = slot_claim(f, 0, n);

		if (i >= 0 || far_gone(f))
			return i >= 0 ? i : -EIO;
		far_sleep(&f->claims->freed, seen);
		for (unsigned k = 0; k < n; k++)
			slot_free_left(f, k);
		say_waits(f, &w);
	}
}

static FM_FAULT void slot_post(struct far *f, int i, uint64_t off, uint64_t len)
{
	struct fm_far_slot *t = &f->m->slot[i];
	struct far_claim *c = &f->claims->slot[i];

	t->off = off;
	t->len = c->len = (uint32_t)fm_least(len, FM_FAR_BYTES);
	atomic_fetch_add(&c->turn, 1);
	atomic_store(&t->state, slot_word(c, FM_FAR_POSTED));
	atomic_store(&c->posted, true);
	atomic_fetch_add(&f->m->posted, 1);
	far_wake(&f->m->posted, 1);
}

static FM_FAULT void slot_free(struct far *f, int i)
{
	atomic_store(&f->claims->slot[i].owner, 0);
	atomic_fetch_add(&f->claims->freed, 1);
	far_wake(&f->claims->freed, 1);
}

/* Another program says it: all that was asked for, or why not. */
static FM_FAULT long slot_result(struct far *f, int i, void *buf)
{
	const long res = atomic_load(&f->m->slot[i].res);
	const uint32_t len = f->claims->slot[i].len;

	if (res != (long)len)
		return -fm_far_errno((int)-res);
	memcpy(buf, fm_far_data(f->m, (unsigned)i), len);
	return res;
}

/* Nobody but its owner asks. Who finds another word has a helper that writes
 * where it should not, and nothing that it says is believed from then on. */
static FM_FAULT bool slot_done(struct far *f, unsigned i, uint32_t *ret_word)
{
	const struct far_claim *c = &f->claims->slot[i];
	const bool posted = atomic_load(&c->posted);

	*ret_word = atomic_load(&f->m->slot[i].state);
	if (posted && *ret_word == slot_word(c, FM_FAR_DONE))
		return true;
	if (posted && !slot_under_way(c, *ret_word))
		far_stop(f, "answered what nobody asked");
	return false;
}

static FM_FAULT long far_read(struct fm_backing *s, void *buf, uint64_t off,
			      uint64_t len)
{
	struct far *f = s->own;
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	const int i = claim_wait(f);
	bool late = false;
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
		late |= say_waits(f, &w);
	}
	far_speaks(f, late);
	res = slot_result(f, i, buf);
	slot_free(f, i);
	return res;
}

/* ---- what is read ahead -------------------------------------------------- */

static FM_FAULT int ahead_claim(struct far *f)
{
	return slot_claim(f, FM_FAR_SLOTS - FM_FAR_AHEAD, f->slots);
}

/* Once it is shown it may be cancelled, and used for something else. */
static FM_FAULT void ahead_post(struct far *f, int i, struct fm_io *io)
{
	const uint64_t off = io->off, most =
		(uint64_t)io->file->io->backing->size - off;
	const uint64_t len = fm_least(io->len, most);

	atomic_store(&f->since_ms[i], fm_now_ms());
	atomic_store(&f->ahead[i], io);
	slot_post(f, i, off, len);
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

/* Another in its place, by one thread: from then on io is that one's. */
static FM_FAULT bool ahead_put(struct fm_io *_Atomic *at, struct fm_io *io,
			       struct fm_io *other)
{
	return io && atomic_compare_exchange_strong(at, &io, other);
}

static FM_FAULT bool ahead_take(struct fm_io *_Atomic *at, struct fm_io *io)
{
	return ahead_put(at, io, NULL);
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

static FM_FAULT void ahead_end(struct far *f, struct fm_io *io, long res)
{
	io->res = (int32_t)res;
	fm_device_end(io);
	fm_answers_end(io);
	__atomic_store_n(&io->done, true, __ATOMIC_RELEASE);
	fm_event_raise(f->bell);
}

/* Who waits for what is read ahead waits in another room, and says nothing. One
 * that nobody wants any more keeps others from a slot. */
static void ahead_look(struct far *f, unsigned i, const struct fm_io *io,
		       bool done)
{
	const uint64_t since = atomic_load(&f->since_ms[i]);
	const bool late = io && fm_now_ms() > since + fm_tune.patience_ms;

	if (late && !done)
		say_silent(f);
	far_speaks(f, late && done);
}

static void far_land(struct far *f, unsigned i, bool gone)
{
	struct fm_io *io = atomic_load(&f->ahead[i]);
	uint32_t word;
	const bool done = io && slot_done(f, i, &word);
	long res = -EIO;

	ahead_look(f, i, io, done || gone);
	if (!(done || gone) || !ahead_take(&f->ahead[i], io))
		return;
	if (done) {
		res = io == &nobody ? 0 : slot_result(f, (int)i, io->buf);
		slot_free(f, (int)i);
	}
	if (io != &nobody)
		ahead_end(f, io, res);
}

/* What has been asked for goes on, with its slot, until it is answered. */
static FM_FAULT void far_cancel(struct fm_backing *s, struct fm_io *io)
{
	struct far *f = s->own;
	bool ours = false;

	for (unsigned i = 0; i < FM_FAR_SLOTS && !ours; i++)
		ours = ahead_put(&f->ahead[i], io, &nobody);
	for (unsigned k = 0; k < WAITS && !ours; k++)
		ours = ahead_take(&f->waits[k], io);
	if (ours)
		ahead_end(f, io, -ECANCELED);
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

/* It rings when something has landed. But it may be broken, and what was asked
 * for just now is seen at the next look. */
static int pump_ms(const struct far *f)
{
	for (unsigned i = 0; i < FM_FAR_SLOTS; i++)
		if (atomic_load(&f->ahead[i]))
			return 1000;
	return (int)fm_tune.patience_ms;
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
			fm_thread_poll(p, 1, pump_ms(f));
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
		f->told = false;
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

/* In one line, whatever it has written. */
static void far_says(const struct far *f, char why[sizeof(f->m->why)])
{
	memcpy(why, f->m->why, sizeof(f->m->why));
	why[sizeof(f->m->why) - 1] = 0;
	for (char *c = why; *c; c++)
		*c = *c > 0 && *c < ' ' ? '?' : *c;
}

/* Until it has opened what it is to read. */
static int far_ready(struct fm_backing *s, struct far *f)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	char why[sizeof(f->m->why)];
	uint32_t state;
	int err;

	while ((state = atomic_load(&f->m->state)) == FM_FAR_STARTS) {
		far_sleep(&f->m->state, state);
		if (far_ended(f) && atomic_load(&f->m->state) == FM_FAR_STARTS)
			return far_why(s, "its process has ended", -EIO);
		say_waits(f, &w);
	}
	s->size = atomic_load(&f->m->size);
	if (state == FM_FAR_READY && s->size >= 0 && s->size <= FM_FAR_MOST)
		return 0;
	far_says(f, why);
	err = atomic_load(&f->m->err);
	return far_why(s, why, err > 0 && err < 4096 ? -err : -EIO);
}

/* Sealed: memory that the helper made shorter would be SIGBUS. */
static struct fm_far *far_map(int fd)
{
	void *p = NULL;

	if (!fm_sys3(SYS_ftruncate, fd, FM_FAR_ALL, 0) &&
	    !fm_sys3(SYS_fcntl, fd, F_ADD_SEALS,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = fm_sys_far_map(FM_FAR_ALL, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, 0);
	return p && !fm_is_err(p) ? p : NULL;
}

static int far_memory(struct far *f)
{
	const int fd = (int)fm_sys2(SYS_memfd_create, "fastmap-far",
				    MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return fd;
	f->claims = fm_sys_far_map(sizeof(*f->claims), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fm_is_err(f->claims))
		f->claims = NULL;
	f->m = f->claims ? far_map(fd) : NULL;
	if (!f->m) {
		fm_sys_close(fd);
		return -ENOMEM;
	}
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

static void far_drop(struct far *f)
{
	if (f->sock >= 0)
		fm_fd_drop(f->sock);
	if (f->m)
		fm_sys_munmap(f->m, FM_FAR_ALL);
	if (f->claims)
		fm_sys_munmap(f->claims, sizeof(*f->claims));
	fm_free(f);
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
	f->path = s->path;
	err = far_start(s, f);
	if (err) {
		far_drop(f);
		return err;
	}
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
	.cancel = far_cancel,
};

const struct fm_backing_kind fm_backing_far = {
	.prefix = "", /* the helper knows which there are */
	.open = far_open,
	.io = &calls,
};
