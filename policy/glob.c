/* SPDX-License-Identifier: MIT */
#include "glob.h"

#include <stddef.h>
#include <string.h>

/* One bracket expression at *p (behind the '['); advances behind the ']'. An
 * unclosed bracket matches nothing. */
static bool in_class(const char **p, char c)
{
	const char *s = *p;
	bool negate = *s == '!' || *s == '^', found = false;

	if (negate)
		s++;
	for (bool first = true; *s && (first || *s != ']'); first = false) {
		char lo = *s, hi = lo;

		if (s[1] == '-' && s[2] && s[2] != ']') {
			hi = s[2];
			s += 2;
		}
		found |= lo <= c && c <= hi;
		s++;
	}
	if (!*s)
		return false;
	*p = s + 1;
	return found != negate && c != '/';
}

/* Does the single character c match the pattern element at *p? */
static bool match_one(const char **p, char c)
{
	char e = *(*p)++;

	if (e == '?')
		return c != '/';
	if (e == '[')
		return in_class(p, c);
	if (e == '\\' && **p)
		e = *(*p)++;
	return e == c;
}

/* Iterative with one resume point per kind of star: a later star makes an
 * earlier one of the same reach unnecessary, so the time is polynomial. */
struct resume {
	const char *pattern, *text;
};

static bool rewind_to(struct resume *r, bool across, const char **p,
		      const char **s)
{
	if (!r->pattern || !*r->text || (!across && *r->text == '/'))
		return false;
	*p = r->pattern;
	*s = ++r->text;
	return true;
}

bool fm_glob(const char *p, const char *s)
{
	struct resume one = { NULL, NULL }, deep = { NULL, NULL };

	for (;;) {
		if (*p == '*') {
			bool across = p[1] == '*';

			while (*p == '*')
				p++;
			one = (struct resume){ p, s };
			if (across) {
				deep = one;
				one.pattern = NULL;
			}
			continue;
		}
		if (!*p && !*s)
			return true;
		if (*p && *s && match_one(&p, *s)) {
			s++;
			continue;
		}
		if (rewind_to(&one, false, &p, &s))
			continue;
		one.pattern = NULL;
		if (!rewind_to(&deep, true, &p, &s))
			return false;
	}
}

const char *fm_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool fm_path_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return !strncmp(dir, path, n) && (!path[n] || path[n] == '/');
}

bool fm_never_matches(const char *pattern)
{
	return strchr(pattern, '/') && !strchr("/*?[\\", *pattern);
}

bool fm_path_match(const char *pattern, const char *path)
{
	if (!strchr(pattern, '/'))
		return fm_glob(pattern, fm_base_name(path));
	if (!strpbrk(pattern, "*?[\\"))
		return fm_path_below(pattern, path);
	return fm_glob(pattern, path);
}
