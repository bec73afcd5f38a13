/* SPDX-License-Identifier: MIT */
/*
 * report.c - what somebody who is to find a fault needs to know of a machine,
 * its settings and one process, as one text. It is read before it is sent:
 * nothing leaves the machine here.
 */
#include "report.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "live.h"
#include "shown.h"

extern char **environ;

static void section(const char *name)
{
	printf("\n== %s\n", name);
}

/* Lines of a small file, those that begin with `only`, or all (NULL). */
static void report_print_file(const char *path, const char *only)
{
	FILE *f = fopen(path, "re");
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (only && strncmp(line, only, strlen(only)))
			continue;
		shown_print(line);
		putchar('\n');
	}
	if (f)
		fclose(f);
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The file `below` of each entry of a directory, or ("") the entries. */
static void print_each(const char *dir, const char *below)
{
	struct dirent **list;
	char path[PATH_MAX];
	int n = scandir(dir, &list, is_visible, alphasort);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", dir, list[i]->d_name,
			 below);
		if (!access(path, R_OK)) {
			shown_print(path);
			puts(":");
			report_print_file(path, NULL);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static void print_system(void)
{
	struct utsname u;

	section("system");
	if (!uname(&u))
		printf("%s %s %s %s\n", u.sysname, u.release, u.version,
		       u.machine);
	report_print_file("/etc/os-release", "PRETTY_NAME");
	printf("%ld CPUs\n", sysconf(_SC_NPROCESSORS_ONLN));
	report_print_file("/proc/meminfo", "Mem");
	report_print_file("/proc/meminfo", "Swap");
	section("control groups of this shell");
	report_print_file("/proc/self/cgroup", NULL);
}

static void print_devices(void)
{
	section("devices");
	print_each("/sys/block", "/queue/rotational");
	print_each("/sys/block", "/queue/scheduler");
	print_each("/sys/class/bdi", "/read_ahead_kb");
}

static void print_settings(void)
{
	section("settings in this environment");
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "FASTMAP_", 8) ||
		    !strncmp(*e, "LD_PRELOAD=", 11)) {
			shown_print(*e);
			putchar('\n');
		}
	section("policy files");
	print_each("/etc/fastmap", "");
}

static void print_process(const char *who)
{
	char *text = live_ask(who, "stats");

	section("statistics");
	if (text) {
		shown_print(text);
		putchar('\n');
	}
	free(text);
}

void report(const char *version, const char *who)
{
	printf("A report for who is to find a fault. It names paths and "
	       "settings:\n"
	       "read it, and take out what others must not know.\n");
	section("fastmap");
	puts(version);
	print_system();
	print_devices();
	print_settings();
	if (who)
		print_process(who);
	section("what this system allows");
}
