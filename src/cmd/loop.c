/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <stdbool.h>

void loop_turn(void)
{
	uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static void loop_closed(uv_handle_t *h)
{
	*(bool *)h->data = true;
}

void loop_close(uv_handle_t *h)
{
	bool over = false;

	h->data = &over;
	uv_close(h, loop_closed);
	while (!over)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}
