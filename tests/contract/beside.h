/* SPDX-License-Identifier: MIT */
/* beside.h - a thread works on a mapping until `stop`, while another one makes
 * the kernel take the file over. */
#ifndef BESIDE_H
#define BESIDE_H

#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic int stop;
static int bad, failed;

/* mlock does it. `before`: microseconds. Unmaps. */
static void beside(char *map, size_t len, void *(*work)(void *),
		   unsigned before)
{
	pthread_t t;

	atomic_store(&stop, 0);
	pthread_create(&t, NULL, work, NULL);
	usleep(before);
	if (mlock(map + len - PAGE, PAGE))
		failed++;
	usleep(500);
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
	munmap(map, len);
}

#endif
