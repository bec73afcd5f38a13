/* SPDX-License-Identifier: MIT */
#include "left.h"

#include <stdlib.h>
#include <string.h>

#include "life.h"
#include "proc.h"
#include "sys.h"
#include "text.h"

#define STATUS 52 /* in a process's stat, as waitpid(2) has it */
#define NAME 16

/* The kernel's workers of a ring end with the process. */
static bool is_name_of_ours(const char *name)
{
	return !strncmp(name, "fastmap-", 8) || !strncmp(name, "iou-", 4);
}

/* Or it has ended. What cannot be known is the program's. */
static bool is_ours(const char *tid)
{
	char path[64], name[NAME + 1] = "";
	long n;
	int fd;

	if (fm_join(path, sizeof(path), "/proc/self/task/", tid, "/comm"))
		return false;
	fd = fm_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return fd == -ENOENT;
	n = fm_sys3(SYS_read, fd, name, NAME);
	fm_sys_close(fd);
	return n < 0 ? n == -ESRCH : is_name_of_ours(name);
}

struct threads {
	int main_thread;
	bool ours; /* all but that one, so far */
};

static void look_at(const char *name, void *arg)
{
	struct threads *t = arg;

	if (name[0] != '.' && atoi(name) != t->main_thread)
		t->ours = t->ours && is_ours(name);
}

static bool all_are_ours(void)
{
	char buf[4096] __attribute__((aligned(8)));
	struct threads t = { (int)fm_sys0(SYS_getpid), true };
	int err, fd = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return false;
	err = fm_each_entry(fd, buf, sizeof(buf), look_at, &t);
	fm_sys_close(fd);
	return !err && t.ours;
}

static _Atomic bool outlived; /* the main thread, by others */

/* Only its main thread's state says of a process whether others have been left
 * alone: so that is looked at first. The status is that of the program's last
 * thread, which is 0 for any but the main one. */
bool fm_left_alone(int *ret_status)
{
	char state;
	const uint64_t status = fm_proc_stat("/proc/self/stat", STATUS, &state);

	if (state != 'Z')
		return false;
	*ret_status = atomic_load(&outlived) ? 0 : (int)(status >> 8 & 0xff);
	if (all_are_ours())
		return true;
	atomic_store(&outlived, true);
	return false;
}

static void reset(void)
{
	atomic_store(&outlived, false);
}

FM_LIFE(left, .level = FM_LIFE_MEMORY, .reset = reset)
