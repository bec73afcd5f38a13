/* SPDX-License-Identifier: MIT */
#include "backing.h"

#include <string.h>
#include <sys/stat.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "engine.h"
#include "policy.h"

/* The first that fits. */
#define KINDS(X) X(files) X(far)

#define DECLARE(name) extern const struct fm_backing_kind fm_backing_##name;
#define ENTRY(name) &fm_backing_##name,

KINDS(DECLARE)
static const struct fm_backing_kind *const kinds[] = { KINDS(ENTRY) };

_Atomic bool fm_backings_any;
static struct fm_backing *sources;
static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);

void fm_backings_begin(void)
{
	atomic_store(&fm_backings_any,
		     fm_policy_sources() && fm_settings()->mode == FM_MODE_ON);
}

static struct fm_backing *source_find(const char *text)
{
	struct fm_backing *s = sources;

	while (s && strcmp(s->text, text))
		s = s->next;
	return s;
}

static struct fm_backing *source_new(const char *text, const char *path)
{
	struct fm_backing *s = fm_alloc(sizeof(*s));

	if (!s)
		return NULL;
	fm_join(s->path, sizeof(s->path), path, "", "");
	s->text = text; /* sets are kept, and so are their texts */
	for (size_t i = 0; !s->kind && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(text, kinds[i]->prefix, strlen(kinds[i]->prefix)))
			s->kind = kinds[i];
	s->next = sources;
	sources = s;
	return s;
}

/* Tried anew each time: what was missing may have come. */
static int open_source(struct fm_backing *s)
{
	int err;

	if (s->open)
		return 0;
	*s->why = 0;
	err = s->kind ? s->kind->open(s, s->text + strlen(s->kind->prefix)) :
			-EINVAL;
	s->open = !err;
	if (err && !s->told)
		fm_log(FM_LOG_ERROR, "source %s: %s, errno %d: %s", s->text,
		       *s->why ? s->why : "cannot be opened", -err,
		       fm_error_text(-err));
	s->told = err;
	return err;
}

struct fm_backing *fm_backing_of(const char *text, const char *path,
				 int *ret_err)
{
	struct fm_backing *s;

	FM_HOLD(&lock);
	s = source_find(text);
	if (!s)
		s = source_new(text, path);
	*ret_err = s ? open_source(s) : -ENOMEM;
	return *ret_err ? NULL : s;
}

FM_FAULT long fm_backing_read(struct fm_backing *s, void *buf, uint64_t off,
			     uint64_t len)
{
	long res = 0;

	if (off >= (uint64_t)s->size)
		return 0;
	if (len > (uint64_t)s->size - off)
		len = (uint64_t)s->size - off;
	if (len)
		res = s->kind->io->read(s, buf, off, len);
	return len && (!res || res > (long)len) ? -EIO : res;
}

/* ---- for the shim -------------------------------------------------------- */

/* Only an empty file is looked at any further: all others have their bytes. */
struct fm_backing *fm_backing_by_fd(int fd, int *ret_err)
{
	const struct fm_policy *p;
	char path[4096];
	struct stat st;

	*ret_err = 0;
	if (fm_sys_stat_notimes(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size || !fm_sys_may_ask() ||
	    !fm_proc_fd_path(fd, path, sizeof(path)))
		return NULL;
	p = fm_policy_for(path);
	return p && p->source ? fm_backing_of(p->source, path, ret_err) : NULL;
}

int64_t fm_backing_size(const struct fm_backing *s)
{
	return s->size;
}

static void source_forked(void)
{
	fm_lock_reset(&lock);
}

FM_LIFE(sources, .level = FM_LIFE_GATE, .forked = source_forked)
