/* SPDX-License-Identifier: MIT */
/* advise.h - what other rooms may use of advise/. */
#ifndef FM_ADVISE_H
#define FM_ADVISE_H

#include "helper.h"
#include "krange.h"
#include "passing.h"
#include "scan.h"
#include "source.h"
#include "streams.h"
#include "watch.h"

#endif
