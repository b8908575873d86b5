/* SPDX-License-Identifier: Apache-2.0 */
/* sample: reads the latest requests of the schedule topic and finds those that no cancel can meet.
   They are in another partition than murmur2 computes for their key, or they are cancels without a
   key. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_SAMPLE_H
#define DELAYBRIDGE_CONSUMER_ADMIN_SAMPLE_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "consumer/admin/topics.h"

enum { SAMPLE_MAX = 1000 };

/* Reads SAMPLE_MAX offsets at most, the same number of each partition, and adds findings.
   findings->partitions is that of the schedule topic. Sets *n to the number of records read.
   Returns 0, or an error with a sentence. */
int sample_judge(const struct config *config, int timeout_ms, struct findings *findings, int *n,
                 struct error *error) must_check;

#endif
