/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of events. */
#include "tests/sim/facts.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

#include <stdio.h>
#include <stdlib.h>

struct told {
    struct request *request; /* NULL: of a record that is no request */
    struct request *other;   /* too_late: the one that was delivered */
    enum event_type type;
    int attempt;
    bool certain; /* cancelled */
};

static const char *const NAMES[EVENT_TYPES] = {
    "accepted", "delivered",        "cancel_accepted",  "cancelled",
    "replaced", "too_late",         "delivery_retried", "dead_lettered",
    "expired",  "cancel_unmatched", "redriven",         "retry_accepted"};

/* Returns the text after "name":, or NULL. */
static const char *member(const char *text, const char *name)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(text, quoted);
    return at == NULL ? NULL : at + strlen(quoted);
}

static struct request *request_at(struct world *w, const char *place)
{
    int lane;
    long long offset;
    if (place == NULL || sscanf(place, "\"schedule/%d/%lld", &lane, &offset) != 2)
        return NULL;
    struct request *r = w->requests;
    while (r != NULL && (r->lane != lane || r->offset != offset || r->schedule != w->schedule_n))
        r = r->next;
    return r;
}

static enum event_type type_in(struct world *w, const char *text)
{
    const char *name = member(text, "type");
    for (int type = 0; name != NULL && type < EVENT_TYPES; type++) {
        char whole[40];
        int len = snprintf(whole, sizeof whole, "\"delaybridge.%s\"", NAMES[type]);
        if (strncmp(name, whole, (size_t)len) == 0)
            return (enum event_type)type;
    }
    world_fail(w, "an event of no type: %.200s", text);
}

/* Returns whether a request was dropped that no other cancel voids. */
static bool has_voided(const struct world *w, const struct request *cancel)
{
    for (const struct request *r = w->requests; r != NULL; r = r->next)
        if (r->voided > 0 && void_is_sole(w, cancel, r))
            return true;
    return false;
}

static void check_retry(struct process *p, const struct request *r, const char *text)
{
    struct world *w = p->world;
    const char *number = member(text, "retry");
    if (r->retry.number == 0 || r->expect != CODE_OK || number == NULL ||
        atoi(number) != r->retry.number || request_at(w, member(text, "origin")) != r->retry.origin)
        world_fail(w, "p%d says that %d/%lld is retry %d: %.400s", p->id, r->lane,
                   (long long)r->offset, r->retry.number, text);
}

/* The members that an event of the type always has, as docs/events.md promises. */
static const struct {
    enum event_type type;
    const char *name;
} PROMISED[] = {
    {EVENT_ACCEPTED, "target"},
    {EVENT_ACCEPTED, "due"},
    {EVENT_ACCEPTED, "attempt"},
    {EVENT_DELIVERED, "target"},
    {EVENT_DELIVERED, "due"},
    {EVENT_DELIVERED, "attempt"},
    {EVENT_CANCEL_ACCEPTED, "in_force"},
    {EVENT_CANCELLED, "target"},
    {EVENT_CANCELLED, "due"},
    {EVENT_CANCELLED, "attempt"},
    {EVENT_CANCELLED, "cancelled_by"},
    {EVENT_CANCELLED, "certain"},
    {EVENT_REPLACED, "target"},
    {EVENT_REPLACED, "in_force"},
    {EVENT_TOO_LATE, "delivered"},
    {EVENT_DELIVERY_RETRIED, "target"},
    {EVENT_DELIVERY_RETRIED, "due"},
    {EVENT_DELIVERY_RETRIED, "attempt"},
    {EVENT_DELIVERY_RETRIED, "code"},
    {EVENT_DELIVERY_RETRIED, "reason"},
    {EVENT_DELIVERY_RETRIED, "next_try"},
    {EVENT_DEAD_LETTERED, "code"},
    {EVENT_DEAD_LETTERED, "reason"},
    {EVENT_EXPIRED, "target"},
    {EVENT_EXPIRED, "code"},
    {EVENT_EXPIRED, "reason"},
    {EVENT_RETRY_ACCEPTED, "target"},
    {EVENT_RETRY_ACCEPTED, "due"},
    {EVENT_RETRY_ACCEPTED, "attempt"},
    {EVENT_RETRY_ACCEPTED, "retry"},
    {EVENT_RETRY_ACCEPTED, "origin"},
};

/* Returns whether a text is this member, or is null and the member is missing. */
static bool is_member(const char *text, const char *name, struct bytes expected)
{
    const char *at = member(text, name);
    if (at == NULL || bytes_is_null(expected))
        return at == NULL && bytes_is_null(expected);
    return at[0] == '"' && strlen(at) > expected.len + 1 && at[expected.len + 1] == '"' &&
           memcmp(at + 1, expected.data, expected.len) == 0;
}

/* A cancel that voids nothing has its name only. */
static void check_members(struct world *w, const struct told *t, const char *event)
{
    const struct request *r = t->request;
    const char *data = member(event, "data");
    bool name_only = t->type == EVENT_CANCEL_UNMATCHED && r->named_by_id;
    struct bytes key =
        name_only || r->record_key.len > EVENT_TEXT_MAX ? bytes_null() : r->record_key;
    for (size_t i = 0; i < sizeof PROMISED / sizeof *PROMISED; i++)
        if (PROMISED[i].type == t->type && member(data, PROMISED[i].name) == NULL)
            world_fail(w, "an event without %s: %.400s", PROMISED[i].name, event);
    if (!is_member(data, "key", key))
        world_fail(w, "an event without the key of its request: %.400s", event);
    if (r->named_by_id && r->expect != CODE_BAD_ID && !is_member(data, "id", r->id))
        world_fail(w, "an event without the id of its request: %.400s", event);
}

static void check_request(struct process *p, const struct told *t, const char *text)
{
    struct world *w = p->world;
    const struct request *r = t->request;
    const char *certain = member(text, "certain"), *in_force = member(text, "in_force");
    switch (t->type) {
    case EVENT_CANCELLED:
        if (r->voided_by == NULL || certain == NULL)
            world_fail(w, "p%d says that %d/%lld is cancelled", p->id, r->lane,
                       (long long)r->offset);
        break;
    case EVENT_CANCEL_ACCEPTED:
    case EVENT_REPLACED:
        if (!r->voids || (t->type == EVENT_REPLACED) != (r->op == REQUEST_REPLACE) ||
            in_force == NULL)
            world_fail(w, "p%d says that %d/%lld is in force", p->id, r->lane,
                       (long long)r->offset);
        break;
    case EVENT_DELIVERY_RETRIED:
        if (t->attempt < 1 ||
            (t->attempt > r->failures && w->skew_ms_max == 0 && r->key.data != NULL))
            world_fail(w, "p%d says that %d/%lld failed %d times", p->id, r->lane,
                       (long long)r->offset, t->attempt);
        break;
    case EVENT_EXPIRED:
    case EVENT_DEAD_LETTERED:
        if ((t->type == EVENT_EXPIRED) != (strstr(text, "\"code\":\"expired\"") != NULL))
            world_fail(w, "an event of the wrong type for its code: %.300s", text);
        break;
    case EVENT_ACCEPTED:
    case EVENT_DELIVERED:
        if (r->expect != CODE_OK || r->op == REQUEST_CANCEL)
            world_fail(w, "p%d says that %d/%lld is %s", p->id, r->lane, (long long)r->offset,
                       NAMES[t->type]);
        break;
    case EVENT_RETRY_ACCEPTED:
        check_retry(p, r, text);
        break;
    case EVENT_CANCEL_UNMATCHED:
        /* Retention may delete a cancel before its entry is stored. It is still in force at its
           owner, until its end. */
        if (!r->voids || r->op != REQUEST_CANCEL || (r->entries == 0 && !r->cut) ||
            has_voided(w, r))
            world_fail(w, "p%d says that %d/%lld has voided no request", p->id, r->lane,
                       (long long)r->offset);
        break;
    case EVENT_REDRIVEN:
        world_fail(w, "p%d sends a dead letter again", p->id);
    case EVENT_TOO_LATE:
    case EVENT_TYPES:
        break;
    }
}

struct told *facts_forwarded(struct process *p, const struct forward *forward)
{
    struct world *w = p->world;
    struct bytes value = forward->record->value;
    char *text = arena_take(&w->arena, value.len + 1);
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    trace(w, p, "event %s", text);
    if (!p->lanes[forward->from.lane].owned)
        world_fail(w, "p%d writes an event of a lane that it has lost", p->id);
    struct told *t = arena_take(&w->arena, sizeof *t);
    const char *id = member(text, "id"), *subject = member(text, "subject");
    const char *certain = member(text, "certain");
    *t = (struct told){.type = type_in(w, text),
                       .request = request_at(w, subject),
                       .certain = certain != NULL && strncmp(certain, "true", 4) == 0};
    if ((w->setup.events & 1u << t->type) == 0)
        world_fail(w, "p%d writes an event that nothing asked for: %.200s", p->id, text);
    if (id == NULL || subject == NULL || strncmp(id, subject, strcspn(subject + 1, "\"") + 1) != 0)
        world_fail(w, "an event without its place: %.200s", text);
    for (const char *at = id; *at != ','; at++)
        t->attempt = *at == '/' ? atoi(at + 1) : t->attempt;
    if (t->request == NULL) {
        if (t->type != EVENT_DEAD_LETTERED && !w->recreated_ok)
            world_fail(w, "an event of no request: %.300s", text);
        return t;
    }
    if (t->request->lane != forward->from.lane)
        world_fail(w, "an event of another lane: %.300s", text);
    check_request(p, t, text);
    check_members(w, t, text);
    if (t->type == EVENT_TOO_LATE)
        t->other = request_at(w, member(text, "delivered"));
    return t;
}

/* A request that was certainly not delivered is delivered neither before nor after its event. At
   least once, one without a timestamp is due later when it is read again. Retention may delete a
   cancel before its entry is stored. */
static void check_certain(struct world *w, const struct request *r)
{
    bool due_is_known = r->due_ms != DUE_UNKNOWN || r->retry.number > 0 || w->setup.exactly_once;
    bool cancel_was_deleted = r->voided_by != NULL && r->voided_by->cut;
    if (r->certain && r->delivered > 0 && w->skew_ms_max == 0 && due_is_known &&
        !cancel_was_deleted)
        world_fail(w, "%d/%lld was delivered, and an event says that it certainly was not", r->lane,
                   (long long)r->offset);
}

void facts_stored(struct world *w, const struct told *t)
{
    struct request *r = t->request;
    if (r == NULL)
        return;
    r->certain |= t->certain;
    check_certain(w, r);
    if (t->type == EVENT_TOO_LATE &&
        (t->other == NULL || t->other->delivered == 0 || t->other->offset >= r->offset ||
         !bytes_equal(t->other->name, r->name)))
        world_fail(w, "request %d/%lld is told to be too late for one that was not delivered",
                   r->lane, (long long)r->offset);
    if (t->type != EVENT_DELIVERY_RETRIED) {
        r->told[t->type]++;
        return;
    }
    uint64_t bit = (uint64_t)1 << (t->attempt < 63 ? t->attempt : 63);
    if (w->setup.exactly_once && (r->told_tries & bit) != 0)
        world_fail(w, "request %d/%lld has two events of try %d", r->lane, (long long)r->offset,
                   t->attempt);
    r->told_tries |= bit;
}

void facts_outcome(const struct written *it)
{
    struct request *r = it->request;
    struct envelope env;
    if (r == NULL)
        return;
    r->taken |= !it->raw && it->kind != FORWARD_CANCEL;
    if (it->kind == FORWARD_CANCEL && r->op == REQUEST_CANCEL)
        r->in_force++;
    if (it->kind == FORWARD_DEAD)
        r->letters[it->expired ? 1 : 0]++;
    if (it->kind != FORWARD_LEVEL || envelope_open(it->made->value, &env) != 0)
        return;
    if (env.stamp.attempt > r->tries)
        r->tries = env.stamp.attempt;
}

void facts_choose(struct world *w)
{
    static const unsigned some[] = {EVENTS_ALL, EVENTS_ALL, EVENTS_DEFAULT,
                                    EVENT_BIT(EVENT_DELIVERED), EVENT_BIT(EVENT_ACCEPTED)};
    struct rng *rng = &w->cancel_rng;
    if (w->without_cancels || !rng_chance(rng, 3500))
        return;
    w->setup.events = some[rng_int(rng, 0, sizeof some / sizeof some[0] - 1)];
    w->setup.events_lossy = !w->setup.exactly_once && rng_chance(rng, 2000);
    w->setup.commits_are_prompt = false; /* a record is done when its events are */
}

/* Fails unless n events were stored for a fact that happened `facts` times. At least once, a
   process may never learn of an outcome. It then forwards the record again, perhaps with another
   outcome. So only one of several outcomes needs its event. */
static void match(struct world *w, const struct request *r, enum event_type type, int facts)
{
    int n = r->told[type];
    int outcomes = (r->delivered > 0) + (r->letters[0] > 0) + (r->letters[1] > 0) +
                   (r->voided_by != NULL) + (r->in_force > 0);
    if ((w->setup.events & 1u << type) == 0)
        return;
    bool needless = outcomes > 1 || r->cut || w->setup.events_lossy;
    bool fits = w->setup.exactly_once ? n == facts : facts > 0 ? n > 0 || needless : n == 0;
    if (!fits)
        world_fail(w, "request %d/%lld has %d events %s of %d facts", r->lane, (long long)r->offset,
                   n, NAMES[type], facts);
}

static void match_accepted(struct world *w, const struct request *r)
{
    bool accepted = r->taken || r->voided > 0;
    match(w, r, EVENT_ACCEPTED, accepted);
    match(w, r, EVENT_RETRY_ACCEPTED, accepted && r->retry.number > 0);
}

static void judge(struct world *w, const struct request *r)
{
    check_certain(w, r);
    match(w, r, EVENT_DELIVERED, r->delivered);
    match(w, r, EVENT_DEAD_LETTERED, r->letters[0]);
    match(w, r, EVENT_EXPIRED, r->letters[1]);
    if (w->setup.exactly_once || r->voided_by == NULL)
        match(w, r, EVENT_CANCELLED, r->voided);
    /* At least once, a request may be accepted and read again, and expire in between. */
    if (w->setup.exactly_once || (r->letters[0] + r->letters[1] == 0 && r->voided_by == NULL))
        match_accepted(w, r);
    match(w, r, EVENT_CANCEL_ACCEPTED, r->in_force);
    if (w->setup.exactly_once && r->told[EVENT_CANCEL_UNMATCHED] > 1)
        world_fail(w, "the cancel %d/%lld is told twice to have voided no request", r->lane,
                   (long long)r->offset);
    if (r->op == REQUEST_REPLACE && r->taken)
        match(w, r, EVENT_REPLACED, 1);
    for (int n = 1; n <= r->tries && n < 63; n++) {
        bool told = (r->told_tries >> n & 1) != 0;
        if (!told && (w->setup.events & EVENT_BIT(EVENT_DELIVERY_RETRIED)) != 0 &&
            !w->setup.events_lossy)
            world_fail(w, "request %d/%lld has no event of try %d", r->lane, (long long)r->offset,
                       n);
    }
}

void facts_final(struct world *w)
{
    for (const struct request *r = w->requests; r != NULL && w->setup.events != 0; r = r->next) {
        if (!r->excused)
            judge(w, r);
    }
}
