/* SPDX-License-Identifier: MIT */
/* all ours */
/* K44: a child of vfork limits and confines itself, a filter for all threads is
 * refused for the sake of one, and that one, which has a filter, may not be
 * strict: the program goes on as before. */
/* timeout: 60 */
#include "ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define N (64 * PAGE)

static struct sock_filter all[] = {
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog program = { 1, all };
static const struct rlimit limit = { 8 * PAGE, N };

/* Only system calls, in our memory. */
static void child(void)
{
	pid_t pid = vfork();
	int end;

	if (pid == 0) {
		int bad = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

		bad |= setrlimit(RLIMIT_FSIZE, &limit);
		bad |= prlimit(0, RLIMIT_FSIZE, &limit, NULL);
		bad |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		bad |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
		bad |= (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				    &program);
		_exit(bad ? 1 : 0);
	}
	waitpid(pid, &end, 0);
	say("K44 child of vfork: %x", end);
}

static void *of_another_mind(void *arg)
{
	int *p = arg;
	char c = 'x';

	ct_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	ct_raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0);
	if (write(p[1], &c, 1) != 1 || read(p[2], &c, 1) != 1)
		return arg;
	say_rc("K44 strict, too, by prctl",
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	say_rc("K44 strict, too", (int)syscall(SYS_seccomp,
					       SECCOMP_SET_MODE_STRICT, 0,
					       NULL));
	return NULL;
}

static void refused(void)
{
	int p[4];
	pthread_t t;
	char c;

	if (pipe(p) || pipe(p + 2))
		ct_die("pipe");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	pthread_create(&t, NULL, of_another_mind, p);
	if (read(p[0], &c, 1) != 1)
		ct_die("read");
	say("K44 for all threads, refused: %d",
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &program) > 0);
	if (write(p[3], &c, 1) != 1)
		ct_die("write");
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	char *p;

	ct_begin(argc, argv);
	p = ct_map(ct_file("f", N), N, RW, MAP_SHARED, 0);
	p[30 * PAGE] = 'd';
	child();
	p[31 * PAGE] = 'e';
	say_load("K44 after a child of vfork", p, 5 * PAGE);
	refused();
	say_load("K44 after a refusal", p, 6 * PAGE);
	return 0;
}
