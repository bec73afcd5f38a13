/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - the counts as Prometheus reads them (text format 0.0.4): for the
 * control command `metrics`, and a file for node_exporter (`metrics`).
 */
#pragma once

#include "base/json.h"

/* [plain] Added to `o`. `alone`: in the guardian, of the dead program pid. */
void fm_metrics_text(struct fm_json *o, int pid, bool alone);
