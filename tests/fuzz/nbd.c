/* SPDX-License-Identifier: MIT */
/* What an NBD server may send: a session with it ends, and what is read is no
 * more than was asked for. */
#include <stdlib.h>

#include "../../src/cmd/store_kept.c"
#include "../../src/cmd/store_nbd.c"
#include "fuzz.h"

#define ROOM 512

/* The server has said all that it ever will, and does not read. */
static int says(const uint8_t *data, size_t size)
{
	const int most = 1 << 20;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	if (send_all(pair[1], data, size))
		abort();
	shutdown(pair[1], SHUT_WR);
	/* kept open: what is sent to it is lost, and no error */
	socks[1] = pair[1];
	return pair[0];
}

static void session(int fd)
{
	unsigned char buf[ROOM + 16];
	struct export e = { 0 };
	int err = nbd_hello(fd, &e);

	if (err < 0 || (!err && (!e.size || e.size > INT64_MAX)))
		abort();
	socks[0] = fd;
	cookies[0] = 0;
	structured[0] = e.structured;
	memset(buf, 0x77, sizeof(buf));
	for (int i = 0; i < 4 && !err; i++)
		err = nbd_exchange(0, buf, ROOM, 0);
	for (int i = 0; i < 16; i++)
		if (buf[ROOM + i] != 0x77)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (size > 65536)
		return 0;
	fd = says(data, size);
	session(fd);
	close(fd);
	close(socks[1]);
	memset(&nbd, 0, sizeof(nbd));
	if (size && size < 512) { /* or a URI */
		char *text = calloc(1, size + 1);

		memcpy(text, data, size);
		if (parse_uri(text) && !*nbd.path == !*nbd.host)
			abort();
		free(text);
	}
	memset(&nbd, 0, sizeof(nbd));
	return 0;
}
