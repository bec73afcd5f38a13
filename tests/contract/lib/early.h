/* SPDX-License-Identifier: MIT */
/* early.h - what a constructor has mapped before that of libfastmap: early.c. */
#ifndef EARLY_H
#define EARLY_H

#define EARLY_PAGES 64ul

struct early {
	char *shared;  /* may be stored to; the file "early" */
	char *looks;   /* shared, of "early_looks", to read only */
	char *private; /* of "early_private", to read only */
};
struct early early_maps(void);

#endif
