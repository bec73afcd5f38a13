/* SPDX-License-Identifier: MIT */
/* C09: paths and small objects in mapped memory that is not resident. */
#include "ct.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#define N 16ul

static int fd;
static char *map;
static char *at; /* four bytes before a page boundary, absent pages */

static void fresh(void)
{
	if (map)
		munmap(map, N * PAGE);
	if (fd < 0)
		fd = ct_file("small", N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	at = map + 3 * PAGE - 4;
}

/* The path's text through the file, so that its pages are not resident. */
static char *path(const char *name)
{
	const char *p = ct_path(name);

	fresh();
	ct_pwrite(fd, p, strlen(p) + 1, 3 * PAGE - 4);
	return at;
}

static void paths(void)
{
	struct stat st;
	char link[100];
	int f;

	say_rc("C09 mkdir", mkdir(path("dir"), 0755));
	say_rc("C09 access", access(path("dir"), R_OK));
	say_rc("C09 rmdir", rmdir(path("dir")));
	f = open(path("file"), O_CREAT | O_RDWR, 0600);
	say_rc("C09 open", f);
	close(f);
	say_rc("C09 stat", stat(path("file"), &st));
	say_rc("C09 chmod", chmod(path("file"), 0640));
	say_rc("C09 truncate", truncate(path("file"), 10));
	say_rc("C09 rename", rename(path("file"), ct_path("renamed")));
	say_rc("C09 symlink", symlink("target", path("link")));
	memset(link, 0, sizeof(link));
	say("C09 readlink: %zd", readlink(path("link"), link, sizeof(link)));
	say_rc("C09 unlink", unlink(path("link")));
	say_rc("C09 missing", unlink(path("link")));
	fresh();
	memset(map, 'x', 2 * PAGE);
	say_rc("C09 too long", unlink(map));
	say_rc("C09 null", access((const char *)(uintptr_t)8, F_OK));
}

static void objects(void)
{
	struct epoll_event ev = { .events = EPOLLIN, .data = { .u32 = 77 } };
	struct stat *st, real;
	struct pollfd *pfd;
	struct flock *lk;
	fd_set *set;
	int p[2], ep, ones = 0;

	fresh();
	st = (struct stat *)(void *)at;
	say_rc("C09 fstat", fstat(fd, st));
	fstat(fd, &real);
	say("C09 size: %d", real.st_size == st->st_size);
	fresh();
	say_rc("C09 stat", stat(ct_path("small"), (struct stat *)(void *)at));
	fresh();
	say("C09 getrandom: %zd", getrandom(at, 2 * PAGE, 0));
	for (size_t i = 0; i < 2 * PAGE; i++)
		ones += __builtin_popcount((unsigned char)at[i]);
	say("C09 random: %d", ones > 31000 && ones < 34500);
	fresh();
	say("C09 getcwd: %d", getcwd(at, 3000) == at);
	if (pipe(p) || write(p[1], "abc", 3) != 3)
		ct_die("pipe");
	fresh();
	pfd = (struct pollfd *)(void *)at;
	*pfd = (struct pollfd){ p[0], POLLIN, 0 };
	say("C09 poll: %d", poll(pfd, 1, 1000));
	say("C09 revents: %d", pfd->revents);
	fresh();
	set = (fd_set *)(void *)at;
	memset(set, 0, sizeof(*set));
	FD_SET(p[0], set);
	say("C09 select: %d", select(p[0] + 1, set, NULL, NULL, NULL));
	say("C09 set: %d", FD_ISSET(p[0], set) != 0);
	ep = epoll_create1(0);
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev);
	fresh();
	say("C09 epoll_wait: %d",
	    epoll_wait(ep, (struct epoll_event *)(void *)at, 10, 1000));
	say("C09 event: %u", ((struct epoll_event *)(void *)at)->data.u32);
	fresh();
	say_rc("C09 ioctl",
	       ioctl(p[0], FIONREAD, (int *)(void *)(map + 5 * PAGE)));
	say("C09 bytes: %d", *(int *)(void *)(map + 5 * PAGE));
	fresh();
	lk = (struct flock *)(void *)at;
	*lk = (struct flock){ .l_type = F_WRLCK };
	say_rc("C09 fcntl", fcntl(fd, F_SETLK, lk));
	say_rc("C09 fcntl", fcntl(fd, F_GETLK, lk));
	say("C09 lock: %d", lk->l_type == F_UNLCK);
	close(p[0]);
	close(p[1]);
	close(ep);
}

static void addresses(void)
{
	struct sockaddr_un *a, *b;
	socklen_t *len;
	int s = socket(AF_UNIX, SOCK_DGRAM, 0),
	    t = socket(AF_UNIX, SOCK_DGRAM, 0);

	fresh();
	a = (struct sockaddr_un *)(void *)(map + 4 * PAGE - 10);
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	strcpy(a->sun_path, "sock.s");
	unlink(a->sun_path);
	say_rc("C09 bind", bind(s, (struct sockaddr *)a, sizeof(*a)));
	b = (struct sockaddr_un *)(void *)(map + 8 * PAGE - 10);
	len = (socklen_t *)(void *)(map + 12 * PAGE);
	*len = sizeof(*b);
	say_rc("C09 getsockname", getsockname(s, (struct sockaddr *)b, len));
	say("C09 name: %s %u", b->sun_path, *len);
	say("C09 sendto: %zd",
	    sendto(t, map, 10, 0, (struct sockaddr *)a, sizeof(*a)));
	*len = sizeof(*b);
	say("C09 recvfrom: %zd",
	    recvfrom(s, map + 100, 50, 0, (struct sockaddr *)b, len));
	say("C09 data: %d", ct_matches(map + 100, 10, 0));
	unlink("sock.s");
	close(s);
	close(t);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = -1;
	addresses();
	paths();
	objects();
	return 0;
}
