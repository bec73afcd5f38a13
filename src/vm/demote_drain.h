/* SPDX-License-Identifier: MIT */
/* demote_drain.h - before a file is handed over: nobody is inside any more. */
#pragma once

#include "base/reason.h"
#include "base/types.h"

/* [plain] Under the space lock, which others may have meanwhile
 * (fm_space_yield); the caller has a reference. 0: faults on f wait, until
 * fm_file_release; no read and no write-back of it is in flight. -EAGAIN: not
 * for this reason, not now; nothing is held. */
int fm_demote_drain(struct fm_file *f, enum fm_server_reason why);
