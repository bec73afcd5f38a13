/* SPDX-License-Identifier: MIT */
#include "read_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "base/text.h"
#include "tunables.h"

uint64_t fm_readahead_known(dev_t dev)
{
	char path[64] = "/sys/class/bdi/", text[32];
	size_t n = strlen(path);
	uint64_t kib;

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

static uint64_t ask(dev_t dev)
{
	const uint64_t bytes = fm_readahead_known(dev);

	return bytes ? bytes : fm_tune.read_ahead_unknown;
}

uint64_t fm_readahead_bytes(dev_t dev)
{
	static dev_t of;
	static uint64_t bytes, until_ms;
	const uint64_t now = fm_now_ms();

	if (dev != of || now >= until_ms) {
		bytes = ask(dev);
		of = dev;
		until_ms = now + fm_tune.read_ahead_anew_ms;
	}
	return bytes;
}
