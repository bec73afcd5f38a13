/* SPDX-License-Identifier: MIT */
/*
 * ycsb_rocksdb.c - a store in RocksDB with mmap_reads and mmap_writes, whose remedy
 * is reads past the page cache and a block cache of its own (YCSB_CACHE bytes), or in
 * LevelDB (-DLEVELDB), which maps its tables and cannot be told not to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ycsb.h"

#ifdef LEVELDB
#include <leveldb/c.h>
#define NAME(x) leveldb_##x
#else
#include <rocksdb/c.h>
#define NAME(x) rocksdb_##x
#endif

enum { TABLE = 16 << 20, MEMTABLE = 8 << 20 };

struct reader {
	NAME(readoptions_t) * options;
};

static NAME(t) * db;
static NAME(writeoptions_t) * writing;

static void must(char *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", error);
	exit(2);
}

static void blocks_of_its_own(NAME(options_t) * o)
{
#ifdef LEVELDB
	(void)o;
#else
	const char *bytes = getenv("YCSB_CACHE");
	rocksdb_block_based_table_options_t *t =
		rocksdb_block_based_options_create();

	rocksdb_block_based_options_set_block_cache(
		t, rocksdb_cache_create_lru(bytes ? strtoull(bytes, NULL, 10)
						  : 64u << 20));
	rocksdb_options_set_block_based_table_factory(o, t);
	rocksdb_options_set_use_direct_reads(o, 1);
#endif
}

static void map_it(NAME(options_t) * o)
{
#ifdef LEVELDB
	(void)o;
#else
	rocksdb_options_set_allow_mmap_reads(o, 1);
	rocksdb_options_set_allow_mmap_writes(o, 1);
#endif
}

void store_open(const char *dir, enum store_how how, size_t bytes, bool remedy)
{
	NAME(options_t) *o = NAME(options_create)();
	char *error = NULL;

	(void)bytes;
	NAME(options_set_create_if_missing)(o, how == STORE_NEW);
	NAME(options_set_compression)(o, 0);
	NAME(options_set_write_buffer_size)(o, MEMTABLE);
#ifdef LEVELDB
	NAME(options_set_max_file_size)(o, TABLE);
#else
	NAME(options_set_target_file_size_base)(o, TABLE);
#endif
	if (remedy)
		blocks_of_its_own(o);
	else
		map_it(o);
	db = NAME(open)(o, dir, &error);
	must(error);
	writing = NAME(writeoptions_create)();
}

void store_close(void)
{
	NAME(close)(db);
}

struct reader *store_reader(void)
{
	struct reader *r = malloc(sizeof(*r));

	r->options = NAME(readoptions_create)();
	return r;
}

void store_reader_end(struct reader *r)
{
	NAME(readoptions_destroy)(r->options);
	free(r);
}

bool store_get(struct reader *r, const void *key, void *value)
{
	char *error = NULL;
	size_t len = 0;
	char *got = NAME(get)(db, r->options, key, KEY, &len, &error);
	const bool good = got && len == VALUE;

	must(error);
	if (good)
		memcpy(value, got, VALUE);
	free(got);
	return good;
}

void store_put(const void *key, const void *value)
{
	char *error = NULL;

	NAME(put)(db, writing, key, KEY, value, VALUE, &error);
	must(error);
}

void store_scan(struct reader *r, const void *from, store_seen *seen, void *arg)
{
	NAME(iterator_t) *it = NAME(create_iterator)(db, r->options);
	char *error = NULL;
	size_t k, v;

	for (NAME(iter_seek)(it, from, strlen(from)); NAME(iter_valid)(it);
	     NAME(iter_next)(it)) {
		const char *key = NAME(iter_key)(it, &k);
		const char *value = NAME(iter_value)(it, &v);

		if (!seen(arg, key, value, v))
			break;
	}
	NAME(iter_get_error)(it, &error);
	must(error);
	NAME(iter_destroy)(it);
}
