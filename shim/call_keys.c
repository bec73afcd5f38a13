/* SPDX-License-Identifier: MIT */
/* call_keys.c - keyctl by its number, each operation of which has pointers of
 * its own: rows as in calls.def, argument 0 is the operation. */
#include "call_table.h"

#include <linux/keyctl.h>

/* What a key can encrypt, sign or verify is shorter. */
#define DATA 4096
#define PARAMS I(1, struct keyctl_pkey_params), S(2), UPTO(3, READ, DATA)

static const struct fm_call operations[] = {
	[KEYCTL_JOIN_SESSION_KEYRING] = { { S(1) } },
	[KEYCTL_UPDATE] = { { IN(2, 3, 1) } },
	[KEYCTL_DESCRIBE] = { { ON(2, 3, 1) } },
	[KEYCTL_SEARCH] = { { S(2), S(3) } },
	[KEYCTL_READ] = { { ON(2, 3, 1) } },
	[KEYCTL_INSTANTIATE] = { { IN(2, 3, 1) } },
	[KEYCTL_GET_SECURITY] = { { ON(2, 3, 1) } },
	[KEYCTL_DH_COMPUTE] = { { I(1, struct keyctl_dh_params), ON(2, 3, 1),
				  I(4, struct keyctl_kdf_params) } },
	[KEYCTL_PKEY_QUERY] = { { S(3), O(4, struct keyctl_pkey_query) } },
	[KEYCTL_PKEY_ENCRYPT] = { { PARAMS, UPTO(4, FILL, DATA) } },
	[KEYCTL_PKEY_DECRYPT] = { { PARAMS, UPTO(4, FILL, DATA) } },
	[KEYCTL_PKEY_SIGN] = { { PARAMS, UPTO(4, FILL, DATA) } },
	[KEYCTL_PKEY_VERIFY] = { { PARAMS, UPTO(4, READ, DATA) } },
	[KEYCTL_RESTRICT_KEYRING] = { { S(2), S(3) } },
	[KEYCTL_CAPABILITIES] = { { ON(1, 2, 1) } },
};

/* Said to exist in io_syscall.c. -2: nothing of ours is in it. */
long fm_syscall_keyctl(long a, long b, long c, long d, long e);
long fm_syscall_keyctl(long a, long b, long c, long d, long e)
{
	const size_t n = sizeof(operations) / sizeof(*operations);
	const struct fm_call *w = (unsigned)a < n ? &operations[(unsigned)a] :
						    NULL;
	long v[6] = { a, b, c, d, e, 0 };

	return w && fm_looks() && fm_call_touches(w, v) ?
		       fm_call_copied(w, NULL, SYS_keyctl, v) : -2;
}
