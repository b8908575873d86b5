/* SPDX-License-Identifier: Apache-2.0 */
/* The requests, made in a blocking_call. */
#include "consumer/probe.h"

#include "bridge/base/log.h"
#include "consumer/blocking_call.h"
#include "consumer/client/client.h"

#include <stdlib.h>

enum { STOP_MS = 1000 };

struct probe {
    const struct config *config;
    const char *dead_letter;
    struct blocking_call *blocking_call;
    rd_kafka_t *rk; /* NULL before the first question */
    struct probe_answer answer;
    bool open; /* a question was started and its answer not taken */
};

struct probe *probe_new(const struct config *config, const char *dead_letter, struct wakeup *wakeup)
{
    struct probe *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->config = config;
    p->dead_letter = dead_letter;
    p->blocking_call = blocking_call_new(wakeup);
    if (p->blocking_call != NULL)
        return p;
    free(p);
    return NULL;
}

bool probe_free(struct probe *p)
{
    if (!blocking_call_free(p->blocking_call, STOP_MS))
        return false;
    if (p->rk != NULL)
        rd_kafka_destroy_flags(p->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(p);
    return true;
}

static bool is_connected(struct probe *p)
{
    struct error error;
    if (p->rk != NULL)
        return true;
    rd_kafka_conf_t *conf = client_conf(p->config, CLIENT_LEVELS, &error);
    if (conf != NULL) {
        unreadable_conf(conf);
        p->rk = client_new(RD_KAFKA_CONSUMER, conf, &error);
    }
    if (p->rk == NULL)
        log_warn(
            "cannot start the consumer for unreadable batches, blocked partitions wait, trying "
            "again: run 'delaybridge check'",
            F_TEXT("reason", error.text));
    return p->rk != NULL;
}

static void answer(void *arg)
{
    struct probe *p = arg;
    struct probe_answer *a = &p->answer;
    struct probe_question *q = &a->question;
    a->found = false;
    a->known = is_connected(p);
    if (a->known && q->end)
        a->known = unreadable_find(p->rk, &q->range) == 0;
    else if (a->known)
        a->known = unreadable_look(p->rk, p->dead_letter, &q->range, &q->at, &a->found) == 0;
}

bool probe_ask(struct probe *p, const struct probe_question *question)
{
    if (p->open)
        return false;
    p->open = true;
    p->answer.question = *question;
    blocking_call_begin(p->blocking_call, answer, p);
    return true;
}

bool probe_take(struct probe *p, struct probe_answer *a)
{
    if (!p->open || !blocking_call_is_over(p->blocking_call))
        return false;
    *a = p->answer;
    p->open = false;
    return true;
}
