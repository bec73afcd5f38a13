/* SPDX-License-Identifier: MIT */
/*
 * store_frames.h - frames that take long to make, and are asked for in parts:
 * each is made once and kept while there is room. Who wants one that is being
 * made waits for it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Fills buf with all of a frame. 0, or errno. */
typedef int frame_make_fn(unsigned worker, size_t frame, char *buf, size_t n);

/* Before any other call. Frames take `most` bytes together; a larger one is
 * alone. */
void frames_begin(uint64_t most, frame_make_fn *make);
/* n bytes from `in` on of a frame that has `size`. 0, or errno. */
int frames_read(unsigned worker, size_t frame, size_t size, void *buf,
		size_t in, size_t n);
