/* SPDX-License-Identifier: MIT */
/*
 * plain.c - libc's functions on text, for ourselves, hidden. Each name that the
 * loader has to look up takes every program that starts half a microsecond, and
 * nobody shall interpose these. What is asked for is short: names, paths,
 * options. Compiled so that no loop becomes a call of itself (meson.build).
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

size_t strnlen(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return n;
}

int strncmp(const char *a, const char *b, size_t most)
{
	size_t i = 0;

	while (i < most && a[i] && a[i] == b[i])
		i++;
	return i < most ? (unsigned char)a[i] - (unsigned char)b[i] : 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

static char *find_char(const char *s, int c)
{
	while (*s && *s != (char)c)
		s++;
	return *s == (char)c ? (char *)(size_t)s : NULL;
}

char *strchr(const char *s, int c)
{
	return find_char(s, c);
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do {
		if (*s == (char)c)
			last = s;
	} while (*s++);
	return (char *)(size_t)last;
}

/* How many of the first are among `set`, or are not. */
static size_t span(const char *s, const char *set, bool among)
{
	size_t n = 0;

	while (s[n] && (find_char(set, s[n]) != NULL) == among)
		n++;
	return n;
}

size_t strspn(const char *s, const char *set)
{
	return span(s, set, true);
}

size_t strcspn(const char *s, const char *set)
{
	return span(s, set, false);
}

char *strpbrk(const char *s, const char *set)
{
	s += span(s, set, false);
	return *s ? (char *)(size_t)s : NULL;
}

char *strstr(const char *s, const char *what)
{
	const size_t n = strlen(what);

	for (; strncmp(s, what, n); s++)
		if (!*s)
			return NULL;
	return (char *)(size_t)s;
}

char *strncpy(char *to, const char *from, size_t n)
{
	size_t i = 0;

	for (; i < n && from[i]; i++)
		to[i] = from[i];
	for (; i < n; i++)
		to[i] = 0;
	return to;
}

char *strcpy(char *to, const char *from)
{
	return strncpy(to, from, strlen(from) + 1);
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	while (i < n && x[i] == y[i])
		i++;
	return i < n ? x[i] - y[i] : 0;
}

/* ---- sets ---------------------------------------------------------------- */

/* As libc has it: two are its own. Its set begins with the kernel's. */
static unsigned long *signal_word(sigset_t *set, int signal)
{
	if (set && signal > 0 && signal < NSIG && signal != 32 && signal != 33)
		return set->__val;
	errno = EINVAL;
	return NULL;
}

int sigemptyset(sigset_t *set)
{
	*set = (sigset_t){ { 0 } };
	return 0;
}

int sigaddset(sigset_t *set, int signal)
{
	unsigned long *w = signal_word(set, signal);

	if (w)
		*w |= 1ul << (signal - 1);
	return w ? 0 : -1;
}

int sigdelset(sigset_t *set, int signal)
{
	unsigned long *w = signal_word(set, signal);

	if (w)
		*w &= ~(1ul << (signal - 1));
	return w ? 0 : -1;
}

int __sched_cpucount(size_t size, const cpu_set_t *set)
{
	int n = 0;

	for (size_t i = 0; i < size / sizeof(*set->__bits); i++)
		n += __builtin_popcountl(set->__bits[i]);
	return n;
}
