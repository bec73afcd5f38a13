/* SPDX-License-Identifier: MIT */
/* call_table.h - what the pointers of calls.def are in C. */
#pragma once

#include "call_copy.h"

#include <linux/capability.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <utime.h>

/* Say how long an object is, and its direction, by the other arguments. */
#define FM_PTR_BYS(X)                                                      \
	X(shm_object) X(sem_object) X(msg_object) X(msg_sent)              \
	X(msg_received) X(fcntl_object) X(cap_filled) X(cap_read)          \
	X(sysfs_name) X(sysfs_filled) X(ldt_object) X(prctl_object)        \
	X(arch_filled) X(reboot_word) X(quota_object) X(quota_fd_object)   \
	X(fsconfig_value) X(mount_id)

#define FM_PTR_BY_ENUM(name) FM_BY_##name,
enum fm_ptr_by { FM_PTR_BYS(FM_PTR_BY_ENUM) };

#define READ FM_COPY_IN
#define FILL FM_COPY_OUT
#define BOTH (FM_COPY_IN | FM_COPY_OUT)
#define WHOLE FM_COPY_WHOLE

#define S(a) { FM_PTR_STRING, a, READ, 0, 0, 0 }
#define T(a) { FM_PTR_STRING, a, BOTH, 0, 0, 0 }
#define I(a, type) { FM_PTR_FIXED, a, READ, 0, sizeof(type), 0 }
#define O(a, type) { FM_PTR_FIXED, a, FILL | WHOLE, 0, sizeof(type), 0 }
#define W(a, type) { FM_PTR_FIXED, a, BOTH | WHOLE, 0, sizeof(type), 0 }
#define P(a, type) { FM_PTR_FIXED, a, FILL, 0, sizeof(type), 0 }
#define B(a, type) { FM_PTR_FIXED, a, BOTH, 0, sizeof(type), 0 }
#define IN(a, n, unit) { FM_PTR_COUNT, a, READ, n, unit, 0 }
#define ON(a, n, unit) { FM_PTR_COUNT, a, FILL, n, unit, 0 }
#define WN(a, n, unit) { FM_PTR_COUNT, a, FILL | WHOLE, n, unit, 0 }
#define BN(a, n, unit) { FM_PTR_COUNT, a, BOTH, n, unit, 0 }
#define IC(a, n, unit) { FM_PTR_INTS, a, READ, n, unit, 0 }
#define OC(a, n, unit) { FM_PTR_INTS, a, FILL, n, unit, 0 }
#define BITS(a, how, n, less) { FM_PTR_BITS, a, how, n, less, 0 }
#define BC(a, n, unit) { FM_PTR_INTS, a, BOTH, n, unit, 0 }
#define REPLY(a, n) { FM_PTR_REPLY, a, FILL, n, 0, 0 }
#define SIZED(a, how, at, base, least)                                     \
	{ FM_PTR_SIZED, a, how, at, base, least }
#define UPTO(a, how, size) { FM_PTR_UPTO, a, how, 0, size, 0 }
#define BY(a, name) { FM_PTR_BY, a, 0, FM_BY_##name, 0, 0 }
#define INNER(a, at, how, n, width) { FM_PTR_INNER, a, how, n, at, width }
