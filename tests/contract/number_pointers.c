/* SPDX-License-Identifier: MIT */
/* C31n: calls by their number with pointers in what they point to, or whose
 * pointers depend on another argument; each at memory of a file that is not
 * resident. */
#include "ct.h"

#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define STEP 32ul /* pages: none comes along with another */
#define PLACES 64ul
#define SETXATTRAT 463
#define GETXATTRAT 464
#define UNIQUE_MOUNT 1 /* of name_to_handle_at */

static int fd;
static char *map;
static size_t used;

/* Memory of the file that nobody has touched, with this in it. */
static void *place(const void *what, size_t n)
{
	size_t off = used++ * STEP * PAGE + PAGE - 4;

	if (used > PLACES)
		ct_die("places");
	if (n)
		ct_pwrite(fd, what, n, (off_t)off);
	return map + off;
}

static void *text(const char *s)
{
	return place(s, strlen(s) + 1);
}

/* ---- messages ------------------------------------------------------------ */

static struct msghdr header(char **data, bool mapped)
{
	struct iovec v[2];
	struct msghdr m = { .msg_iovlen = 2 };
	static struct iovec ours[2];

	*data = place(NULL, 0);
	v[0] = (struct iovec){ *data, 3 };
	v[1] = (struct iovec){ *data + 3, 100 };
	memcpy(ours, v, sizeof(v));
	m.msg_iov = mapped ? place(v, sizeof(v)) : ours;
	return m;
}

static void messages(void)
{
	struct mmsghdr *mm, several = { 0 };
	struct msghdr m, *h;
	int pair[2];
	char *data;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		ct_die("socketpair");
	for (int i = 0; i < 3; i++)
		if (send(pair[0], "datagram", 8, 0) != 8)
			ct_die("send");
	m = header(&data, false);
	say("C31n recvmsg: %ld", syscall(SYS_recvmsg, pair[1], &m, 0));
	say("C31n data: %.8s", data);
	m = header(&data, true);
	h = place(&m, sizeof(m));
	say("C31n recvmsg, all mapped: %ld",
	    syscall(SYS_recvmsg, pair[1], h, 0));
	say("C31n data: %.8s", data);
	several.msg_hdr = header(&data, true);
	mm = place(&several, sizeof(several));
	say("C31n recvmmsg: %ld",
	    syscall(SYS_recvmmsg, pair[1], mm, 1, 0, NULL));
	say("C31n length: %u, data: %.8s", mm->msg_len, data);
	close(pair[0]);
	close(pair[1]);
}

/* ---- programs ------------------------------------------------------------ */

static void executes(bool at)
{
	char *argv[] = { (char *)"sh", (char *)"-c", text("echo C31n $A"),
			 NULL };
	char *envp[] = { text(at ? "A=execveat" : "A=execve"), NULL };
	const char *path = text("/bin/sh");
	char **v = place(argv, sizeof(argv)), **e = place(envp, sizeof(envp));
	int pid = fork();

	if (!pid && at)
		syscall(SYS_execveat, AT_FDCWD, path, v, e, 0);
	if (!pid && !at)
		syscall(SYS_execve, path, v, e);
	if (!pid) {
		say("C31n exec: %s", ct_errno(true));
		_exit(1);
	}
	say("C31n ended: %d", ct_ended(pid));
}

/* In the process that has mapped the file; here it is the engine's still. */
static void executes_here(void)
{
	char *none[] = { NULL };

	say_rc("C31n execve, no such program",
	       syscall(SYS_execve, text("/none"), place(none, sizeof(none)),
		       NULL));
}

/* ---- keys ---------------------------------------------------------------- */

static void keys(void)
{
	const long ring = KEY_SPEC_PROCESS_KEYRING;
	long key = syscall(SYS_add_key, "user", "c31n", "old", 3, ring), n;
	char *p;

	say_rc("C31n add_key", key < 0 ? -1 : 0);
	say_rc("C31n KEYCTL_UPDATE",
	       syscall(SYS_keyctl, KEYCTL_UPDATE, key, text("newer"), 5));
	p = place(NULL, 0);
	n = syscall(SYS_keyctl, KEYCTL_READ, key, p, 100);
	say("C31n KEYCTL_READ: %ld %s %.5s", n, ct_errno(n < 0),
	    n < 0 ? "" : p);
	p = place(NULL, 0);
	n = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, p, 100);
	say("C31n KEYCTL_DESCRIBE: %ld %s %.5s", n, ct_errno(n < 0),
	    n < 0 ? "" : p);
	n = syscall(SYS_keyctl, KEYCTL_SEARCH, ring, text("user"),
		    text("c31n"), 0);
	say("C31n KEYCTL_SEARCH: %s %d", ct_errno(n < 0), n == key);
	say_rc("C31n KEYCTL_JOIN_SESSION_KEYRING",
	       syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
		       text("c31n")) < 0 ? -1 : 0);
}

/* ---- masks and values ---------------------------------------------------- */

static void nothing(int sig)
{
}

/* A signal that waits comes if the mask lets it. */
static void masks(void)
{
	const uint64_t bit = 1ull << (SIGUSR1 - 1), none = 0;
	const struct {
		const void *mask;
		size_t len;
	} open = { place(&none, 8), 8 }, shut = { place(&bit, 8), 8 };
	const struct timespec now = { 0, 0 };
	sigset_t usr1;

	signal(SIGUSR1, nothing);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	say_rc("C31n pselect6, mask", syscall(SYS_pselect6, 0, NULL, NULL, NULL,
					      &now, &shut));
	say_rc("C31n pselect6, all mapped",
	       syscall(SYS_pselect6, 0, NULL, NULL, NULL, &now,
		       place(&open, sizeof(open))));
	raise(SIGUSR1);
	say_rc("C31n pselect6, open mask", syscall(SYS_pselect6, 0, NULL, NULL,
						   NULL, &now, &open));
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
}

static void attributes(void)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args = { (uintptr_t)text("value"), 5, 0 };
	const char *name = "user.c31n", *file = ct_path("attributed");
	char *p;

	close(ct_file("attributed", PAGE));
	say_rc("C31n setxattrat", syscall(SETXATTRAT, AT_FDCWD, file, 0, name,
					  &args, sizeof(args)));
	p = place(NULL, 0);
	args.value = (uintptr_t)p;
	args.size = 100;
	say("C31n getxattrat: %ld", syscall(GETXATTRAT, AT_FDCWD, file, 0, name,
					    place(&args, sizeof(args)),
					    sizeof(args)));
	say("C31n value: %d", !memcmp(p, "value", 5));
}

static void programs(void)
{
	union bpf_attr a = { 0 };
	long r;

	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = a.value_size = 4;
	a.max_entries = 1;
	r = syscall(SYS_bpf, BPF_MAP_CREATE, place(&a, sizeof(a)), sizeof(a));
	say("C31n bpf: %s", ct_errno(r < 0));
	if (r >= 0)
		close((int)r);
}

static void handles(void)
{
	struct {
		struct file_handle h;
		char room[MAX_HANDLE_SZ];
	} h = { .h.handle_bytes = MAX_HANDLE_SZ }, g = h;
	uint64_t *mount = place(NULL, 0), want = 0;
	long r = syscall(SYS_name_to_handle_at, AT_FDCWD, ct_dir, &h, mount,
			 UNIQUE_MOUNT);

	say_rc("C31n name_to_handle_at", r);
	if (r || syscall(SYS_name_to_handle_at, AT_FDCWD, ct_dir, &g, &want,
			 UNIQUE_MOUNT))
		return;
	say("C31n mount: %d", !memcmp(mount, &want, sizeof(want)));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("pointers", PLACES * STEP * PAGE);
	map = ct_map(fd, PLACES * STEP * PAGE, RW, MAP_SHARED, 0);
	ct_load(map + (PLACES * STEP - 1) * PAGE);
	messages();
	keys();
	masks();
	attributes();
	programs();
	handles();
	executes_here();
	executes(false);
	executes(true);
	return 0;
}
