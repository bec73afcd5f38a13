/* SPDX-License-Identifier: MIT */
/* own_uffd.h - a userfaultfd of the program's own, beside the library's. */
#ifndef OWN_UFFD_H
#define OWN_UFFD_H

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "ct.h"

/* Where there is none the test is skipped. flags: UFFD_USER_MODE_ONLY, or 0:
 * for faults of the kernel's, too. */
static int ct_uffd(int flags)
{
	struct uffdio_api api = { .api = UFFD_API };
	int u = (int)syscall(SYS_userfaultfd, O_CLOEXEC | flags);

	if (u < 0 || ioctl(u, UFFDIO_API, &api))
		ct_skip(flags ? "no userfaultfd" :
				"no userfaultfd for the kernel's own faults");
	return u;
}

/* It is told of pages that are not there. What the request returns. */
static int ct_uffd_watch(int u, const void *p, size_t len)
{
	struct uffdio_register r = { { (uintptr_t)p, len },
				     UFFDIO_REGISTER_MODE_MISSING, 0 };

	return ioctl(u, UFFDIO_REGISTER, &r);
}

#endif
