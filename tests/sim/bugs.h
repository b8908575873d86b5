/* SPDX-License-Identifier: Apache-2.0 */
/* bugs: planted mistakes between the bridge and its port. The simulator must find each of them,
   which proves that its checks can fail. With BUG_NONE every function here passes its call on. */
#ifndef DELAYBRIDGE_TESTS_SIM_BUGS_H
#define DELAYBRIDGE_TESTS_SIM_BUGS_H

#include "bridge/core/bridge.h"

#define BUG_TABLE(X)                                                                             \
    X(COMMIT_ONE_TOO_FAR, "commit_one_too_far", "progress is committed with base + 1")           \
    X(BITMAP_FORGOTTEN, "bitmap_forgotten", "the bitmap is left out of commits")                 \
    X(BITMAP_SHIFTED, "bitmap_shifted", "every bit of the bitmap stands for the next offset")    \
    X(METADATA_OF_ANOTHER_BASE, "metadata_of_another_base",                                      \
      "a commit has the metadata of the commit before it")                                       \
    X(DONE_AT_ENQUEUE, "done_at_enqueue", "success is reported when a record is queued")         \
    X(TIMEOUT_IS_SUCCESS, "timeout_is_success", "an unknown outcome is reported as success")     \
    X(CLOCK_AHEAD, "clock_ahead", "release is a millisecond early")                              \
    X(RESUME_SKIPS_HEAD, "resume_skips_head", "a seek starts one record too late")               \
    X(START_AT_NEXT, "start_at_next",                                                            \
      "a lane starts where reading ended, not at the committed offset")                          \
    X(START_AT_END, "start_at_end", "a queue without a commit starts at its end")                \
    X(START_IS_STALE, "start_is_stale", "a lane starts from the commit before the last")         \
    X(OUT_OF_RANGE_TO_END, "out_of_range_to_end", "a lost position jumps to the log's end")      \
    X(TRIM_TOO_FAR, "trim_too_far", "a level is trimmed one record beyond the committed offset") \
    X(FENCED_IS_SUCCESS, "fenced_is_success", "a refused commit is reported as successful")      \
    X(LANE_KEPT, "lane_kept", "the bridge does not learn that a lane was lost")                  \
    X(ORDER_SWAPPED, "order_swapped", "two fetched records are swapped")                         \
    X(REPORT_TWICE, "report_twice", "a delivery report is applied twice")                        \
    X(REPORT_LOST, "report_lost", "a delivery report is lost")                                   \
    X(STAMP_OF_BROKER, "stamp_of_broker", "level records are stamped by another clock")          \
    X(NULL_IS_EMPTY, "null_is_empty", "a null value is delivered as an empty one")               \
    X(COST_UNDERSTATED, "cost_understated", "records claim to pin a tenth of their memory")      \
    X(LETTER_PINS_BATCH, "letter_pins_batch", "a dead letter is not copied out of its batch")    \
    X(RANGE_TOO_LONG, "range_too_long", "an unreadable range is reported one record too long")   \
    X(PAUSE_STICKS, "pause_sticks", "a seek does not resume")                                    \
    X(EXPIRY_BY_SLOW_CLOCK, "expiry_by_slow_clock",                                              \
      "the clock given to the bridge is an hour slow")                                           \
    X(WRONG_CODE, "wrong_code", "a refusal reaches the dead-letter topic with another code")     \
    X(READS_UNCOMMITTED, "reads_uncommitted", "records are read before they are committed")      \
    X(READS_UNSTABLE, "reads_unstable",                                                          \
      "offsets are read while they are pending in a transaction")                                \
    X(OFFSETS_APART, "offsets_apart", "offsets are committed without their transaction")         \
    X(GENERATION_BLANK, "generation_blank",                                                      \
      "a commit has no generation, so that the coordinator checks none")                         \
    X(REREAD_TOO_SOON, "reread_too_soon", "lanes are read again before the new producer exists") \
    X(NOT_FENCED, "not_fenced", "a new producer leaves the old one's transaction open")          \
    X(UNKNOWN_IS_SUCCESS, "unknown_is_success",                                                  \
      "a commit of unknown outcome is reported as successful")                                   \
    X(TOLD_TOO_SOON, "told_too_soon", "a commit is reported as successful when it is sent")      \
    X(START_AS_SENT, "start_as_sent", "a lane starts from a commit that was only sent")          \
    X(REQUEST_LIMIT_UNKNOWN, "request_limit_unknown",                                            \
      "the bridge is given ten times the request limit of the brokers")                          \
    X(LANDED_AT_START, "landed_at_start", "every hop is reported as stored at offset 0")         \
    X(HEAD_FORGED, "head_forged", "a record has another timestamp at each reading")              \
    X(UNREAD_UNKNOWN, "unread_unknown", "a queue always seems to have no records at hand")       \
    X(LEADERLESS_IS_WHOLE, "leaderless_is_whole", "leaders always seem to be available")         \
    X(CANCEL_DONE_AT_INSERT, "cancel_done_at_insert", "a cancel is done before its entry is")    \
    X(SEAL_OF_STABLE_ENDS, "seal_of_stable_ends", "the ends of levels are last stable offsets")  \
    X(LOAD_TO_STABLE_END, "load_to_stable_end", "cancels are loaded to the last stable offset")  \
    X(LOAD_ENDED_BY_TIME, "load_ended_by_time", "a load ends after a while, at any position")    \
    X(LOAD_SKIPS_TOO_FAR, "load_skips_too_far",                                                  \
      "a load skips a record behind an unreadable batch")                                        \
    X(HOP_WITHOUT_TIMEOUT, "hop_without_timeout", "a client never gives up a hop")               \
    X(ENTRY_OF_ANOTHER, "entry_of_another", "the entry of a cancel names the offset before")     \
    X(EVENT_LOST, "event_lost", "an event is reported as stored, and it is not")

#define BUG_ENUM(id, name, text) BUG_##id,
enum bug { BUG_NONE, BUG_TABLE(BUG_ENUM) BUG_N };
#undef BUG_ENUM

const char *bug_name(enum bug bug);
const char *bug_text(enum bug bug);
enum bug bug_by_name(const char *name); /* BUG_N for an unknown name */

struct process;
struct world;
/* Returns whether records are reported when they are sent. The bridge then frees them in flight. */
bool bug_reports_early(enum bug bug);
struct port bug_port(struct process *process, struct port port);
struct now bug_now(const struct process *process, struct now now);
void bug_reported(struct process *process, struct parcel *parcel, enum report report,
                  const char *why);
int64_t bug_landed(const struct process *process, int64_t offset);
bool bug_report_lost(struct process *process);
bool bug_commit_ok(const struct process *process, bool ok, bool unknown);
bool bug_reads_unstable(const struct process *process);
void bug_lane_lost(struct process *process, int lane);
void bug_forget(struct process *process, int lane); /* the layer's own state of this lane */
int64_t bug_range_end(const struct process *process, int64_t end);
void bug_out_of_range(struct process *process, struct queue_id queue, int64_t start, int64_t end);
enum lookup bug_lookup(const struct world *world, enum lookup found);
size_t bug_record_max(const struct world *world); /* the limit that the bridge is configured with */
int64_t bug_stamp(const struct world *world, int64_t stamp_ms);
void bug_ends(const struct process *process, int slot, struct log_ends *ends);
bool bug_load_skips(const struct process *process);
bool bug_load_ends(const struct process *process);
void bug_start(struct process *process, int lane, int slot, struct start *start);

#endif
