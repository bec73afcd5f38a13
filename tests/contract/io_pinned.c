/* SPDX-License-Identifier: MIT */
/* C41: a read(2) into a page of the mapping is under way, held up half way by
 * a page that nobody has given it yet, while others use the same page. Nor is
 * it written over and over meanwhile: it would stay dirty. */
/* needs: root */
#include "own_uffd.h"

#include <pthread.h>
#include <sys/uio.h>

#define LEN (8 * PAGE)
#define AT (2 * PAGE) /* the page: bytes 100 to 200 are read into it */

static char *map, *alias, *missing;
static int fd, plain, uffd;
static bool first; /* the mapping's part comes before the missing page */
static ssize_t got;

static void *reader(void *arg CT_UNUSED)
{
	struct iovec in = { map + AT + 100, 100 }, hole = { missing, 10 };
	struct iovec v[2] = { first ? in : hole, first ? hole : in };

	got = preadv(plain, v, 2, 0);
	return NULL;
}

static void write_file(void)
{
	ct_pwrite(fd, "writes", 6, AT + 3000);
}

static void store_alias(void)
{
	memcpy(alias + AT + 3000, "stores", 6);
}

static void store(void)
{
	memcpy(map + AT + 3000, "stores", 6);
}

static void sync_it(void)
{
	say_rc("C41 msync", msync(map, LEN, MS_SYNC));
	memcpy(map + AT + 3000, "synced", 6);
	say_rc("C41 fsync", fsync(fd));
}

static void read_it(void)
{
	char b[8] = { 0 };

	memcpy(map + AT + 3000, "reads ", 6);
	say("C41 read: %zd", pread(fd, b, 6, AT + 3000));
	say("C41 read: %s", b);
}

static void drop(void)
{
	memcpy(map + AT + 3000, "drops ", 6);
	say_rc("C41 madvise", madvise(map, LEN, MADV_DONTNEED));
}

static void truncates(void)
{
	say_rc("C41 ftruncate", ftruncate(fd, AT + 3000));
	say_rc("C41 ftruncate", ftruncate(fd, LEN));
}

static void load_alias(void)
{
	memcpy(map + AT + 3000, "loads ", 6);
	say("C41 alias: %.6s", alias + AT + 3000);
}

static void copies(void)
{
	loff_t from = AT + 2000, to = AT + 3000;

	say("C41 copy_file_range: %zd",
	    copy_file_range(fd, &from, fd, &to, 500, 0));
}

static void give(void)
{
	struct uffdio_zeropage z = { { (uintptr_t)missing, PAGE }, 0, 0 };

	if (ioctl(uffd, UFFDIO_ZEROPAGE, &z))
		ct_die("UFFDIO_ZEROPAGE");
}

/* Who needs the page in another mapping may wait for the read. */
static void *give_soon(void *arg CT_UNUSED)
{
	usleep(100000);
	give();
	return NULL;
}

static void look(const char *what, const char *via, const char *p)
{
	char text[7];

	for (int i = 0; i < 6; i++)
		text[i] = p[AT + 3000 + i] < 32 || p[AT + 3000 + i] > 126
				  ? '.' : p[AT + 3000 + i];
	text[6] = 0;
	say("C41 %s, %s: before %d read %d between %d there %s after %d", what,
	    via, ct_matches(p + AT, 100, AT),
	    ct_matches(p + AT + 100, 100, first ? 0 : 10),
	    ct_matches(p + AT + 200, 1000, AT + 200), text,
	    ct_matches(p + AT + 3600, 400, AT + 3600));
}

static void one(const char *what, void (*other)(void), bool aliased)
{
	static char buf[LEN];
	pthread_t id, giver;
	char name[64];

	snprintf(name, sizeof(name), "%s%s", what, first ? "" : ", then read");
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	alias = aliased ? ct_map(fd, LEN, RW, MAP_SHARED, 0) : NULL;
	madvise(missing, PAGE, MADV_DONTNEED);
	pthread_create(&id, NULL, reader, NULL);
	usleep(40000);
	if (aliased)
		pthread_create(&giver, NULL, give_soon, NULL);
	other();
	if (aliased)
		pthread_join(giver, NULL);
	else
		give();
	pthread_join(id, NULL);
	say("C41 %s: %zd", name, got);
	look(name, "map", map);
	if (pread(fd, buf, LEN, 0) != (ssize_t)LEN)
		ct_die("pread");
	look(name, "file", buf);
	if (aliased) {
		look(name, "alias", alias);
		munmap(alias, LEN);
	}
	munmap(map, LEN);
	if (pread(fd, buf, LEN, 0) != (ssize_t)LEN)
		ct_die("pread");
	look(name, "unmapped", buf);
	close(fd);
	unlink(ct_path("f"));
}

static long written_bytes(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[80];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "write_bytes: %ld", &n);
	if (f)
		fclose(f);
	return n;
}

static void stays_dirty(void)
{
	const long before = written_bytes();

	store();
	usleep(300000);
	say("C41 written once or twice: %d", written_bytes() - before < 1 << 18);
}

static void user_faults(void)
{
	uffd = ct_uffd(0);
	missing = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ct_uffd_watch(uffd, missing, PAGE))
		ct_skip("no userfaultfd for the kernel's own faults");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	user_faults();
	plain = ct_file("plain", LEN);
	for (int i = 0; i < 2; i++) {
		first = !i;
		one("store", store, false);
		one("write", write_file, false);
		one("read", read_it, false);
		one("sync", sync_it, false);
		one("drop", drop, false);
		one("truncate", truncates, false);
		one("copy", copies, false);
		one("stays dirty", stays_dirty, false);
		one("alias stores", store_alias, true);
		one("alias loads", load_alias, true);
		one("alias and write", write_file, true);
	}
	return 0;
}
