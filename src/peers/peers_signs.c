/* SPDX-License-Identifier: MIT */
/*
 * peers_signs.c - signs of life of processes that read a file.
 *
 * A claim does not tell whether its owner lives: the guardian keeps it until
 * the last page is written. So who reads a file has another lock in the place,
 * by a description that no guardian has. It ends with the process.
 *
 * Who maps a file to read it shows its sign, and looks at those of others then:
 * where two read, both leave the file to the kernel, and who comes later has no
 * engine to start for it. A sign is no claim, so each side publishes first:
 * who reads its sign, who stores its claim; and looks at the other's then.
 *
 * All is under the space lock.
 */
#include "peers_priv.h"

#include "advise/advise.h"
#include "base/fds.h"
#include "base/sys.h"
#include "file/file.h"
#include "peers.h"

#define OTHERS (S_IRWXG | S_IRWXO)
#define COMMON 0 /* unit: the number of a place */
#define SIGNS ((off_t)1 << 62) /* unit: where they begin in a place */
#define MOST 1024 /* size: files; of more nobody hears */

static struct sign {
	struct fm_file_id of;
	off_t at;
	unsigned place;
	bool left; /* to the kernel, when it was mapped */
} signs[MOST];

static unsigned n;

/* As those of peers_places.c, opened once more. */
static struct {
	uid_t owner;
	int fd; /* or -1 */
} places[FM_PLACES] = {
	[0 ... FM_PLACES - 1] = { .fd = -1 },
};

static bool peers_signs_lock(const struct sign *s, short type)
{
	return !fm_claim_lock(places[s->place].fd, F_OFD_SETLK, type, s->at,
			      NULL);
}

/* ---- places ------------------------------------------------------------- */

/* With all signs that are shown there. */
static int peers_signs_open(unsigned k)
{
	const int old = places[k].fd;

	places[k].fd = fm_place_apart(places[k].owner, k == COMMON);
	for (unsigned i = 0; i < n && places[k].fd >= 0; i++)
		if (signs[i].place == k)
			peers_signs_lock(&signs[i], F_RDLCK);
	fm_fd_drop(old);
	return places[k].fd;
}

static bool peers_signs_is_open(unsigned k)
{
	const int fd = places[k].fd;

	if (fd >= 0 && fm_fd_still_ours(fd) &&
	    fm_place_is(places[k].owner, k == COMMON, fd))
		return true;
	return peers_signs_open(k) >= 0;
}

static unsigned peers_signs_of(uid_t owner)
{
	unsigned k = 1;

	while (k < FM_PLACES - 1 && places[k].fd >= 0 &&
	       places[k].owner != owner)
		k++;
	return k;
}

/* The first of those where a claim is heard; FM_PLACES: there is none. */
static unsigned peers_signs_place(uid_t owner, mode_t mode)
{
	const uid_t user = (uid_t)fm_sys0(SYS_geteuid);
	const uid_t home = user ? user : owner;
	unsigned k;

	if ((mode & OTHERS) && peers_signs_is_open(COMMON))
		return COMMON;
	k = peers_signs_of(home);
	if (places[k].fd >= 0 && places[k].owner != home)
		return FM_PLACES;
	places[k].owner = home;
	return peers_signs_is_open(k) ? k : FM_PLACES;
}

/* ---- signs -------------------------------------------------------------- */

static struct sign *peers_signs_find(dev_t dev, ino_t ino)
{
	for (unsigned i = 0; i < n; i++)
		if (signs[i].of.ino == ino && signs[i].of.dev == dev)
			return &signs[i];
	return NULL;
}

static void hide(struct sign *s)
{
	if (fm_fd_still_ours(places[s->place].fd))
		peers_signs_lock(s, F_UNLCK);
	*s = signs[--n];
}

static bool peers_signs_is_mapped(const struct sign *s)
{
	struct fm_krange r;
	struct fm_file *f;

	if (fm_krange_list(&s->of, &r, 1))
		return true;
	f = fm_file_find(s->of.dev, s->of.ino);
	if (f)
		fm_file_put_locked(f);
	return f;
}

void fm_signs_look(void)
{
	if (!fm_sys_may_ask())
		return;
	for (unsigned i = n; i-- > 0;)
		if (!peers_signs_is_mapped(&signs[i]))
			hide(&signs[i]);
}

static struct sign *peers_signs_show(const struct sign *like, unsigned place)
{
	struct sign *s = peers_signs_find(like->of.dev, like->of.ino);

	if (s && (s->at != like->at || s->place != place)) {
		hide(s); /* another file has its number */
		s = NULL;
	}
	if (s || n == MOST || place == FM_PLACES)
		return s;
	s = &signs[n];
	*s = *like;
	s->place = place;
	if (!peers_signs_lock(s, F_RDLCK))
		return NULL;
	n++;
	return s;
}

static bool held(unsigned place, off_t at, short against)
{
	short type;

	return !fm_claim_lock(places[place].fd, F_OFD_GETLK, against, at,
			      &type) && type != F_UNLCK;
}

static unsigned place_of_file(const struct fm_file *f)
{
	struct stat st;

	return fm_sys_may_ask() && fm_claim_stat(f, &st) ?
		       peers_signs_place(st.st_uid, st.st_mode) : FM_PLACES;
}

static struct sign like_file(const struct fm_file *f)
{
	return (struct sign){
		.of = { f->dev, f->ino },
		.at = SIGNS + fm_claim_place(f->dev, f->ino, f->born),
	};
}

/* ---- callers ------------------------------------------------------------ */

void fm_sign_show(const struct fm_file *f)
{
	const struct sign like = like_file(f);
	struct sign *s = peers_signs_show(&like, place_of_file(f));

	if (s)
		s->left = false;
}

bool fm_sign_shown(const struct fm_file *f)
{
	return peers_signs_find(f->dev, f->ino);
}

bool fm_sign_others(const struct fm_file *f)
{
	const unsigned k = place_of_file(f);

	return k < FM_PLACES && held(k, like_file(f).at, F_WRLCK);
}

void fm_sign_left(const struct fm_file *f)
{
	struct sign *s = peers_signs_find(f->dev, f->ino);

	if (s)
		s->left = true;
}

void fm_sign_hide(const struct fm_file *f, bool left_too)
{
	struct sign *s = peers_signs_find(f->dev, f->ino);

	if (s && (left_too || !s->left))
		hide(s);
}

bool fm_peers_read(const struct stat *st, int fd)
{
	struct sign *s, like = { .of = { st->st_dev, st->st_ino } };

	if (!fm_sys_may_ask())
		return false;
	fm_signs_look();
	like.at = SIGNS + fm_claim_place(st->st_dev, st->st_ino,
					 fm_sys_birth(fd));
	s = peers_signs_show(&like, peers_signs_place(st->st_uid, st->st_mode));
	if (!s || !held(s->place, s->at, F_WRLCK) ||
	    held(s->place, s->at - SIGNS, F_RDLCK))
		return false;
	s->left = true;
	fm_place_ring(places[s->place].fd);
	return true;
}

bool fm_peers_left(const struct stat *st)
{
	const struct sign *s = peers_signs_find(st->st_dev, st->st_ino);

	return s && s->left;
}

/* What the engine had is another server's to say. The kernel's mappings are the
 * child's, too: it has a sign of its own before it lets go of the parent's. */
void fm_signs_forked(void)
{
	unsigned had = n;

	n = 0;
	for (unsigned i = 0; i < had; i++)
		if (signs[i].left)
			signs[n++] = signs[i];
	for (unsigned k = 0; k < FM_PLACES; k++)
		if (places[k].fd >= 0)
			peers_signs_open(k);
}
