/* SPDX-License-Identifier: Apache-2.0 */
/* member_record: the summary of a running process, as it publishes it on the topic S.control each
   MEMBER_EVERY_MS. The key is "process:" and its id, which is random for each start. The value is
   JSON, such as

     {"at": "2026-11-26T08:00:00.000Z", "address": "10.1.2.3:9404", "admin": "", "host": "bridge-0",
      "version": "0.1.0", "delivery": "at-least-once", "levels": "1s,5s,30s",
      "targets": "orders.*,payments.*", "config": 305419896, "lanes": 4}

   A null value means that the process has ended. A process that was killed leaves its last summary,
   so one that is older than MEMBER_GONE_MS does not count. Unknown members are ignored. */
#ifndef DELAYBRIDGE_CONSUMER_MEMBER_RECORD_H
#define DELAYBRIDGE_CONSUMER_MEMBER_RECORD_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "levels/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MEMBER_EVERY_MS = 10000,
    MEMBER_GONE_MS = 30000,
    MEMBER_FORGET_MS = 3600000 /* pause, resume and limit remove an older summary */
};
enum { MEMBER_KEY_MAX = 64, MEMBER_TEXT_MAX = 128, MEMBER_LIST_MAX = 1024 };

struct member {
    char key[MEMBER_KEY_MAX];
    char address[MEMBER_TEXT_MAX]; /* of its HTTP listener, as others reach it; "": none */
    char admin[MEMBER_TEXT_MAX];   /* the same of its admin API; "": none, or on loopback */
    char host[MEMBER_TEXT_MAX];
    char version[MEMBER_TEXT_MAX];
    char delivery[MEMBER_TEXT_MAX];
    char levels[MEMBER_LIST_MAX];
    char targets[MEMBER_LIST_MAX]; /* sorted; a longer list is cut */
    uint32_t config;               /* config_hash */
    int lanes;                     /* that it owns */
    int64_t at_wall_ms;            /* of the summary */
    bool has_ended;                /* only key counts */
};

/* Fills all but key, lanes and at_wall_ms from the configuration and the system. */
void member_describe(struct member *member, const struct config *config);

/* Writes the name of this host, as summaries have it. */
void member_host(char out[MEMBER_TEXT_MAX]);

/* Returns 0, or ERR_FOREIGN. Any bytes are safe. */
int member_read(struct bytes key, struct bytes value, struct member *member) must_check;

/* Returns the value of a summary. The caller frees it. NULL: out of memory. */
char *member_write(const struct member *member);

/* Returns whether a process is alive: its summary is not older than MEMBER_GONE_MS. */
bool member_is_alive(const struct member *member, int64_t now_wall_ms);

#endif
