/* SPDX-License-Identifier: Apache-2.0 */
/* bridge: the step machine that decides everything and touches nothing. No Kafka client, no clock,
   no threads, no allocation after bridge_new. Its calls bring the time and the events, and it acts
   through a port. The real port is librdkafka (bridge/service/worker.c over consumer/); the other
   is the simulator (tests/sim). The same bytes of code run in both.

   One bridge serves the lanes of one worker. A lane is partition p of the schedule topic (queue 0)
   and of every level topic (queues 1 ..). Its promises, whatever the port does:
     - a record is marked done only when its successor was acknowledged;
     - a committed offset is never beyond a record that is not done (window.h);
     - nothing is handed to port.forward for a target before its due time by the wall clock given;
     - nothing is handed to port.forward that is larger than record_max_bytes, if its size is known;
     - bytes in memory and in flight, with headers as the client lists them, stay within the budget
       plus one record a queue of at most large_bytes, plus one larger record;
     - records on their way to the dead-letter topic take a quarter of the budget at most, plus one
       record a lane.

   One turn serves due records, then delivery reports, then level records whose time is near, then
   new requests within a quota. So intake can never make deliveries late. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H
#define DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H

#include "bridge/core/port.h"
#include "bridge/core/settings.h"
#include "bridge/core/stats.h"

struct bridge;
/* NULL: out of memory. The port is copied. */
struct bridge *bridge_new(const struct bridge_config *config, const struct port *port,
                          struct stats *stats, struct now now);
void bridge_free(struct bridge *bridge); /* gives every record back to the port first */

void bridge_reconfigure(struct bridge *bridge, const struct bridge_live *live);

int bridge_queues_per_lane(const struct bridge *bridge);

/* Do all work that is due. Returns the ms until the next call at the latest, at most
   BRIDGE_WAIT_MAX_MS. 0: call at once. The call comes sooner if a queue woke or a report came. */
enum { BRIDGE_WAIT_MAX_MS = 100 };
int64_t bridge_turn(struct bridge *bridge, struct now now);

/* Something can be taken from this queue. */
void bridge_wake(struct bridge *bridge, struct queue_id id);

/* The lane is ours, and starts at these offsets, one for each slot. WINDOW_UNSET: none was ever
   committed, and reading starts at the beginning. text is the commit metadata (empty if none). The
   port has the queues assigned there, unpaused. Returns how many texts were not usable (they are
   ignored, which is safe). */
int bridge_lane_gained(struct bridge *bridge, int lane, const struct start *starts, struct now now);

/* The lane is not ours any more. Records in memory are forgotten, those in flight are remembered.
   Exactly once, an open transaction is aborted. So all lanes are lost with no turn in between, and
   later assigned again with no turn in between. */
void bridge_lane_lost(struct bridge *bridge, int lane);

/* All lanes that are ours were assigned. The windows of all others are forgotten: they may have an
   owner meanwhile, and come back with other topics under the same names. */
void bridge_lanes_settled(struct bridge *bridge);

/* Before a lane is lost, or at the end: serve reports, take and forward no record, and keep
   committing (exactly once: end the transaction). Returns how many parcels are still in flight. */
size_t bridge_settle(struct bridge *bridge, struct now now);

/* How many parcels are in flight, those of lost lanes with them. */
size_t bridge_in_flight(const struct bridge *bridge);

/* Commit all progress that is not committed yet, now. */
void bridge_commit(struct bridge *bridge, struct now now);

void bridge_committed(struct bridge *bridge, uint64_t seq, bool ok);

/* Exactly once: the transaction cannot be committed, and all of its records were reported.
   ABORT_CAUSE_RECORDS: a target that refuses writes, or a record that no partition takes, may be
   the cause. ABORT_CAUSE_CLUSTER: the cluster was away, the lanes have another owner, the outcome
   of the commit is unknown, or a record timed out. At most once for each producer, at any time
   outside of the port's calls. Not after port.abort has aborted that producer. */
void bridge_aborted(struct bridge *bridge, enum abort_cause cause, const char *why);

/* After port.abort: there is a producer again. */
void bridge_restarted(struct bridge *bridge);

/* why: a phrase for people, unused for REPORT_OK. Only from inside port.reports. */
void bridge_reported(struct bridge *bridge, struct parcel *parcel, enum report report,
                     const char *why);

/* A broker reads nothing that is sent to it for for_ms, because a quota was exceeded: until then,
   no target and no topic of ours is to blame for silence. Between turns, or from inside
   port.reports. */
void bridge_throttled(struct bridge *bridge, int64_t for_ms);

/* The log of this queue was deleted below base. At any time outside of the port's calls, or inside
   port.reports. */
void bridge_trimmed(struct bridge *bridge, struct queue_id id, int64_t base);

/* Kafka has no such level topic any more. The queue is blocked, and hops to it wait, until the lane
   is assigned with a start that is not missing. Between turns. */
void bridge_topic_missing(struct bridge *bridge, struct queue_id id);

/* A hop of this parcel was stored in this level at offset (-1: unknown). Before its report, and
   only from inside port.reports. A log that is longer at the hop's start than at its end is another
   log. */
void bridge_hop_stored(struct bridge *bridge, const struct parcel *parcel, struct queue_id level,
                       int64_t offset);

/* The position of a queue does not exist: the log now starts at start and ends at end. */
void bridge_out_of_range(struct bridge *bridge, struct queue_id id, int64_t start, int64_t end);

/* The client cannot read [from, end), in which the position of a queue lies. It is one batch,
   damaged, or packed in a way that it cannot unpack. After three equal readings the queue is
   blocked there. With skip_unreadable a dead letter names the range, and is acknowledged; then the
   range is done. */
void bridge_unreadable(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

/* The range at which this queue is held. False: none is. */
bool bridge_blocked_range(const struct bridge *bridge, struct queue_id id, int64_t *from,
                          int64_t *end);

/* A dead letter names this range: it is done as soon as nothing before it is in work. Any other
   range than the held one is ignored. */
void bridge_skip_range(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

/* How things stand, into the gauges of stats.slots: for once a second. */
void bridge_survey(struct bridge *bridge, struct now now);

/* Asserts every invariant of the structures inside. */
void bridge_check(const struct bridge *bridge);

#endif
