/* SPDX-License-Identifier: MIT */
/* unknown.c - variables that look like ours and are not: mistyped ones. */
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "heard.h"
#include "set.h"

#define NAME 40 /* longer ones are like none of ours */
#define NEAR 3  /* letters to be changed, added or left out */

static const char *const others[] = {
	"FASTMAP_POLICY", "FASTMAP_DEEPBIND", "FASTMAP_TUNE",
	FM_RUN_VARIABLE,
};
#define OTHERS (sizeof(others) / sizeof(others[0]))

/* Of our own tests and examples. */
static const char *const foreign[] = { "FASTMAP_TEST_", "FASTMAP_APPS_",
				       "FASTMAP_DEMO_" };

static const char *name_at(unsigned i)
{
	return i < OTHERS ? others[i] : fm_options[i - OTHERS].env;
}

/* Levenshtein's distance, a row of his table at a time. */
static unsigned unknown_distance(const char *a, const char *b)
{
	unsigned row[NAME + 1], n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned change = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = (unsigned)fm_least(
				change, fm_least(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

static bool is_known(const char *name)
{
	for (unsigned i = 0; i < OTHERS + fm_option_count; i++)
		if (name_at(i) && !strcmp(name, name_at(i)))
			return true;
	return false;
}

/* What it may have been meant to be, or "". */
static const char *nearest(const char *name)
{
	const char *best = "";
	unsigned found = NEAR + 1;

	for (unsigned i = 0; i < OTHERS + fm_option_count; i++) {
		const char *known = name_at(i);
		unsigned d;

		if (!known)
			continue;
		d = unknown_distance(name, known);
		if (d < found) {
			found = d;
			best = known;
		}
	}
	return best;
}

static bool is_foreign(const char *name)
{
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (!strncmp(name, foreign[i], strlen(foreign[i])))
			return true;
	return false;
}

static void unknown_remark(const char *name)
{
	const char *meant;

	if (is_known(name) || is_foreign(name) ||
	    fm_heard_before(name))
		return;
	meant = nearest(name);
	fm_log(FM_LOG_WARN, "unknown variable %s%s%s%s", name,
	       *meant ? " (is " : "", meant, *meant ? " meant?)" : "");
}

void fm_remark_unknown(char **envp)
{
	for (; envp && *envp; envp++) {
		char name[NAME];
		size_t n;

		if (**envp != 'F' || strncmp(*envp, "FASTMAP_", 8))
			continue;
		n = strcspn(*envp, "=");
		if (n >= sizeof(name))
			continue;
		memcpy(name, *envp, n);
		name[n] = 0;
		unknown_remark(name);
	}
}
