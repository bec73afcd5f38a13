/* SPDX-License-Identifier: MIT */
/* io_space.c - fallocate by its older names, which are ioctls of any file:
 * XFS's, and since Linux 5.5 everybody's. */
#include "guard.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "io_copy.h"

/* ABI: include/linux/falloc.h of the kernel. */
struct space_resv {
	int16_t l_type, l_whence;
	int64_t l_start, l_len;
	int32_t l_sysid;
	uint32_t l_pid;
	int32_t l_pad[4];
};

static const struct kind {
	unsigned long req;
	int mode;
} kinds[] = {
	{ _IOW('X', 40, struct space_resv), 0 },
	{ _IOW('X', 42, struct space_resv), 0 },
	{ _IOW('X', 41, struct space_resv), FALLOC_FL_PUNCH_HOLE },
	{ _IOW('X', 43, struct space_resv), FALLOC_FL_PUNCH_HOLE },
	{ _IOW('X', 57, struct space_resv), FALLOC_FL_ZERO_RANGE },
};

static const struct kind *kind_of(unsigned long req)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].req == req)
			return &kinds[i];
	return NULL;
}

bool fm_ioctl_is_space(unsigned long req)
{
	return kind_of(req);
}

/* Bytes of the file. False: the kernel refuses that. */
static bool begins_at(int fd, const struct space_resv *r, off_t *ret)
{
	off_t from = 0;
	struct stat st;

	if (r->l_whence == SEEK_CUR)
		from = fm_sys3(SYS_lseek, fd, 0, SEEK_CUR);
	else if (r->l_whence == SEEK_END && !fm_sys_stat_notimes(fd, &st))
		from = st.st_size;
	else if (r->l_whence != SEEK_SET)
		return false;
	return from >= 0 && !__builtin_add_overflow(from, r->l_start, ret);
}

/* Of a file that we hold it is that. */
int fm_ioctl_space(const struct fm_ioctl *c, void *arg)
{
	struct fm_file *f = fm_file_by_fd(c->fd);
	struct space_resv r;
	off_t at;

	if (!f)
		return fm_pass_ioctl(c, arg);
	fm_file_put(f);
	if (!fm_user_read(&r, arg, sizeof(r)))
		return fm_pass_ioctl(c, FM_NOWHERE);
	if (!begins_at(c->fd, &r, &at))
		return fm_pass_ioctl(c, &r);
	return fm_do_fallocate(c->raw, c->fd,
			       kind_of(c->req)->mode | FALLOC_FL_KEEP_SIZE, at,
			       r.l_len);
}
