/* SPDX-License-Identifier: MIT */
/* io.h - what other rooms may use of io/. */
#pragma once

#include "answers.h"
#include "bounce.h"
#include "demand.h"
#include "device.h"
#include "fd_backup.h"
#include "fd_recovery.h"
#include "device_probe.h"
#include "posix_locks.h"
#include "ring.h"
#include "backing.h"
#include "stable_writes.h"
#include "store.h"
#include "trace.h"
