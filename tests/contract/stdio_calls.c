/* SPDX-License-Identifier: MIT */
/* C94: what streams print and read while a file is mapped; what ends in a
 * stream's buffer makes no system call. */
#include "ct.h"

#include <sys/ptrace.h>

#define N (64 * PAGE)
#define ROUNDS 3000

static char *map;

static void print(FILE *o, unsigned r, int i)
{
	switch (r % 9) {
	case 0:
		fprintf(o, "%d %5u|%-8s|%c\n", i, r, "ab", 'x');
		break;
	case 1:
		fprintf(o, "%ld %lld %zu %hhd %x\n", (long)r * r,
			(long long)r << 30, (size_t)i, (signed char)i, r);
		break;
	case 2:
		fprintf(o, "%f %.3f %g %e %10.2f\n", r * 1e300, r / 7., r / 3.,
			r * 1e-200, i / 3.);
		break;
	case 3:
		fprintf(o, "%.*s %.3s %s\n", 3, "abcdef", "xyzzy", map + 9);
		break;
	case 4:
		for (int k = 0; k < 20; k++)
			putc('a' + k, o);
		break;
	case 5:
		fputs("line\n", o);
		break;
	case 6:
		fwrite(map + 9, 1, 11, o);
		break;
	case 7:
		fprintf(o, "%p %% %Lf\n", (void *)0x1234, (long double)i);
		break;
	case 8:
		fprintf(o, "%1000d %s\n", i, "wide");
		break;
	}
}

static void streams(const char *name, int mode)
{
	FILE *f = fopen(ct_path(name), "w+");
	unsigned long hash = 0;
	unsigned r = 1;
	int c;

	if (mode != _IOFBF)
		setvbuf(f, NULL, mode, 0);
	for (int i = 0; i < ROUNDS; i++) {
		r = r * 1103515245 + 12345;
		print(f, r >> 16, i);
	}
	rewind(f);
	while ((c = getc(f)) != EOF)
		hash = hash * 31 + (unsigned long)c;
	say("C94 %s: %lx", name, hash);
	fclose(f);
}

/* Between two stops. */
static void counted(void)
{
	static char buffer[1 << 16];
	FILE *f = fopen("/dev/null", "w");

	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	map = ct_map(ct_file("g", N), N, RW, MAP_SHARED, 0);
	map[PAGE]++;
	putc('x', f);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (int i = 0; i < 1000; i++) {
		fprintf(f, "%d %s\n", i, "text");
		putc('x', f);
		fputs("abc", f);
	}
	raise(SIGSTOP);
	_exit(0);
}

static void count(void)
{
	int status, calls = 0, stops = 0;
	pid_t pid = fork();

	if (!pid)
		counted();
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == SIGSTOP && ++stops == 2)
			break;
		calls += WSTOPSIG(status) == SIGTRAP && stops == 1;
		ptrace(PTRACE_SYSCALL, pid, 0,
		       WSTOPSIG(status) == SIGTRAP ||
				       WSTOPSIG(status) == SIGSTOP ?
			       0 : WSTOPSIG(status));
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	say("C94 stops: %d, calls: %s", stops, calls < 100 ? "few" : "many");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	count();
	map = ct_map(ct_file("f", N), N, RW, MAP_SHARED, 0);
	map[1]++;
	memcpy(map + 9, "mapped text", 12);
	streams("full", _IOFBF);
	streams("line", _IOLBF);
	streams("none", _IONBF);
	return 0;
}
