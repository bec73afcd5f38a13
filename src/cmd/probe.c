/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include "io/uring.h"
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Those that the engine uses, with the bit numbers of the kernel's ABI: the
 * oldest headers that we build with do not know all. */
const struct probe_feature probe_features[] = {
	{ "PAGEFAULT_FLAG_WP", 0, "required" },
	{ "SIGBUS", 7, "required for faults=signal" },
	{ "POISON", 14, "needs Linux 6.6" },
	{ "MOVE", 16, "no huge-page moves; needs Linux 6.8" },
	{ NULL, 0, NULL },
};

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define IOC_NEW _IO(0xAA, 0x00)

static int probe_open_uffd(bool user_only)
{
	long fd = syscall(SYS_userfaultfd,
			  O_CLOEXEC | (user_only ? UFFD_USER_MODE_ONLY : 0));

	return fd < 0 ? -errno : (int)fd;
}

int probe_uffd(bool user_only)
{
	int fd = probe_open_uffd(user_only);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int open_device(void)
{
	int dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC), fd, err;

	if (dev < 0)
		return -errno;
	fd = ioctl(dev, IOC_NEW, O_CLOEXEC);
	err = fd < 0 ? -errno : fd;
	close(dev);
	return err;
}

int probe_uffd_device(void)
{
	int fd = open_device();

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

uint64_t probe_uffd_features(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = probe_open_uffd(true);

	if (fd < 0)
		fd = open_device();
	if (fd < 0)
		return 0;
	if (ioctl(fd, UFFDIO_API, &api) < 0)
		api.features = 0;
	close(fd);
	return api.features;
}

/* ---- io_uring ---------------------------------------------------------- */

#define OP_MSG_RING 40
#define MSG_SEND_FD 1

static int probe_run_one(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int r = io_uring_submit_and_wait(ring, 1);

	if (r < 0)
		return r;
	r = io_uring_peek_cqe(ring, &cqe);
	if (r < 0)
		return r;
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r < 0 ? r : 0;
}

static int empty_table(struct io_uring *ring)
{
	const int none[2] = { -1, -1 };

	return io_uring_register_files(ring, none, 2);
}

static int open_in_slot(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		return -EBUSY;
	io_uring_prep_openat(sqe, AT_FDCWD, "/dev/null", O_RDONLY, 0);
	sqe->file_index = 1; /* slot 0 */
	return probe_run_one(ring);
}

static int send_slot(struct io_uring *from, struct io_uring *to)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(from);

	if (!sqe)
		return -EBUSY;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = OP_MSG_RING;
	sqe->fd = to->ring_fd;
	sqe->addr = MSG_SEND_FD;
	sqe->addr3 = 0;       /* our slot 0 */
	sqe->file_index = 2;  /* their slot 1 */
	return probe_run_one(from);
}

void probe_uring(struct probe_uring *ret)
{
	struct io_uring a, b;

	ret->open_direct = ret->send_fd = -ENOSYS;
	ret->create = io_uring_queue_init(4, &a, 0);
	if (ret->create < 0)
		return;
	ret->open_direct = empty_table(&a);
	if (!ret->open_direct)
		ret->open_direct = open_in_slot(&a);
	if (!ret->open_direct && io_uring_queue_init(4, &b, 0) == 0) {
		ret->send_fd = empty_table(&b);
		if (!ret->send_fd)
			ret->send_fd = send_slot(&a, &b);
		io_uring_queue_exit(&b);
	}
	io_uring_queue_exit(&a);
}

/* ---- vectored drop ----------------------------------------------------- */

#define PIDFD_SELF_GROUP (-10001) /* Linux 6.14 */

static long drop_by(int pidfd, void *p)
{
	struct iovec v = { p, 4096 };

	return syscall(SYS_process_madvise, pidfd, &v, 1, MADV_DONTNEED, 0);
}

bool probe_batch_drop(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ok;

	if (p == MAP_FAILED)
		return false;
	*p = 1;
	ok = drop_by(PIDFD_SELF_GROUP, p) == 4096 && *p == 0;
	munmap(p, 4096);
	return ok;
}
