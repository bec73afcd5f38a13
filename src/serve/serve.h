/* SPDX-License-Identifier: MIT */
/* serve.h - what other rooms may use of serve/. */
#ifndef FM_SERVE_H
#define FM_SERVE_H

#include "cost.h"
#include "rate.h"
#include "trial.h"

#endif
