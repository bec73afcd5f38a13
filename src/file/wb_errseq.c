/* SPDX-License-Identifier: MIT */
#include "wb_errseq.h"

#include "base/file_part.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "file.h"
#include "space_lock.h"

FM_FILE_PART(wb)

#define MOST 64 /* files; then the oldest is forgotten */

struct unsaid {
	dev_t dev;
	ino_t ino;
	uint64_t born;
	uint32_t err; /* 0: free */
};

static struct unsaid table[MOST]; /* under the space lock */
static unsigned next;
_Atomic bool fm_errseq_some;

static uint32_t take_error(dev_t dev, ino_t ino, uint64_t born)
{
	uint32_t err = 0;

	for (unsigned i = 0; i < MOST; i++) {
		struct unsaid *u = &table[i];

		if (!u->err || u->dev != dev || u->ino != ino)
			continue;
		/* Another file may have got the number. */
		if (u->born == born)
			err = u->err;
		u->err = 0;
	}
	return err;
}

FM_FAULT bool fm_wb_err_note(struct fm_file *f, int err)
{
	if (err == -EFAULT || err == -EINTR || err == -EAGAIN ||
	    err == -ECANCELED) /* or no tasks */
		return false;
	atomic_store(&f->wb->err, (uint32_t)-err);
	return true;
}

void fm_errseq_note(struct fm_file *f)
{
	uint32_t err = atomic_load(&f->wb->err);

	if (!err)
		return;
	take_error(f->dev, f->ino, f->born);
	table[next++ % MOST] = (struct unsaid){ f->dev, f->ino, f->born, err };
	atomic_store(&fm_errseq_some, true);
}

void fm_errseq_back(struct fm_file *f)
{
	if (atomic_load(&fm_errseq_some))
		atomic_store(&f->wb->err, take_error(f->dev, f->ino, f->born));
}

int fm_errseq_take(int fd)
{
	struct stat st;
	uint64_t born;
	uint32_t err;

	if (!atomic_load(&fm_errseq_some) || fm_sys_stat_notimes(fd, &st))
		return 0;
	born = fm_sys_birth(fd);
	FM_HOLD_SPACE();
	err = take_error(st.st_dev, st.st_ino, born);
	return fm_wb_told(-(int)err);
}
