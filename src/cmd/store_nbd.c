/* SPDX-License-Identifier: MIT */
/*
 * store_nbd.c - a client of a Network Block Device, by the protocol's public
 * text (doc/proto.md of NetworkBlockDevice/nbd): fixed newstyle, NBD_OPT_GO,
 * structured replies where the server has them, else simple ones. Each worker
 * has a connection of its own where the server says that several see the same
 * bytes. What breaks the rules, or the connection, is connected to anew, and
 * the read is done again.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store_chunks.h"
#include "store_helper.h"
#include "store_kept.h"

#define WRONG_MOST 3    /* replies against the rules, one after the other */
#define PAUSE_MS 200    /* between two attempts to connect */
#define OPTION_MOST 4096 /* bytes of a reply to an option, and of an error */
#define ERRORS_MOST 16   /* chunks of one reply that say so */
#define SAMPLES 5    /* pieces of an export that tell it from another */
#define SAMPLE 4096u /* bytes of each */

#define MAGIC 0x4e42444d41474943ull /* "NBDMAGIC" */
#define IHAVEOPT 0x49484156454f5054ull
#define REPLY_MAGIC 0x3e889045565a9ull
#define REQUEST 0x25609513u
#define SIMPLE 0x67446698u
#define STRUCTURED 0x668e33efu

enum { OPT_GO = 7, OPT_STRUCTURED = 8 };
enum { REP_ACK = 1, REP_INFO = 3, INFO_EXPORT = 0 };
enum { CHUNK_NONE, CHUNK_DATA, CHUNK_HOLE, CHUNK_ERROR = 1 << 15, DONE = 1 };
enum { FIXED_NEWSTYLE = 1, NO_ZEROES = 2, CAN_MULTI_CONN = 1 << 8 };

static struct {
	char export[1024], host[256], port[32], path[108];
	unsigned timeout; /* s; 0: for ever */
	uint64_t size;
	unsigned flags;
	char cache[4096]; /* path, or "" */
	uint64_t cache_size; /* bytes; 0: as much as there is */
	bool kept; /* it is in use */
} nbd;

/* What a server says of an export. */
struct export {
	uint64_t size;
	unsigned flags;
	bool structured;
};

static int socks[STORE_WORKERS]; /* -1: not connected */
static uint64_t cookies[STORE_WORKERS];
static bool structured[STORE_WORKERS];

/* ---- bytes --------------------------------------------------------------- */

/* All of it, out or in. 0, or errno; EPIPE: the other side has ended. */
static int move_all(int fd, bool out, char *p, size_t n)
{
	while (n) {
		ssize_t r = out ? send(fd, p, n, MSG_NOSIGNAL) :
				  recv(fd, p, n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? errno : EPIPE;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

static int send_all(int fd, const void *buf, size_t n)
{
	return move_all(fd, true, (char *)(uintptr_t)buf, n);
}

static int receive_all(int fd, void *buf, size_t n)
{
	return move_all(fd, false, buf, n);
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static unsigned get16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void put64(unsigned char *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(unsigned char *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* ---- the URI ------------------------------------------------------------- */

static bool unescape(char *to, size_t size, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char hex[3] = { 0 };

		if (size < 2)
			return false;
		if (s[i] == '%' && i + 2 < n) {
			memcpy(hex, s + i + 1, 2);
			*to++ = (char)strtoul(hex, NULL, 16);
			i += 2;
		} else {
			*to++ = s[i];
		}
		size--;
	}
	*to = 0;
	return true;
}

static bool parse_query(const char *q)
{
	while (*q) {
		size_t n = strcspn(q, "&");

		if (n > 7 && !strncmp(q, "socket=", 7)) {
			if (!unescape(nbd.path, sizeof(nbd.path), q + 7, n - 7))
				return false;
		} else if (n > 8 && !strncmp(q, "timeout=", 8)) {
			nbd.timeout = (unsigned)strtoul(q + 8, NULL, 10);
		} else if (n > 6 && !strncmp(q, "cache=", 6)) {
			if (!unescape(nbd.cache, sizeof(nbd.cache), q + 6,
				      n - 6))
				return false;
		} else if (n > 11 && !strncmp(q, "cache-size=", 11)) {
			if (!store_bytes(q + 11, n - 11, &nbd.cache_size))
				return false;
		} else {
			return false;
		}
		q += n + (q[n] == '&');
	}
	return true;
}

/* "[host]:port", "host:port", "host" */
static bool parse_authority(const char *s, size_t n)
{
	const char *end = s + n, *colon = NULL;

	for (const char *p = end; p-- > s && *p != ']' && !colon;)
		colon = *p == ':' ? p : NULL;
	snprintf(nbd.port, sizeof(nbd.port), "%.*s",
		 colon ? (int)(end - colon - 1) : 5, colon ? colon + 1 :
							      "10809");
	if (colon)
		end = colon;
	if (end - s >= 2 && *s == '[' && end[-1] == ']') {
		s++;
		end--;
	}
	return unescape(nbd.host, sizeof(nbd.host), s, (size_t)(end - s));
}

/* What follows "nbd": "://host:port/export", "+unix:///export?socket=PATH". */
static bool parse_uri(const char *s)
{
	const bool local = !strncmp(s, "+unix://", 8);
	const char *slash, *query;

	if (!local && strncmp(s, "://", 3))
		return false;
	s += local ? 8 : 3;
	slash = s + strcspn(s, "/?");
	query = strchr(s, '?');
	if (!parse_authority(s, (size_t)(slash - s)) ||
	    (query && !parse_query(query + 1)))
		return false;
	if (*slash == '/' &&
	    !unescape(nbd.export, sizeof(nbd.export), slash + 1,
		      query ? (size_t)(query - slash - 1) : strlen(slash + 1)))
		return false;
	return local ? *nbd.path && !*nbd.host : *nbd.host && !*nbd.path;
}

/* ---- connecting ---------------------------------------------------------- */

static int connect_unix(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path, nbd.path, sizeof(nbd.path));
	if (fd < 0 || !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

static int connect_tcp(void)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int fd = -1;

	errno = EHOSTUNREACH;
	if (getaddrinfo(nbd.host, nbd.port, &hints, &all))
		return -1;
	for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(all);
	return fd;
}

/* ENOTSUP: it does not know the option. EPROTONOSUPPORT: it wants TLS. */
static int nbd_refused(uint32_t why)
{
	static const int errs[] = { [1] = ENOTSUP, [2] = EACCES,
				    [5] = EPROTONOSUPPORT, [6] = ENOENT };

	return why < sizeof(errs) / sizeof(*errs) && errs[why] ? errs[why] :
								 EPROTO;
}

/* One reply to an option. -1: more follow; 0: it is ours; or errno. */
static int nbd_option_reply(int fd, uint32_t option, struct export *e)
{
	unsigned char head[20], data[OPTION_MOST];
	int err = receive_all(fd, head, sizeof(head));
	uint32_t type, n;

	if (err)
		return err;
	type = get32(head + 12);
	n = get32(head + 16);
	if (get64(head) != REPLY_MAGIC || get32(head + 8) != option ||
	    n > sizeof(data))
		return EPROTO;
	err = receive_all(fd, data, n);
	if (err)
		return err;
	if (type & 0x80000000u)
		return nbd_refused(type & 0x7fffffffu);
	if (type == REP_INFO && n == 12 && get16(data) == INFO_EXPORT) {
		e->size = get64(data + 2);
		e->flags = get16(data + 10);
	}
	return type == REP_ACK ? 0 : type == REP_INFO ? -1 : EPROTO;
}

static int nbd_go(int fd, struct export *e)
{
	const uint32_t n = (uint32_t)strlen(nbd.export);
	unsigned char b[16 + 4 + sizeof(nbd.export) + 2];
	int err, replies = 0;

	put64(b, IHAVEOPT);
	put32(b + 8, OPT_GO);
	put32(b + 12, n + 6);
	put32(b + 16, n);
	memcpy(b + 20, nbd.export, n);
	b[20 + n] = b[21 + n] = 0; /* asks for no more than there is */
	err = send_all(fd, b, 22 + n);
	while (!err && (err = nbd_option_reply(fd, OPT_GO, e)) == -1)
		err = ++replies > 64 ? EPROTO : 0;
	return err;
}

/* Who does not know it, or does not want to, has simple replies. */
static int nbd_ask_structured(int fd, struct export *e)
{
	unsigned char b[16];
	int err;

	put64(b, IHAVEOPT);
	put32(b + 8, OPT_STRUCTURED);
	put32(b + 12, 0);
	err = send_all(fd, b, sizeof(b));
	if (!err)
		err = nbd_option_reply(fd, OPT_STRUCTURED, e);
	e->structured = !err;
	return err == ENOTSUP || err == EACCES ? 0 : err == -1 ? EPROTO : err;
}

static int nbd_hello(int fd, struct export *e)
{
	unsigned char b[18], answer[4];
	unsigned flags;
	int err = receive_all(fd, b, sizeof(b));

	if (err)
		return err;
	flags = get16(b + 16);
	if (get64(b) != MAGIC || get64(b + 8) != IHAVEOPT ||
	    !(flags & FIXED_NEWSTYLE))
		return EPROTO;
	put32(answer, flags & (FIXED_NEWSTYLE | NO_ZEROES));
	err = send_all(fd, answer, sizeof(answer));
	if (!err)
		err = nbd_ask_structured(fd, e);
	if (!err)
		err = nbd_go(fd, e);
	return !err && (e->size > INT64_MAX || !e->size) ? EPROTO : err;
}

/* Another size than before: it is another thing. */
static int nbd_connect(unsigned w)
{
	const struct timeval t = { nbd.timeout, 0 };
	struct export e = { 0 };
	int fd = *nbd.path ? connect_unix() : connect_tcp(), err;

	if (fd < 0)
		return errno ? errno : EIO;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	err = nbd_hello(fd, &e);
	if (!err && nbd.size && nbd.size != e.size)
		err = ESTALE;
	if (err) {
		close(fd);
		return err;
	}
	if (!nbd.size) { /* the first, by the only thread */
		nbd.size = e.size;
		nbd.flags = e.flags;
	}
	structured[w] = e.structured;
	socks[w] = fd;
	return 0;
}

/* ---- reads --------------------------------------------------------------- */

/* The numbers are Linux's. */
static int nbd_errno(uint32_t err)
{
	return err == ENOMEM || err == EPERM ? (int)err : EIO;
}

/* What one read is still to bring. */
struct reply {
	char *buf;
	uint64_t off, n;
	struct chunks come;
	int err;
	unsigned errors;
};

static int chunk_data(int fd, struct reply *r, uint32_t length)
{
	unsigned char at[8];
	uint64_t off;

	if (length <= sizeof(at))
		return EPROTO;
	length -= sizeof(at);
	if (receive_all(fd, at, sizeof(at)))
		return -1;
	off = get64(at);
	if (off < r->off || length > r->n || off - r->off > r->n - length ||
	    !chunks_add(&r->come, off, length))
		return EPROTO;
	return receive_all(fd, r->buf + (off - r->off), length) ? -1 : 0;
}

static int chunk_hole(int fd, struct reply *r, uint32_t length)
{
	unsigned char b[12];
	uint64_t off;
	uint32_t n;

	if (length != sizeof(b))
		return EPROTO;
	if (receive_all(fd, b, sizeof(b)))
		return -1;
	off = get64(b);
	n = get32(b + 8);
	if (!n || off < r->off || n > r->n || off - r->off > r->n - n ||
	    !chunks_add(&r->come, off, n))
		return EPROTO;
	memset(r->buf + (off - r->off), 0, n);
	return 0;
}

/* Where it is said does not matter: page by page it is asked for again. */
static int chunk_error(int fd, struct reply *r, uint32_t length)
{
	unsigned char b[OPTION_MOST];

	if (length < 6 || length > sizeof(b) || ++r->errors > ERRORS_MOST)
		return EPROTO;
	if (receive_all(fd, b, length))
		return -1;
	if (!get32(b) || get16(b + 4) > length - 6)
		return EPROTO;
	r->err = nbd_errno(get32(b));
	return 0;
}

/* 0, or why the connection is of no use any more; head: 16 bytes of 20. */
static int nbd_chunk(int fd, struct reply *r, const unsigned char *head)
{
	const unsigned type = get16(head + 6);
	unsigned char b[4];
	uint32_t length;

	if (receive_all(fd, b, sizeof(b)))
		return -1;
	length = get32(b);
	if (type & CHUNK_ERROR)
		return chunk_error(fd, r, length);
	switch (type) {
	case CHUNK_DATA:
		return chunk_data(fd, r, length);
	case CHUNK_HOLE:
		return chunk_hole(fd, r, length);
	default:
		return type == CHUNK_NONE && !length &&
				       (get16(head + 4) & DONE) ?
			       0 :
			       EPROTO;
	}
}

static int nbd_simple(int fd, struct reply *r, const unsigned char *head)
{
	const uint32_t err = get32(head + 4);

	if (err)
		return nbd_errno(err);
	return receive_all(fd, r->buf, r->n) ? -1 : 0;
}

static int nbd_reply(unsigned w, void *buf, size_t n, uint64_t off)
{
	struct reply r = { .buf = buf, .off = off, .n = n };
	unsigned char head[16];
	int err;

	for (;;) {
		if (receive_all(socks[w], head, sizeof(head)))
			return -1;
		if (get64(head + 8) != cookies[w])
			return EPROTO;
		if (get32(head) == SIMPLE && !r.come.count && !r.errors)
			return nbd_simple(socks[w], &r, head);
		if (get32(head) != STRUCTURED || !structured[w])
			return EPROTO;
		err = nbd_chunk(socks[w], &r, head);
		if (err)
			return err;
		if (get16(head + 4) & DONE)
			return r.err ? r.err : chunks_whole(&r.come, off, n) ?
						       0 : EPROTO;
	}
}

/* -1: the connection is of no use any more; EPROTO: nor does it keep to the
 * rules. Another errno is the server's answer. */
static int nbd_exchange(unsigned w, void *buf, size_t n, uint64_t off)
{
	unsigned char q[28] = { 0 };

	put32(q, REQUEST);
	put64(q + 8, ++cookies[w]);
	put64(q + 16, off);
	put32(q + 24, (uint32_t)n);
	if (send_all(socks[w], q, sizeof(q)))
		return -1;
	return nbd_reply(w, buf, n, off);
}

static void nbd_pause(void)
{
	const struct timespec t = { 0, PAUSE_MS * 1000000l };

	nanosleep(&t, NULL);
}

static void nbd_drop(unsigned w)
{
	if (socks[w] >= 0)
		close(socks[w]);
	socks[w] = -1;
}

/* Until it answers, or for as long as it may take. */
static int nbd_read(unsigned w, void *buf, size_t n, uint64_t off)
{
	const time_t from = time(NULL);
	int err, wrong = 0, times = 0;

	for (;;) {
		err = socks[w] < 0 ? nbd_connect(w) : 0;
		if (err == ESTALE)
			return EIO;
		if (!err) {
			err = nbd_exchange(w, buf, n, off);
			if (!err || (err > 0 && err != EPROTO))
				return err;
		}
		nbd_drop(w);
		wrong += err == EPROTO;
		if (wrong >= WRONG_MOST ||
		    (nbd.timeout && time(NULL) - from >= nbd.timeout))
			return EIO;
		if (err != -1 || times++)
			nbd_pause();
	}
}

/* ---- opening ------------------------------------------------------------- */

/* An export has no name of its own for what it holds: it is told by where it
 * is, its size, and some of its bytes. */
static int nbd_identity(uint64_t *ret)
{
	char page[SAMPLE];
	uint64_t h = XXH64(&nbd.size, sizeof(nbd.size), 1);
	const size_t n = nbd.size < SAMPLE ? (size_t)nbd.size : SAMPLE;
	int err = 0;

	h = XXH64(nbd.export, strlen(nbd.export) + 1, h);
	h = XXH64(nbd.host, strlen(nbd.host) + 1, h);
	h = XXH64(nbd.port, strlen(nbd.port) + 1, h);
	h = XXH64(nbd.path, strlen(nbd.path) + 1, h);
	for (uint64_t i = 0; i < SAMPLES && !err; i++) {
		const uint64_t off = (nbd.size - n) / (SAMPLES - 1) * i;

		err = nbd_read(0, page, n, off & ~511ull);
		h = XXH64(page, n, h);
	}
	*ret = h;
	return err;
}

static void nbd_cache_open(void)
{
	uint64_t identity;

	if (nbd_identity(&identity))
		fprintf(stderr, "fastmap: cache %s: the source cannot be read: "
			"read without it\n", nbd.cache);
	else
		nbd.kept = kept_open(nbd.cache, identity, nbd.size,
				     nbd.cache_size, nbd_read);
}

#define BY_NBDKIT                                                         \
	"let another nbdkit do it, nbdkit -r -U SOCKET nbd hostname=HOST " \
	"tls=require, and read nbd+unix:///?socket=SOCKET"

/* where: what follows "nbd"; nbds has TLS. */
static int nbd_open(const char *where, char *why, size_t size)
{
	int err;

	for (unsigned i = 0; i < STORE_WORKERS; i++)
		socks[i] = -1;
	if (*where == 's') {
		snprintf(why, size, "no TLS here: " BY_NBDKIT);
		return EPROTONOSUPPORT;
	}
	if (!parse_uri(where)) {
		snprintf(why, size, "not nbd://HOST[:PORT]/EXPORT or "
			 "nbd+unix:///EXPORT?socket=PATH");
		return EINVAL;
	}
	err = nbd_connect(0);
	if (err)
		snprintf(why, size, "%s", err == EPROTONOSUPPORT ?
			 "the server wants TLS: " BY_NBDKIT : "cannot connect");
	else if (*nbd.cache)
		nbd_cache_open();
	return err;
}

static int64_t nbd_size(void)
{
	return (int64_t)nbd.size;
}

static int nbd_read_any(unsigned w, void *buf, size_t n, uint64_t off)
{
	return nbd.kept ? kept_read(w, buf, n, off) : nbd_read(w, buf, n, off);
}

static unsigned nbd_workers(unsigned want)
{
	return !(nbd.flags & CAN_MULTI_CONN) ? 1 :
	       want < STORE_WORKERS ? want : STORE_WORKERS;
}

const struct store_kind store_nbd = {
	.prefix = "nbd",
	.open = nbd_open,
	.get_size = nbd_size,
	.read = nbd_read_any,
	.workers = nbd_workers,
};
