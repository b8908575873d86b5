/* SPDX-License-Identifier: Apache-2.0 */
/* bridge: the step machine, which decides everything that happens to a record. It is pure: it has
   no Kafka client, clock or thread, and it allocates nothing after bridge_new. The one exception is
   a restore of more cancels than the table of a process holds. The worker passes it
   the time and the facts in the calls below, and it acts through a port (port.h). The service and
   the simulator run the same code.

   One bridge serves the lanes of one worker. A lane is partition p of the schedule topic (slot 0)
   and of every level topic (slots 1 and above). The bridge guarantees this, for any behavior of the
   port:
     - A record is marked done only after its successor was acknowledged.
     - A committed offset is never above a record that is not done (window.h).
     - No record goes to a target before its due time, by the wall clock of the call.
     - No record goes to port.forward that is larger than record_max_bytes, if its size is known.
     - Records in memory and in flight fit the memory budget, headers included. Beyond the budget,
       each queue may have one record of at most large_bytes. One queue at a time may have a larger
       record.
     - Events come on top of the budget, while they are in flight. They count towards it.
     - Records on their way to the dead-letter topic take a quarter of the budget at most, and one
       more record for each lane.
     - No record goes to a target that an entry pauses, or above its limit.
     - No record is forwarded that a cancel in force voids. All cancels that stand in a lane's logs
       when the lane is assigned are in force before its first record is forwarded.

   A turn serves due records, then reports, then level records whose time is near, then new requests
   within a quota. So intake can never make deliveries late.

   All functions are called from one thread, and never from inside a call of the port unless the
   comment says so. "Between turns" means outside of all calls of bridge and port. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H
#define DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H

#include "bridge/core/port.h"
#include "bridge/core/settings.h"
#include "bridge/core/stats.h"
#include "levels/control.h"

struct bridge;

/* Life. */

/* Returns a bridge without lanes, or NULL: out of memory. config and port are copied. stats and the
   pointers in config must outlive the bridge. */
struct bridge *bridge_new(const struct bridge_config *config, const struct port *port,
                          struct stats *stats, struct now now);

/* Releases every record through the port, then frees the bridge. */
void bridge_free(struct bridge *bridge);

/* Takes over settings that may change at run time. Between turns. */
void bridge_reconfigure(struct bridge *bridge, const struct bridge_live *live);

/* Returns the number of slots: the schedule topic, the levels and the retired levels. */
int bridge_queues_per_lane(const struct bridge *bridge);

/* Asserts every invariant of the structures inside. */
void bridge_check(const struct bridge *bridge);

/* Turns. */

/* Does all work that is due. Returns the ms until the next turn, 0 to BRIDGE_WAIT_MAX_MS. The next
   turn comes sooner if a queue wakes or a report arrives. */
enum { BRIDGE_WAIT_MAX_MS = 100 };
int64_t bridge_turn(struct bridge *bridge, struct now now);

/* A record of this queue is available again, after port.take returned NULL. */
void bridge_wake(struct bridge *bridge, struct queue_id id);

/* Writes the gauges of stats.slots. Once a second is enough. */
void bridge_survey(struct bridge *bridge, struct now now);

/* Lanes. */

/* The group assigned a lane. starts has one entry for each slot. The port reads each queue from its
   start, unpaused. Returns the number of commit metadata texts that cannot be decoded. The bridge
   ignores those, which is safe: records can only be forwarded again. */
int bridge_lane_assigned(struct bridge *bridge, int lane, const struct start *starts,
                         struct now now);

/* The group revoked a lane, or the member lost it. Forgets records in memory, and waits for the
   reports of those in flight. With exactly-once, aborts the open transaction. All lanes must then
   be lost and assigned together, with no turn in between. */
void bridge_lane_lost(struct bridge *bridge, int lane);

/* All lanes of a rebalance were assigned. Forgets the windows of all other lanes: they may come
   back from another owner, or with other topics of the same names. */
void bridge_lanes_settled(struct bridge *bridge);

/* Before lanes are lost: serves reports and commits progress, but takes and forwards no record.
   With exactly-once, ends the transaction. Returns the number of parcels in flight, without those
   of lost lanes, plus 1 while a transaction waits for its answer. */
size_t bridge_settle(struct bridge *bridge, struct now now);

/* Commits all progress that is not committed yet. */
void bridge_commit(struct bridge *bridge, struct now now);

/* Returns the number of parcels in flight, those of lost lanes included. */
size_t bridge_in_flight(const struct bridge *bridge);

/* Outcomes. */

/* A record that port.forward accepted has its report. why is a phrase for people, unused for
   REPORT_OK. Between turns or inside port.reports. */
void bridge_reported(struct bridge *bridge, struct parcel *parcel, enum report report,
                     const char *why);

/* A hop of this parcel was stored in a level, at offset or at an unknown place (-1). Call it before
   bridge_reported, between turns or inside port.reports. An offset below the end of the level's
   log, as it was when the hop started, proves that the topic was created again. */
void bridge_hop_stored(struct bridge *bridge, const struct parcel *parcel, struct queue_id level,
                       int64_t offset);

/* A delivery of this parcel was stored in its target. Call it before bridge_reported, between turns
   or inside port.reports. */
void bridge_delivery_stored(struct bridge *bridge, struct parcel *parcel, int32_t partition,
                            int64_t offset);

/* At-least-once: the commit seq of port.commit succeeded or failed. */
void bridge_committed(struct bridge *bridge, uint64_t seq, bool ok);

/* Exactly-once: a fact about a transactional client. Inside port.reports, or where port.h says so.
 */
void bridge_client_fact(struct bridge *bridge, const struct client_fact *fact);

/* Exactly-once: returns whether all lanes must be lost, because a transaction failed whose work is
   marked in the windows. They may be assigned again when bridge_may_gain returns true. Between
   turns, and never while the lanes settle. */
bool bridge_must_reread(const struct bridge *bridge);

/* Returns whether lanes may be assigned. Exactly-once: false while the committed offsets may still
   have to wait for a client that this bridge replaces. Ask again after each turn. */
bool bridge_may_gain(const struct bridge *bridge);

/* A broker reads no requests for for_ms, because a quota was exceeded. During this time, neither a
   target nor a topic of ours is to blame for silence. Between turns or inside port.reports. */
void bridge_throttled(struct bridge *bridge, int64_t for_ms);

/* The log of this queue was deleted below base. Between turns or inside port.reports. */
void bridge_trimmed(struct bridge *bridge, struct queue_id id, int64_t base);

/* Cancels. Between turns or inside port.reports. */

/* The answer to port.query_ends. ends: one for each slot of bridge_queues_per_lane, and then one
   for the topic of cancels. whole: each of these partitions has a leader and all of its replicas.
 */
void bridge_ends(struct bridge *bridge, int lane, const struct log_ends *ends, bool whole);

/* A record of the log that port.load reads for this lane. The record is valid during the call.
   Headers are filled for LOAD_REQUESTS only. */
void bridge_loaded(struct bridge *bridge, int lane, const struct record *record);

/* The load has ended. next: the first offset that it did not read. It is load.end or above, or
   below it if the log ends there. */
void bridge_load_ended(struct bridge *bridge, int lane, int64_t next);

/* The topic of cancels of this lane was deleted below an offset. */
void bridge_cancels_trimmed(struct bridge *bridge, int lane, int64_t below);

/* Returns whether the lane applies its cancels before it opens, and sets the offset that the load
   has reached and its end. */
bool bridge_lane_is_loading(const struct bridge *bridge, int lane, int64_t *at, int64_t *end);

/* Pauses and limits of targets. Between turns. */

/* Adds or replaces the entry of a pattern. Returns ERR_FULL if there are CONTROLS_MAX others. */
int bridge_control_put(struct bridge *bridge, const struct control *control,
                       struct now now) must_check;

/* Returns whether there is an entry equal to this one. */
bool bridge_control_has(const struct bridge *bridge, const struct control *control);

/* Returns whether another entry can be added. */
bool bridge_control_has_room(struct bridge *bridge, struct now now);

/* Removes the entry with exactly this pattern. Returns whether there was one. */
bool bridge_control_remove(struct bridge *bridge, struct bytes pattern);

/* All entries follow from the beginning of their topic. Those that do not come are removed by
   bridge_control_known. */
void bridge_control_begin(struct bridge *bridge);

/* All entries that the topic has were passed on. The first call opens the lanes. */
void bridge_control_known(struct bridge *bridge);

/* Trouble with a log. Between turns. */

/* A level topic does not exist any more. The queue is blocked and hops to it wait, until the lane
   is assigned with a start that is not missing. */
void bridge_topic_missing(struct bridge *bridge, struct queue_id id);

/* The position of a queue does not exist: the log starts at start and ends at end. */
void bridge_out_of_range(struct bridge *bridge, struct queue_id id, int64_t start, int64_t end);

/* The client cannot read [from, end), in which the position of a queue lies. It is one batch that
   is damaged, or that the client cannot unpack. After three equal readings the queue is blocked.
   With skip_unreadable a dead letter then names the range, and its acknowledgement marks the range
   as done. */
void bridge_unreadable(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

/* Returns true and sets the range at which this queue is blocked. Returns false if there is none.
 */
bool bridge_blocked_range(const struct bridge *bridge, struct queue_id id, int64_t *from,
                          int64_t *end);

/* An operator dead-lettered this range. It is done as soon as every record before it is done.
   Ignores any range but the one at which the queue is blocked. */
void bridge_skip_range(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

#endif
