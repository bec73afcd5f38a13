/* SPDX-License-Identifier: MIT */
/* store_plugin.c - a shared object of the user's: fastmap-store.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fastmap-store.h"
#include "store_helper.h"

static const struct fastmap_store *plugin;
static void *handle;

/* The least that there has ever been. */
static const char *unfit(void)
{
	if (!plugin || plugin->version != FASTMAP_STORE_VERSION)
		return "is of another version";
	if (plugin->size < offsetof(struct fastmap_store, parallel))
		return "says a size that is too small";
	return plugin->get_size && plugin->pread ? NULL :
						   "has no get_size or pread";
}

static int plugin_load(const char *path, char *why, size_t size)
{
	const struct fastmap_store *(*init)(void);
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!so) {
		snprintf(why, size, "%s", dlerror());
		return ENOENT;
	}
	*(void **)&init = dlsym(so, "fastmap_store_init");
	if (!init) {
		snprintf(why, size, "%s has no fastmap_store_init", path);
		return EINVAL;
	}
	plugin = init();
	if (!unfit())
		return 0;
	snprintf(why, size, "%s %s", path, unfit());
	return EINVAL;
}

static int plugin_open(const char *where, char *why, size_t size)
{
	const char *args = strchr(where, '?');
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%.*s",
		 args ? (int)(args - where) : (int)strlen(where), where);
	err = plugin_load(path, why, size);
	if (err || !plugin->open)
		return err;
	errno = EIO;
	handle = plugin->open(args ? args + 1 : "");
	if (handle)
		return 0;
	err = store_errno(errno);
	snprintf(why, size, "%s: its open failed", path);
	return err;
}

static int64_t plugin_size(void)
{
	return plugin->get_size(handle);
}

static int plugin_read(unsigned worker, void *buf, size_t n, uint64_t off)
{
	(void)worker;
	errno = EIO;
	return plugin->pread(handle, buf, n, off) ?
		       store_errno(errno) : 0;
}

static unsigned plugin_workers(unsigned want)
{
	const bool says = plugin->size > offsetof(struct fastmap_store,
						  parallel);

	return says && plugin->parallel ? want : 1;
}

/* It was open: or there would be nothing to close. */
static void plugin_close(void)
{
	if (plugin->close)
		plugin->close(handle);
}

const struct store_kind store_plugin = {
	.prefix = "plugin:",
	.open = plugin_open,
	.get_size = plugin_size,
	.read = plugin_read,
	.workers = plugin_workers,
	.close = plugin_close,
};
