/* SPDX-License-Identifier: MIT */
/* unit.h - cmocka with the headers it wants before it. */
#ifndef FM_UNIT_H
#define FM_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
