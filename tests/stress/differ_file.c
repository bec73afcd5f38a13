/* SPDX-License-Identifier: MIT */
/* differ_file.c - calls of a worker of differ on the file. */
#include "differ_worker.h"

#include <sys/sendfile.h>
#include <sys/uio.h>

static uint64_t length(uint64_t x)
{
	uint64_t most = x % 8 == 0 ? PAGES * PAGE / 2 :
			x % 8 < 3 ? 10 * PAGE : 3000;

	return 1 + (x >> 3) % most;
}

static off_t offset(uint64_t x, uint64_t n)
{
	uint64_t o = (x >> 2) % (PAGES * PAGE - n);

	if (plan->verbose)
		say("%lu+%lu (page %lu) ", o, n, o / PAGE);

	return (off_t)(plan->base + (x % 4 ? o : o & ~(PAGE - 1ul)));
}

void op_pwrite(void)
{
	uint64_t n = length(arg[0]);
	off_t at = offset(arg[1], n);
	struct iovec v[2] = { { heap, n / 3 }, { heap + n / 3, n - n / 3 } };

	fill(heap, n, arg[2]);
	switch (arg[3] % 6) {
	case 0:
		result("pwritev", pwritev(fd, v, 2, at));
		return;
	case 1:
		result("lseek", lseek(fd, at, SEEK_SET) != at);
		result("write", write(fd, heap, n));
		return;
	case 2:
		result("pwritev2", pwritev2(fd, v, 2, at, RWF_DSYNC));
		return;
	case 3:
		lseek(fd, at, SEEK_SET);
		result("writev", writev(fd, v, 2));
		return;
	default:
		result("pwrite", pwrite(fd, heap, n, at));
	}
}

void op_pread(void)
{
	uint64_t n = length(arg[0]);
	off_t at = offset(arg[1], n);
	struct iovec v[2] = { { heap, n / 3 }, { heap + n / 3, n - n / 3 } };
	ssize_t got;

	if (arg[3] % 3 == 0) {
		got = preadv(fd, v, 2, at);
	} else if (arg[3] % 3 == 1) {
		lseek(fd, at, SEEK_SET);
		got = read(fd, heap, n);
	} else {
		got = pread(fd, heap, n, at);
	}
	result("pread", got);
	if (got > 0)
		say_hash(heap, (size_t)got);
}

void op_append(void)
{
	uint64_t n = length(arg[0]) % 9000 + 1;
	int a;

	if ((uint64_t)file_size() + n > PAGES * PAGE)
		return;
	fill(heap, n, arg[1]);
	if (arg[2] % 3 == 0) {
		struct iovec v = { heap, n };

		result("rwf_append", pwritev2(fd, &v, 1, 0, RWF_APPEND));
		return;
	}
	a = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	result("append", arg[2] % 3 == 1 ? write(a, heap, n) :
					   pwrite(a, heap, n, 0));
	close(a);
}

void op_stream(void)
{
	uint64_t n = length(arg[0]) % 20000 + 1;
	FILE *f = fopen(path, "r+e");

	if (!f)
		return;
	fill(heap, n, arg[2]);
	fseek(f, offset(arg[1], n), SEEK_SET);
	if (arg[3] % 2)
		result("fwrite", (long)fwrite(heap, 1, n, f));
	else
		result("fread", (long)fread(heap, 1, n, f));
	if (!(arg[3] % 2))
		say_hash(heap, n);
	result("fclose", fclose(f));
}

void op_direct(void)
{
	uint64_t n = (length(arg[0]) + PAGE - 1) & ~(PAGE - 1ul);
	off_t at = offset(arg[1] & ~3ul, n);
	char *b = heap + (-(uintptr_t)heap & (PAGE - 1));
	int d = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	ssize_t got;

	fill(b, n, arg[2]);
	if (arg[3] % 2) {
		result("direct pwrite", pwrite(d, b, n, at));
	} else {
		got = pread(d, b, n, at);
		result("direct pread", got);
		if (got > 0)
			say_hash(b, (size_t)got);
	}
	close(d);
}

/* A slot's part as a buffer for a part of the file which it does not show. What
 * is stored behind the end is gone at an unspecified time. */
static bool buffer(char **p, uint64_t *n, off_t *at)
{
	struct slot *s = some(arg[0]);
	long first, pages, to;

	if (!range(s, arg[1], arg[2], &first, &pages))
		return false;
	*p = s->addr + first * PAGE + (long)(arg[3] % 4000);
	*n = (uint64_t)(pages * PAGE) - arg[3] % 4000;
	if (arg[4] % 2)
		*n = 1 + (arg[4] >> 1) % *n;
	if (*n >= PAGES * PAGE)
		return false;
	*at = offset(arg[5], *n);
	to = (long)((uint64_t)*at - plan->base);
	for (long q = first; q < first + pages; q++) {
		if (s->at[q] == UNKNOWN || !(s->prot[q] & PROT_READ) ||
		    !(s->prot[q] & PROT_WRITE) ||
		    (s->at[q] + 1) * PAGE > file_size())
			return false;
		if (s->at[q] >= to / PAGE &&
		    s->at[q] <= (to + (long)*n) / PAGE)
			return false;
	}
	return true;
}

static void by_map(bool in)
{
	uint64_t n;
	off_t at;
	char *p;

	note_end();
	if (!buffer(&p, &n, &at))
		return;
	if (in)
		result("pread map", pread(fd, p, n, at));
	else
		result("pwrite map", pwrite(fd, p, n, at));
}

void op_from_map(void)
{
	by_map(false);
}

void op_into_map(void)
{
	by_map(true);
}

void op_truncate(void)
{
	long size = file_size(), to;
	int f;

	to = (long)(arg[1] % (uint64_t)(arg[0] % 3 ? size / 2 + PAGE :
						     PAGES * PAGE));
	if (arg[0] % 3)
		to += size / 2;
	if (arg[2] % 3 == 0)
		to &= ~(PAGE - 1);
	if (to > PAGES * PAGE)
		to = PAGES * PAGE;
	end_page = 0;
	if (arg[3] % 16 == 0) {
		f = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
		close(f);
		result("o_trunc, ftruncate",
		       ftruncate(fd, (off_t)plan->base + to));
	} else {
		result("truncate", arg[3] % 4 ?
			       ftruncate(fd, (off_t)plan->base + to) :
			       truncate(path, (off_t)plan->base + to));
	}
	note_end();
}

void op_fallocate(void)
{
	static const int modes[] = {
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE,
		FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
		0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_COLLAPSE_RANGE,
		FALLOC_FL_INSERT_RANGE,
	};
	int mode = modes[arg[0] % 8];
	uint64_t n = length(arg[1]);
	off_t at = offset(arg[2], n);

	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		n = PAGE * (1 + arg[1] % 8);
		at &= ~(PAGE - 1);
		if (mode == FALLOC_FL_INSERT_RANGE &&
		    file_size() + (long)n > PAGES * PAGE)
			return;
	}
	end_page = 0;
	result("fallocate", fallocate(fd, mode, at, (off_t)n));
	note_end();
}

void op_copy(void)
{
	uint64_t n = length(arg[0]);
	off_t from = offset(arg[1], n), to = offset(arg[2], n);
	int p[2], f = -1;

	/* Not what the call itself makes longer. */
	if ((from < to + (off_t)n && to < from + (off_t)n) ||
	    from + (off_t)n > (off_t)plan->base + file_size())
		return;
	switch (arg[3] % 4) {
	case 0:
		result("copy_file_range",
		       copy_file_range(fd, &from, fd, &to, n, 0));
		break;
	case 1:
		lseek(fd, to, SEEK_SET);
		f = open(path, O_RDONLY | O_CLOEXEC);
		result("sendfile", sendfile(fd, f, &from, n));
		break;
	case 2:
		n = n > 60000 ? 60000 : n;
		if (pipe2(p, O_CLOEXEC))
			return;
		n = (uint64_t)splice(fd, &from, p[1], NULL, n, 0);
		result("splice in", (long)n);
		if ((long)n > 0 && plan->gentle)
			result("read", read(p[0], heap, n));
		else if ((long)n > 0)
			result("splice out", splice(p[0], NULL, fd, &to, n, 0));
		close(p[0]);
		close(p[1]);
		break;
	default:
		f = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		to = 0;
		n = (uint64_t)copy_file_range(fd, &from, f, &to, n, 0);
		result("copied", (long)n);
		if ((long)n > 0 && pread(f, heap, n, 0) == (ssize_t)n)
			say_hash(heap, n);
	}
	if (f >= 0)
		close(f);
}

void op_fsync(void)
{
	switch (arg[0] % 4) {
	case 0:
		result("fsync", fsync(fd));
		return;
	case 1:
		result("fdatasync", fdatasync(fd));
		return;
	case 2:
		result("sync_file_range", sync_file_range(fd, (off_t)plan->base,
							  PAGES * PAGE, 7));
		return;
	default:
		result("fadvise", posix_fadvise(fd, (off_t)plan->base,
						PAGES * PAGE,
						(int)(arg[1] % 6)));
	}
}

void op_reopen(void)
{
	int f = open(path, O_RDWR | O_CLOEXEC);

	if (arg[0] % 2) {
		result("dup2", dup2(f, fd) == fd);
		close(f);
		return;
	}
	close(fd);
	fd = f;
}

void op_rename(void)
{
	char aside[4200];

	snprintf(aside, sizeof(aside), "%s.aside", path);
	result("link", link(path, aside));
	result("rename", arg[0] % 2 ? rename(aside, path) : unlink(aside));
	unlink(aside);
}
