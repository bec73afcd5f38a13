/* SPDX-License-Identifier: MIT */
#include "shown.h"
#include "stage.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "glob.h"
#include "heard.h"
#include "policy.h"
#include "settings.h"

/* ---- our own process --------------------------------------------------- */

/* What LD_PRELOAD names, without our library. */
static char *other_preloads(const char *value)
{
	char *text = strdup(value), *next = text, *name;
	char *ret = calloc(1, strlen(value) + 2);

	while ((name = strsep(&next, ": "))) {
		if (!*name || !strncmp(fm_base_name(name), "libfastmap", 10))
			continue;
		if (*ret)
			strcat(ret, ":");
		strcat(ret, name);
	}
	free(text);
	return ret;
}

void stage_leave_library(char **argv)
{
	const char *value = getenv("LD_PRELOAD");
	char *others;

	if (!value || !strstr(value, "libfastmap"))
		return;
	others = other_preloads(value);
	if (strlen(others) == strlen(value))
		return;
	if (*others)
		setenv("LD_PRELOAD", others, 1);
	else
		unsetenv("LD_PRELOAD");
	execv("/proc/self/exe", argv);
}

/* ---- the paths --------------------------------------------------------- */

static bool may_be_data(const char *arg, char *ret_real)
{
	struct stat st;

	return realpath(arg, ret_real) && strcmp(ret_real, "/") &&
	       !strchr(ret_real, ':') && stat(ret_real, &st) == 0 &&
	       (S_ISDIR(st.st_mode) ||
		(S_ISREG(st.st_mode) && st.st_size >= 1 << 20));
}

/* "/data/x.db:/data/y.db" */
static bool guess_paths(char **args)
{
	char real[PATH_MAX], *list = NULL;
	bool any;
	size_t size;
	FILE *f = open_memstream(&list, &size);

	for (; f && *args; args++)
		if (may_be_data(*args, real))
			fprintf(f, "%s%s", ftell(f) ? ":" : "", real);
	if (!f || fclose(f))
		return false;
	any = *list;
	if (any)
		setenv("FASTMAP_PATHS", list, 1);
	free(list);
	return any;
}

int stage_paths(char **argv, const struct program *p)
{
	const char *why;
	bool guessed = false;

	fm_policy_load_for(p->argv0, p->file, environ);
	if (!fm_policy_any() && !getenv("FASTMAP_PATHS")) {
		guessed = guess_paths(argv + 1);
		fm_policy_load_for(p->argv0, p->file, environ);
	}
	why = settings_why_not(argv[0], p);
	if (why)
		fm_log(FM_LOG_ERROR, "%s; nothing to look at", why);
	return why ? -1 : guessed;
}

/* ---- the statistics ---------------------------------------------------- */

int stage_folder(char *ret)
{
	const char *where = getenv("TMPDIR");
	char stats[PATH_MAX + 16];

	snprintf(ret, PATH_MAX, "%s/fastmap-runs.XXXXXX",
		 where && *where == '/' ? where : "/tmp");
	if (!mkdtemp(ret)) {
		fprintf(stderr, "fastmap: %s: %m\n", ret);
		*ret = 0;
		return -1;
	}
	snprintf(stats, sizeof(stats), "%s/%%p.json", ret);
	return setenv("FASTMAP_STATS", stats, 1) ||
	       setenv("FASTMAP_SUMMARY", "no", 1) ||
	       setenv("FASTMAP_WARM_START", "off", 1); /* each run is cold */
}

json_t *stage_collect(const char *folder)
{
	json_t *docs = json_array(), *doc;
	DIR *d = opendir(folder);
	char path[PATH_MAX + 256];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		doc = shown_json(json_load_file(path, 0, NULL));
		if (doc)
			json_array_append_new(docs, doc);
		unlink(path);
	}
	if (d)
		closedir(d);
	return docs;
}

void stage_run_variable(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv(FM_RUN_VARIABLE, pid, 1);
}
