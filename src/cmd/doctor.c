/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - what this system allows. The verdict at the end comes from the
 * engine's own start-up code; the lines above it say why.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "advise/advise.h"
#include "base/text.h"
#include "cmd.h"
#include "io/io.h"
#include "map/map.h"
#include "memory.h"
#include "policy.h"
#include "probe.h"
#include "report.h"

static void line(const char *what, bool ok, const char *value,
		 const char *remedy)
{
	printf("%-34s %-4s %s\n", what, ok ? "yes" : "NO", value);
	if (!ok && remedy)
		printf("%-34s      -> %s\n", "", remedy);
}

static void info(const char *what, const char *value)
{
	printf("%-34s      %s\n", what, value);
}

static const char *first_line(const char *path)
{
	static char text[256];

	if (fm_read_small(path, text, sizeof(text)) <= 0)
		return "(not there)";
	text[strcspn(text, "\n")] = 0;
	return text;
}

/* ---- userfaultfd ------------------------------------------------------- */

static void uffd_lines(void)
{
	int full = probe_uffd(0), user = probe_uffd(1),
	    dev = probe_uffd_device();

	bool any = user >= 0 || dev >= 0 || full >= 0;

	line("userfaultfd, user faults", any,
	     !any	? strerror(-user) :
	     user >= 0	? "" :
	     full >= 0	? "by the call for all faults" :
			  "by /dev/userfaultfd",
	     user == -38 ? "the kernel lacks CONFIG_USERFAULTFD" :
			   "a seccomp filter forbids it: in a container, add "
			   "userfaultfd to the profile, or --security-opt "
			   "seccomp=...");
	line("userfaultfd, kernel faults", full >= 0 || dev >= 0,
	     full < 0 && dev >= 0 ? "by /dev/userfaultfd" :
	     full < 0		  ? strerror(-full) : "",
	     "only needed for faults=thread: sysctl "
	     "vm.unprivileged_userfaultfd=1, or chmod a+rw /dev/userfaultfd, "
	     "or CAP_SYS_PTRACE");
	line("/dev/userfaultfd", dev >= 0, dev < 0 ? strerror(-dev) : "",
	     "optional: chmod, or a udev rule");
	info("vm.unprivileged_userfaultfd",
	     first_line("/proc/sys/vm/unprivileged_userfaultfd"));
}

static void feature_lines(void)
{
	uint64_t have = probe_uffd_features();

	for (const struct probe_feature *f = probe_features; f->name; f++) {
		char what[64];

		snprintf(what, sizeof(what), "  %s", f->name);
		line(what, have >> f->bit & 1, "", f->needed);
	}
}

/* ---- io_uring ---------------------------------------------------------- */

static void uring_lines(void)
{
	struct probe_uring p;

	probe_uring(&p);
	line("io_uring", p.create >= 0,
	     p.create < 0 ? strerror(-p.create) : "",
	     "pread and pwrite are used (slower): sysctl "
	     "kernel.io_uring_disabled=0, or allow io_uring_setup in the "
	     "container's seccomp profile");
	if (p.create < 0)
		return;
	line("  open into a fixed slot", p.open_direct >= 0,
	     p.open_direct < 0 ? strerror(-p.open_direct) : "",
	     "needs Linux 5.15; without it descriptors are visible to the "
	     "program");
	line("  pass fixed files between rings", p.send_fd >= 0,
	     p.send_fd < 0 ? strerror(-p.send_fd) : "", "needs Linux 6.0");
	info("kernel.io_uring_disabled",
	     first_line("/proc/sys/kernel/io_uring_disabled"));
}

/* ---- memory and limits ------------------------------------------------- */

static void size_line(const char *what, uint64_t bytes)
{
	char text[64];

	if (bytes == UINT64_MAX)
		strcpy(text, "no limit");
	else
		snprintf(text, sizeof(text), "%lu MiB",
			 (unsigned long)(bytes >> 20));
	info(what, text);
}

static void limit_line(const char *what, int which, rlim_t least,
		       const char *remedy)
{
	struct rlimit rl;
	char text[64];

	getrlimit(which, &rl);
	if (rl.rlim_cur == RLIM_INFINITY)
		strcpy(text, "unlimited");
	else
		snprintf(text, sizeof(text), "%lu",
			 (unsigned long)rl.rlim_cur);
	line(what, rl.rlim_cur >= least, text, remedy);
}

static void memory_lines(void)
{
	size_line("memory of the machine", fm_memory_total());
	size_line("control group limit", fm_cgroup_limit(""));
	size_line("memory this process may use", fm_memory_limit());
	size_line("cache = auto begins with (half)", fm_memory_limit() / 2);
	info("transparent huge pages",
	     first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
	line("process_madvise on self", probe_batch_drop(), "",
	     "pages are dropped one by one; needs Linux 6.14 or 5.10 with a "
	     "pidfd");
	limit_line("RLIMIT_NOFILE", RLIMIT_NOFILE, 256,
		   "few files can be managed at once: ulimit -n 4096");
	limit_line(
		"RLIMIT_AS", RLIMIT_AS, RLIM_INFINITY,
		"mappings and engine tables share this: ulimit -v unlimited");
	limit_line("RLIMIT_NPROC", RLIMIT_NPROC, 64,
		   "the engine starts a few threads: ulimit -u 256");
}

/* ---- what the kernel serves -------------------------------------------- */

static void samples_line(void)
{
	const int err = fm_source_samples.start();
	const bool off = err && err != -EACCES && err != -EPERM;

	line("  by samples of page faults", !err, err ? strerror(-err) : "",
	     off ? "estimates are used: this kernel has no perf events" :
		   "estimates are used: sysctl kernel.perf_event_paranoid=2, or "
		   "allow perf_event_open in the container's seccomp profile");
	if (!err)
		fm_source_samples.end();
}

static void advice_lines(void)
{
	const int err = fm_scan_start();

	line("advice where the kernel serves", !err,
	     err		? strerror(-err) :
	     fm_scan_lists()	? "by estimates (PAGEMAP_SCAN)" :
				  "by estimates (page by page)",
	     "such mappings are the kernel's alone: it needs "
	     "/proc/self/pagemap");
	samples_line();
}

/* ---- warm start --------------------------------------------------------- */

/* For who asks: a service has an environment of its own. */
static void warm_line(void)
{
	const char *dir, *error = "a directory that others may not write to";
	char text[4300];
	struct stat st;
	int err;

	fm_policy_load_for("fastmap", "", environ);
	dir = fm_settings()->warm_dir;
	if (!dir) {
		info("warm start", "off, or there is no HOME; not needed");
		return;
	}
	err = stat(dir, &st) ? errno : 0;
	if (err == ENOENT) {
		snprintf(text, sizeof(text), "none, and not needed; to have it: "
			 "mkdir -m 700 -p %s, as the user of the program", dir);
		info("warm start", text);
		return;
	}
	if (!err && (st.st_uid != geteuid() || (st.st_mode & 022)))
		err = EPERM;
	line("warm start", !err, err ? strerror(err) : dir, error);
}

/* ---- verdict ----------------------------------------------------------- */

static int verdict(void)
{
	struct fm_uffd_caps caps = { 0 };
	int err = fm_uffd_open(true, &caps);
	int io;

	if (err) {
		printf("\nThe engine cannot run here: %s failed (%s).\n"
		       "Programs get the kernel's mmap.\n",
		       caps.failed, strerror(-err));
		return 1;
	}
	io = fm_rings_start(4, true);
	printf("\nThe engine runs. faults=auto takes: signal%s. Device I/O: "
	       "%s.\n",
	       caps.move ? "" : " (no huge-page moves: Linux 6.8)",
	       io == 0 ? "io_uring" : "pread and pwrite");
	return 0;
}

static const char help[] =
	"usage: fastmap doctor [--report [WHO]]\n"
	"Tries what this system allows; status 0: the engine runs here.\n"
	"  --report   print what a report of a fault should say, too: system,\n"
	"             devices, settings, policy files, and the statistics of\n"
	"             WHO: a process id, a program's name, or a socket\n";

int cmd_doctor(int argc, char **argv)
{
	static int wanted;
	static const struct option known[] = {
		CMD_FLAG("report", wanted), CMD_HELP, { 0 },
	};
	const int r = cmd_flags(argc, argv, known, 0, 1, help);

	if (r >= 0)
		return r;
	if (wanted)
		report("fastmap " FM_VERSION, argv[optind]);
	else if (argc > optind)
		return cmd_usage(help, "too many arguments");
	info("kernel", first_line("/proc/sys/kernel/osrelease"));
	line("/proc", access("/proc/self/exe", F_OK) == 0, "",
	     "no path can be resolved, nothing is served: mount -t proc proc "
	     "/proc");
	uffd_lines();
	feature_lines();
	uring_lines();
	memory_lines();
	advice_lines();
	warm_line();
	return verdict();
}
