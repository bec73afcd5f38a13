/* SPDX-License-Identifier: MIT */
/* cmd.h - the parts of the `fastmap` command. Each returns an exit status. */
#ifndef FM_CMD_H
#define FM_CMD_H

int cmd_run(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_ctl(int argc, char **argv);

#endif
