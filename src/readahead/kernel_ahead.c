/* SPDX-License-Identifier: MIT */
#include "kernel_ahead.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "io/io.h"
#include "tunables.h"

/* A program that has confined itself may be ended for it. */
static uint64_t kernel_ahead_ask(dev_t dev)
{
	char path[64] = "/sys/class/bdi/", text[32];
	size_t n = strlen(path);
	uint64_t kib;

	if (!fm_sys_may_ask())
		return 0;
	fm_number_text(path + n, major(dev));
	n = strlen(path);
	path[n++] = ':';
	fm_number_text(path + n, minor(dev));
	n = strlen(path);
	memcpy(path + n, "/read_ahead_kb", sizeof("/read_ahead_kb"));
	if (fm_read_small(path, text, sizeof(text)) <= 0)
		return 0;
	kib = strtoul(text, NULL, 10);
	return kib << 10;
}

/* Of the devices that were asked for last. */
#define KNOWN 8 /* size */
static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct {
	dev_t dev;
	uint64_t bytes, until_ms;
} known[KNOWN];

static bool kernel_ahead_find(dev_t dev, uint64_t *ret)
{
	const uint64_t now = fm_now_ms();
	bool found = false;

	fm_lock(&lock);
	for (unsigned k = 0; k < KNOWN && !found; k++) {
		found = known[k].dev == dev && now < known[k].until_ms;
		*ret = known[k].bytes;
	}
	fm_unlock(&lock);
	return found;
}

static void kernel_ahead_keep(dev_t dev, uint64_t bytes)
{
	unsigned at = 0;

	fm_lock(&lock);
	for (unsigned k = 1; k < KNOWN; k++)
		if (known[k].until_ms < known[at].until_ms)
			at = k;
	known[at].dev = dev;
	known[at].bytes = bytes;
	known[at].until_ms = fm_now_ms() + fm_tune.kernel_ahead_anew_ms;
	fm_unlock(&lock);
}

uint64_t fm_readahead_known(dev_t dev)
{
	uint64_t bytes;

	if (kernel_ahead_find(dev, &bytes))
		return bytes;
	bytes = kernel_ahead_ask(dev);
	kernel_ahead_keep(dev, bytes);
	return bytes;
}

uint64_t fm_readahead_bytes(dev_t dev)
{
	const uint64_t bytes = fm_readahead_known(dev);

	return bytes ? bytes : fm_tune.kernel_ahead_unknown;
}

/* A read of so many bytes takes as long as `hidden` more would pass in; while
 * they are gone through, as many more come. */
enum fm_late fm_readahead_late(dev_t dev)
{
	const uint64_t ahead = fm_readahead_known(dev);
	const uint64_t hidden = fm_device_hidden(dev);

	if (!ahead)
		return FM_LATE_MAYBE;
	if (2 * ahead < hidden && fm_device_has_told(dev))
		return FM_LATE_MOSTLY;
	return ahead / 4 < hidden ? FM_LATE_MAYBE : FM_LATE_NO;
}

static void kernel_ahead_forked(void)
{
	fm_lock_reset(&lock);
}

FM_LIFE(kernel_ahead, .level = FM_LIFE_HELPERS, .forked = kernel_ahead_forked)
