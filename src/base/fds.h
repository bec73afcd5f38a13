/* SPDX-License-Identifier: MIT */
/*
 * fds.h - descriptor numbers of the engine (rings, uffd, O_PATH): high, few, and known
 * (fm_fd_is_ours in engine.h). [any]
 */
#ifndef FM_FDS_H
#define FM_FDS_H

int fm_fd_raise(int fd); /* move to a high number, register; new or -errno */
void fm_fd_forget(int fd);
void fm_fd_drop(int fd); /* forget and close */

#endif
