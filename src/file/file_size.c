/* SPDX-License-Identifier: MIT */
#include "base/sys.h"
#include "engine.h"
#include "file.h"
#include "io/io.h"
#include "tunables.h"

static FM_FAULT bool stat_by(const struct fm_file *f, int fd, struct stat *st)
{
	return fd >= 0 && fm_sys_stat_notimes(fd, st) == 0 &&
	       st->st_ino == f->ino && st->st_dev == f->dev;
}

/* The program may have closed the number behind our back. What is stored beyond
 * an old size would be dropped. */
static FM_FAULT bool stat_file(struct fm_file *f, struct stat *st)
{
	return stat_by(f, f->io->path, st) || stat_by(f, f->io->buffered, st) ||
	       (fm_recover_path(f) && stat_by(f, f->io->path, st));
}

FM_FAULT bool fm_is_sparse(const struct stat *st)
{
	off_t has = (off_t)st->st_blocks * 512;

	return has < st->st_size ||
	       has > st->st_size + st->st_size / 1024 + fm_tune.file_size_few;
}

FM_FAULT int64_t fm_file_size_now(struct fm_file *f)
{
	const struct fm_store *s = fm_store_of(f);
	struct stat st;

	if (s && s->io->size) {
		atomic_store(&f->size, s->io->size(f));
		return atomic_load(&f->size);
	}
	if (stat_file(f, &st)) {
		atomic_store(&f->size, st.st_size);
		if (fm_is_sparse(&st))
			f->load->sparse = true; /* grown, or punched */
		/* Another who looked earlier may store what that was. */
		return st.st_size;
	}
	return atomic_load(&f->size);
}

off_t fm_file_size(struct fm_file *f)
{
	return fm_file_size_now(f);
}

void fm_file_has_holes(struct fm_file *f)
{
	f->load->sparse = true;
}

void fm_file_size_changed(struct fm_file *f)
{
	fm_file_size_now(f);
	FM_UP_EACH(file_resized, tell)
		tell();
}
