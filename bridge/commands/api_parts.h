/* SPDX-License-Identifier: Apache-2.0 */
/* api_parts: the members of the admin API, for the files api*.c alone. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_API_PARTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_API_PARTS_H

#include "bridge/admin/dispatch.h"
#include "bridge/admin/server.h"
#include "bridge/commands/api.h"
#include "bridge/commands/output.h"
#include "bridge/commands/spare.h"
#include "bridge/commands/top_members.h"
#include "bridge/service/history.h"
#include "bridge/service/target_recent.h"

#include <pthread.h>
#include <stdatomic.h>

/* A configuration and the number of calls that use it. */
struct api_config {
    struct config config;
    atomic_int users;
    bool owned; /* its live keys are freed by the last user; the others are those of the start */
};

/* The last answer of one read route, kept for a moment: many clients cost as much as one, also
   while Kafka is unreachable. */
enum { API_READS = 4 };
struct api_read {
    struct admin_answer answer; /* json: owned; NULL: none */
    int64_t at_mono_ms, fresh_until_mono_ms;
};

struct api_job;
enum { API_JOBS_MAX = 32, API_JOBS_RUNNING_MAX = 2 };

struct api {
    const struct cli *cli;
    struct monitor *monitor;
    struct dispatch dispatch;
    struct server *server;
    int64_t started_wall_ms;
    pthread_t sampler;
    atomic_bool stopping; /* no call starts a request to Kafka */
    atomic_bool ending;   /* the sampler ends */
    atomic_bool due;      /* deliveries are due: searches are slow */

    pthread_mutex_t config_mutex; /* of config */
    struct api_config *config;

    pthread_mutex_t history_mutex; /* of history */
    struct history *history;
    struct target_recent recent; /* used inside monitor_read only, whose lock guards it */

    pthread_mutex_t pace_mutex; /* of paid_mono_us */
    int64_t paid_mono_us;       /* until then, the records that were read are paid for */
    atomic_llong read_n;        /* records that searches have read */

    pthread_mutex_t reads_mutex;   /* of reads; never held during a request to Kafka */
    pthread_mutex_t reading_mutex; /* of kept and members; held while one call reads */
    struct api_read reads[API_READS];
    rd_kafka_t *kept; /* a consumer for the next read; NULL: none */
    int64_t kept_mono_ms;
    struct top_members members;

    struct spare spare; /* for the next writes */

    pthread_mutex_t jobs_mutex; /* of jobs and of all their members */
    pthread_cond_t jobs_changed;
    struct api_job *jobs[API_JOBS_MAX]; /* owned; the oldest first */
    int jobs_n;
};

struct api_config *api_config_take(struct api *api);
void api_config_drop(struct api_config *config);

/* Counts a record of a search, and waits if searches are too fast. */
void api_pace(struct api *api);

/* api_live.c: the figures of this process. */
typedef void api_route(void *ctx, const struct admin_route *route,
                       const struct admin_request *request, struct admin_answer *answer);
api_route api_status, api_history, api_show_config, api_openapi, api_page;
api_route api_targets;                  /* api_targets.c */
api_route api_clock, api_clock_forward; /* api_clock.c */

/* api_read.c: reads of offsets, and of a sample of records. route->details: struct api_read_of. */
struct api_read_of {
    const char *command;
    const char *always; /* an option without a value; NULL: none */
    int number;         /* in api->reads */
    int64_t fresh_ms;   /* an answer serves all calls of this time */
};
api_route api_read, api_processes;
void api_read_expire(struct api *api); /* destroys a handle that was not used for a while */
void api_read_deinit(struct api *api);

/* api_write.c: one run of a command that writes requests, or entries of S.control. route->details:
   its name. */
api_route api_write, api_control;

/* api_job.c. route->details of api_job_start: struct api_job_of. */
struct api_job_of {
    const char *command;
    const char *options; /* names that the body may have, separated by spaces */
};
api_route api_job_start, api_job_list, api_job_show, api_job_stop;
/* Requests the end of all jobs. */
void api_jobs_end(struct api *api);
/* Waits for their ends and frees them. */
void api_jobs_deinit(struct api *api);

#endif
