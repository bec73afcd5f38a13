/* SPDX-License-Identifier: MIT */
#include "fd_backup.h"

#include <string.h>
#include <sys/socket.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "ring.h"
#include "store.h"

struct fm_backup fm_backup = { .sock = { -1, -1 } };

FM_FAULT int fm_backup_pid(void)
{
	return (int)atomic_load(&fm_backup.tid);
}

/* ---- in the process that keeps them ------------------------------------- */

struct message {
	uint32_t id; /* of a file, or behind them FM_BACKUP_... */
	bool add;
};

static int *backup_number(uint32_t id)
{
	if (id < FM_MAX_FILES)
		return &fm_backup.file_fd[id];
	id -= FM_MAX_FILES;
	return id < FM_BACKUPS ? &fm_backup.kept[id] : NULL;
}

/* One message and its descriptor. False when there is none. */
bool fm_backup_take(int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c;
	struct message msg;
	struct iovec v = { &msg, sizeof(msg) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = c.buf,
			    .msg_controllen = sizeof(c.buf) };
	long n =
		fm_sys3(SYS_recvmsg, sock, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *cm = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	int *number = n == sizeof(msg) ? backup_number(msg.id) : NULL;

	if (!number)
		return n > 0;
	if (*number >= 0)
		fm_sys_close(*number);
	*number = -1;
	if (msg.add && cm && cm->cmsg_type == SCM_RIGHTS)
		memcpy(number, CMSG_DATA(cm), sizeof(int));
	return true;
}

/* ---- in the program ---------------------------------------------------- */

/* A copy of descriptor fd of the guardian, for its program and no child. */
static FM_FAULT int get_fd(int fd)
{
	int pid = fm_backup_pid(), pidfd, got;

	if (!pid || fd < 0 || fm_sys_getpid() != fm_backup.owner)
		return -ESRCH;
	pidfd = (int)fm_sys2(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return pidfd;
	got = -ESRCH; /* the number may have gone to somebody else */
	if (fm_backup_pid() == pid)
		got = (int)fm_sys3(SYS_pidfd_getfd, pidfd, fd, 0);
	fm_sys_close(pidfd);
	return got < 0 ? got : fm_fd_raise(got);
}

FM_FAULT int fm_backup_getfd(unsigned what)
{
	return get_fd(fm_backup.kept[what]);
}

FM_FAULT int fm_backup_get_file(const struct fm_file *f)
{
	return get_fd(fm_backup.file_fd[f->id]);
}

/* The program may have closed it, and have a socket of its own there. */
static bool sock_is_ours(void)
{
	return fm_sys_is_file(fm_backup.sock[0], fm_backup.sock_is.st_dev,
			      fm_backup.sock_is.st_ino);
}

static int send_message(struct message msg, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c = { .buf = { 0 } };
	struct iovec v = { &msg, sizeof(msg) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (!sock_is_ours())
		return -EBADF;
	if (fd >= 0) {
		h.msg_control = c.buf;
		h.msg_controllen = sizeof(c.buf);
		c.align.cmsg_len = CMSG_LEN(sizeof(int));
		c.align.cmsg_level = SOL_SOCKET;
		c.align.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&c.align), &fd, sizeof(int));
	}
	return (int)fm_sys3(SYS_sendmsg, fm_backup.sock[0], &h, MSG_NOSIGNAL);
}

int fm_backup_add(struct fm_file *f)
{
	struct message msg = { f->id, true };
	int n;

	if (fm_backup.sock[0] < 0 || fm_rings_uring() || f->io->buffered < 0)
		return 0;
	n = send_message(msg, f->io->buffered);
	if (n >= 0) {
		f->io->kept = f->io->buffered;
		return 0;
	}
	fm_log(FM_LOG_WARN, "%s: the guardian did not take the file, errno %d: "
	       "%s; %s", f->path, -n, fm_error_text(-n),
	       f->io->writable ?
		       "dirty data is lost if the program is killed" :
		       "it cannot be read if the program closes our descriptors");
	return n;
}

void fm_backup_drop(struct fm_file *f)
{
	struct message msg = { f->id, false };

	if (fm_backup.sock[0] >= 0 && !fm_rings_uring())
		send_message(msg, -1);
}

void fm_backup_registry(unsigned k, int fd)
{
	if (fd >= 0 && fm_backup.sock[0] >= 0 && fm_backup_pid())
		send_message((struct message){ FM_MAX_FILES +
						       FM_BACKUP_PLACE + k,
					       true }, fd);
}

int fm_backup_file(struct fm_file *f)
{
	fm_up_backup_begin *begin = FM_UP_ONE(backup_begin);
	int err = begin ? begin() : 0;

	if (!err && f->io->kept != f->io->buffered)
		err = fm_backup_add(f);
	return err;
}

void fm_backup_nudge(void)
{
	if (fm_backup.sock[0] >= 0)
		send_message((struct message){ UINT32_MAX, false }, -1);
}
