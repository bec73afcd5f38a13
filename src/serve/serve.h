/* SPDX-License-Identifier: MIT */
/* serve.h - what other rooms may use of serve/. */
#pragma once

#include "again.h"
#include "cost.h"
#include "hold.h"
#include "lately.h"
#include "maps.h"
#include "miss.h"
#include "rate.h"
#include "table.h"
#include "trial.h"
#include "veto.h"
