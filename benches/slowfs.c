/* SPDX-License-Identifier: MIT */
/*
 * slowfs.c - one directory of plain files, seen through FUSE by a device that
 * takes its time: each read and write waits for a latency and for its share of
 * a bandwidth, so many of them at once.
 *
 *	slowfs DIR MOUNTPOINT LATENCY-US PARALLEL MB/S [FUSE OPTIONS]
 *
 * PARALLEL requests wait at the same time, others queue; MB/S 0 is no limit.
 * Stays in the foreground until it is unmounted.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t place;
	uint64_t latency_ns, parallel, mb_s;
	uint64_t busy;
	uint64_t free_at; /* ns: when the last byte so far has passed */
} dev = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 1, 0, 0, 0 };

static int dir;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u),
			      (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

/* The line is shared: bytes pass one after the other, latencies overlap. */
static void transfer(size_t bytes)
{
	uint64_t end, now;

	pthread_mutex_lock(&dev.lock);
	while (dev.busy >= dev.parallel)
		pthread_cond_wait(&dev.place, &dev.lock);
	dev.busy++;
	now = now_ns();
	if (dev.free_at < now)
		dev.free_at = now;
	if (dev.mb_s)
		dev.free_at += bytes * 1000 / dev.mb_s;
	end = dev.free_at + dev.latency_ns;
	pthread_mutex_unlock(&dev.lock);

	sleep_until(end);

	pthread_mutex_lock(&dev.lock);
	dev.busy--;
	pthread_cond_signal(&dev.place);
	pthread_mutex_unlock(&dev.lock);
}

/* "." for the root; FUSE's paths begin with a slash. */
static const char *inside(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static int fs_getattr(const char *path, struct stat *st,
		      struct fuse_file_info *fi)
{
	return result(fi ? fstat((int)fi->fh, st) :
			   fstatat(dir, inside(path), st,
				   AT_SYMLINK_NOFOLLOW));
}

static int fs_readdir(const char *path, void *buf, fuse_fill_dir_t fill,
		      off_t off, struct fuse_file_info *fi,
		      enum fuse_readdir_flags flags)
{
	int fd = openat(dir, inside(path), O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		fill(buf, e->d_name, NULL, 0, 0);
	closedir(d);
	return 0;
}

static int open_as(const char *path, int flags, mode_t mode,
		   struct fuse_file_info *fi)
{
	int fd = openat(dir, inside(path), flags & ~O_DIRECT, mode);

	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	return 0;
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	return open_as(path, fi->flags, 0, fi);
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return open_as(path, fi->flags | O_CREAT, mode, fi);
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	close((int)fi->fh);
	return 0;
}

static int fs_read(const char *path, char *buf, size_t n, off_t off,
		   struct fuse_file_info *fi)
{
	transfer(n);
	return result(pread((int)fi->fh, buf, n, off));
}

static int fs_write(const char *path, const char *buf, size_t n, off_t off,
		    struct fuse_file_info *fi)
{
	transfer(n);
	return result(pwrite((int)fi->fh, buf, n, off));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	int fd = fi ? (int)fi->fh : openat(dir, inside(path), O_WRONLY);
	int err = fd < 0 ? -errno : result(ftruncate(fd, size));

	if (!fi && fd >= 0)
		close(fd);
	return err;
}

static int fs_fallocate(const char *path, int mode, off_t off, off_t len,
			struct fuse_file_info *fi)
{
	return result(fallocate((int)fi->fh, mode, off, len));
}

static int fs_fsync(const char *path, int only_data, struct fuse_file_info *fi)
{
	return result(only_data ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

/* Nothing is kept back; but whoever closes a descriptor waits for the answer,
 * as with sshfs and NFS, where SLOWFS_FLUSH is set. */
static int fs_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	(void)fi;
	return getenv("SLOWFS_FLUSH") ? 0 : -ENOSYS;
}

static int fs_unlink(const char *path)
{
	return result(unlinkat(dir, inside(path), 0));
}

static int fs_mkdir(const char *path, mode_t mode)
{
	return result(mkdirat(dir, inside(path), mode));
}

static int fs_rmdir(const char *path)
{
	return result(unlinkat(dir, inside(path), AT_REMOVEDIR));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return result(fchmodat(dir, inside(path), mode, 0));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
	return result(renameat2(dir, inside(from), dir, inside(to), flags));
}

/* max_background and the like; the kernel's own is 12. */
static struct fuse_conn_info_opts *asked;

static void *fs_init(struct fuse_conn_info *c, struct fuse_config *cfg)
{
	c->max_background = 128;
	c->congestion_threshold = 128;
	fuse_apply_conn_info_opts(asked, c);
	return NULL;
}

static const struct fuse_operations operations = {
	.init = fs_init, .getattr = fs_getattr, .readdir = fs_readdir,
	.open = fs_open, .create = fs_create, .release = fs_release,
	.read = fs_read, .write = fs_write, .truncate = fs_truncate,
	.fallocate = fs_fallocate, .fsync = fs_fsync, .flush = fs_flush,
	.unlink = fs_unlink, .rename = fs_rename, .mkdir = fs_mkdir,
	.rmdir = fs_rmdir, .chmod = fs_chmod,
};

int main(int argc, char **argv)
{
	enum { OWN = 6, MOST = 32, SPARE = 16 };
	char threads[64];
	char *args[MOST] = { argv[0], argc > 2 ? argv[2] : NULL, "-f", "-o",
			     threads };
	int n = 5;
	struct fuse_args all;

	if (argc < OWN || argc - OWN + n >= MOST) {
		fprintf(stderr, "usage: slowfs DIR MOUNTPOINT LATENCY-US "
				"PARALLEL MB/S [FUSE OPTIONS]\n");
		return 2;
	}
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		perror(argv[1]);
		return 1;
	}
	dev.latency_ns = strtoull(argv[3], NULL, 10) * 1000;
	dev.parallel = strtoull(argv[4], NULL, 10);
	dev.mb_s = strtoull(argv[5], NULL, 10);
	/* one for each request that waits: libfuse has ten */
	snprintf(threads, sizeof(threads), "max_threads=%lu",
		 (unsigned long)dev.parallel + SPARE);
	for (int i = OWN; i < argc; i++)
		args[n++] = argv[i];
	all = (struct fuse_args)FUSE_ARGS_INIT(n, args);
	asked = fuse_parse_conn_info_opts(&all);
	return asked ? fuse_main(all.argc, all.argv, &operations, NULL) : 1;
}
