/* SPDX-License-Identifier: MIT */
/* heard.h - who has been told already what is wrong with the settings. */
#ifndef FM_HEARD_H
#define FM_HEARD_H

#include <stdbool.h>

/* `fastmap run` sets it to its process id, which the program inherits. */
#define FM_RUN_VARIABLE "FASTMAP_RUN"

/* Some system calls: only when there is something to say. `envp` is not
 * NULL. */
bool fm_heard_from_run(char **envp);
bool fm_heard_from_parent(char **envp);

#endif
