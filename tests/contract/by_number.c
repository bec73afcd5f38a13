/* SPDX-License-Identifier: MIT */
/* F02: system calls by their numbers, through syscall(), on a mapping and its
 * file. */
#include "ct.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PAGES 64ul

static int fd;
static char *p;

static void fill(void)
{
	if (ftruncate(fd, PAGES * PAGE))
		ct_die("ftruncate");
	for (size_t i = 0; i < PAGES; i++)
		ct_pwrite(fd, "\7", 1, (off_t)(i * PAGE));
	p[PAGE] = 9;
}

static void emptied(const char *what, long r)
{
	struct stat st;

	say_rc(what, r < 0 ? -1 : 0);
	fstat(fd, &st);
	say("F02 size: %ld", (long)st.st_size);
	say_load(what, p, 0);
	say_store(what, p, PAGE);
	if (ftruncate(fd, PAGES * PAGE))
		ct_die("ftruncate");
	say("F02 grown: %d %d %d", ct_load(p), ct_load(p + PAGE),
	    ct_load(p + 40 * PAGE));
	if (r >= 0)
		close((int)r);
	fill();
}

static long how(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how h = { .flags = flags, .resolve = resolve };

	return syscall(SYS_openat2, dir, path, &h, sizeof(h));
}

static void opens(void)
{
	const char *f = ct_path("f");
	int dir = open(ct_dir, O_RDONLY | O_DIRECTORY);

	fill();
	emptied("F02 open", syscall(SYS_open, f, O_RDWR | O_TRUNC));
	emptied("F02 openat",
		syscall(SYS_openat, AT_FDCWD, f, O_RDWR | O_TRUNC));
	emptied("F02 openat, directory", syscall(SYS_openat, dir, "f",
						 O_RDWR | O_TRUNC));
	emptied("F02 creat", syscall(SYS_creat, f, 0644));
	emptied("F02 openat2", how(AT_FDCWD, f, O_RDWR | O_TRUNC, 0));
	emptied("F02 openat2, in root",
		how(dir, "/f", O_RDWR | O_TRUNC, RESOLVE_IN_ROOT));
	say_rc("F02 openat2, not beneath",
	       how(dir, "/f", O_RDWR | O_TRUNC, RESOLVE_BENEATH));
	say_rc("F02 openat2, no such file",
	       how(dir, "g", O_RDWR | O_TRUNC, 0));
	say_rc("F02 openat2, argument",
	       syscall(SYS_openat2, dir, "f", 1L, 24L));
	say_rc("F02 openat2, size", syscall(SYS_openat2, dir, "f", p, 8L));
	say("F02 untouched: %d %d", ct_load(p), ct_load(p + PAGE));
	close(dir);
}

/* The path and the structure lie in the mapping, not resident. */
static void from_the_map(void)
{
	struct open_how h = { .flags = O_RDONLY };
	const char *f = ct_path("f");
	long r;

	ct_pwrite(fd, &h, sizeof(h), 50 * PAGE);
	ct_pwrite(fd, f, strlen(f) + 1, 52 * PAGE);
	r = syscall(SYS_openat2, AT_FDCWD, p + 52 * PAGE, p + 50 * PAGE,
		    sizeof(h));
	say_rc("F02 openat2 from the map", r < 0 ? -1 : 0);
	r = syscall(SYS_openat, AT_FDCWD, p + 52 * PAGE, O_RDONLY);
	say_rc("F02 openat from the map", r < 0 ? -1 : 0);
	say_rc("F02 newfstatat", syscall(SYS_newfstatat, AT_FDCWD, f,
					 p + 54 * PAGE, 0));
	say("F02 newfstatat: %d",
	    ((struct stat *)(void *)(p + 54 * PAGE))->st_size == PAGES * PAGE);
}

static void vectors(void)
{
	struct iovec piece = { p + 30 * PAGE, PAGE }, v;
	char buf[PAGE];
	int ends[2];

	v = (struct iovec){ buf, PAGE };
	say("F02 process_vm_readv: %ld",
	    syscall(SYS_process_vm_readv, getpid(), &v, 1L, &piece, 1L, 0L));
	say("F02 read: %d", buf[0]);
	buf[0] = 0x21;
	piece.iov_base = p + 32 * PAGE;
	say("F02 process_vm_writev: %ld",
	    syscall(SYS_process_vm_writev, getpid(), &v, 1L, &piece, 1L, 0L));
	say("F02 written: %02x", ct_load(p + 32 * PAGE));
	if (pipe(ends))
		ct_die("pipe");
	piece.iov_base = p + 34 * PAGE;
	say("F02 vmsplice: %ld",
	    syscall(SYS_vmsplice, ends[1], &piece, 1L, 0L));
	close(ends[1]);
	say("F02 pipe: %ld", (long)read(ends[0], buf, PAGE));
	say("F02 read: %d", buf[0]);
	close(ends[0]);
}

static void memory(void)
{
	p[9 * PAGE + 1] = 0x19;
	say_rc("F02 remap_file_pages",
	       syscall(SYS_remap_file_pages, p + 2 * PAGE, PAGE, 0L, 9L, 0L));
	say("F02 remapped: %02x", ct_load(p + 2 * PAGE + 1));
	say_rc("F02 pkey_mprotect",
	       syscall(SYS_pkey_mprotect, p + 4 * PAGE, PAGE, PROT_READ, -1L));
	say_store("F02 protected", p, 4 * PAGE);
	say("F02 beside it: %d", ct_store(p + 5 * PAGE, 1));
	if (mlock(p, PAGE))
		return;
	munlock(p, PAGE);
	say_rc("F02 mlock2", syscall(SYS_mlock2, p + 20 * PAGE, PAGE, 0L));
	say_rc("F02 invalidate", msync(p + 20 * PAGE, PAGE, MS_INVALIDATE));
	say_rc("F02 mlock2 onfault",
	       syscall(SYS_mlock2, p + 21 * PAGE, PAGE, MLOCK_ONFAULT));
	say_rc("F02 mlock2, unknown flag",
	       syscall(SYS_mlock2, p + 22 * PAGE, PAGE, 0x80L));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	opens();
	from_the_map();
	vectors();
	memory();
	return 0;
}
