/* SPDX-License-Identifier: Apache-2.0 */
/* The private parts of the command find: the question, the answers, and the searches. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_FIND_PARTS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_FIND_PARTS_H

#include "bridge/commands/around.h"
#include "bridge/commands/command.h"
#include "bridge/commands/place.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/scan.h"
#include "levels/bytes.h"
#include "levels/cancel_log.h"
#include "levels/code.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    FOUND_MAX = 1000,
    KNOWN_MAX = 64,
    VOIDERS_MAX = 256,
    SEARCHED_MAX = 2 * LADDER_MAX + 16,
    NOTES_MAX = 8
};

/* The question. */
struct wanted {
    struct bytes id, key; /* null: not given */
    bool by_source;
    int lane;     /* the lane of the source or key; -1: all lanes */
    int key_lane; /* by murmur2; -1: no key decides the lane */
    int64_t source_offset;
    bool due_known, sent_known;
    struct around due, sent;
    int64_t
        until_ms; /* end of the search for deliveries; 0: DELIVERED_WITHIN_MS after the due time */
    int limit;
};

/* A request that was found on the schedule topic. */
struct known {
    int lane;
    int64_t offset, timestamp_ms, due_ms;
    enum code code; /* not CODE_OK: it is or will be dead-lettered, and has no target */
    char target[TOPIC_TEXT_MAX];
    struct bytes key;  /* of its delivery; owned */
    struct bytes name; /* by which a cancel can void it; owned; null: none */
    enum cancel_kind kind;
};

/* A cancel or replace that was found on the schedule topic. */
struct voider {
    int lane;
    int64_t offset, timestamp_ms;
    enum cancel_op op;
    enum cancel_kind kind;
    struct bytes name; /* owned */
};

/* One answer. */
struct found {
    enum { FOUND_WAITING, FOUND_DELIVERED, FOUND_DEAD, FOUND_CANCELLED } state;
    char topic[TOPIC_TEXT_MAX];
    int slot; /* FOUND_WAITING: of the queue; 0 is the schedule topic */
    /* FOUND_WAITING in slot 0. The newest requests of a lane may be read or not, if their rest is
       short enough for memory (hold). */
    enum { READ_UNKNOWN, READ_NOT, READ_AND_KEPT } read;
    int partition;
    int64_t offset, stamped_ms; /* offset: -1: unknown */
    struct bytes key, value;    /* owned; value: the envelope of a waiting record */
    int source_lane;            /* of the request; -1: unknown */
    int64_t source_offset;
    int64_t due_ms;  /* 0: unknown */
    int64_t late_ms; /* FOUND_DELIVERED */
    /* The event that this answer comes from. */
    int event_lane;
    int64_t event_offset, event_ms; /* event_ms: 0: from no event */
    /* The cancel or replace on the schedule topic. Set for FOUND_CANCELLED, and for a waiting
       record that will be dropped. */
    bool cancelled;
    enum cancel_op op;
    int cancel_lane;
    int64_t cancel_offset;
    int64_t cancel_sent_ms; /* 0: unknown, and so is op */
    int64_t in_force_ms;    /* 0: unknown */
    char code[32];          /* FOUND_DEAD, and a waiting request that will be refused; else "" */
    char reason[REASON_MAX + 16];
};

/* The searches of one topic. */
struct searched {
    char topic[TOPIC_TEXT_MAX];
    int partitions;            /* in the widest scan */
    int scan, scan_partitions; /* the last scan of this topic */
    int64_t offsets;           /* in all scans */
};

typedef bool find_each(void *ctx, const struct scan_range *range,
                       const rd_kafka_message_t *message);

struct find {
    const struct cli *cli;
    rd_kafka_t *rk;
    struct wanted wanted;
    struct offsets offsets;
    pthread_mutex_t mutex; /* of known and found: scans call back from several threads */
    struct known known[KNOWN_MAX];
    int known_n;
    struct voider voiders[VOIDERS_MAX];
    int voiders_n;
    struct found *found;
    int found_n;
    struct searched searched[SEARCHED_MAX];
    int searched_n, scans_n;
    char notes[NOTES_MAX][256]; /* sentences: limits of this search */
    int notes_n;
    char denied[TOPIC_TEXT_MAX]; /* a target that may not be read, or "" */
    struct error error;          /* the sentence of a failed search */
    int64_t now_ms;
    bool only_requests; /* this scan looks for requests, not for waiting records */
    bool bar_shown;
    find_each *each;     /* of the running scan */
    atomic_bool stopped; /* the receiver of the results has ended the search (output.h) */
};

/* Searches. Each returns 0, or an error with a sentence in find->error, and adds to found or
   known. */

/* Reads the request at wanted.source_offset, or those sent within wanted.sent. */
int find_request(struct find *find) must_check;

/* Searches the lanes for waiting records: first the ranges for the due time, if it is known, then
   all that waits. */
int find_waiting(struct find *find) must_check;

/* Searches all that the schedule topic still has, to learn due time and target. Does nothing if
   find_request has found the request. */
int find_request_in_history(struct find *find) must_check;

/* Repeats the three searches above in all lanes, if that of the key has no request. All later
   searches then read all lanes, too. */
int find_in_other_lanes(struct find *find) must_check;

int find_dead_letter(struct find *find) must_check;

/* Searches the events after the due time, and then the targets. */
int find_delivered(struct find *find) must_check;

/* Searches the events of these times, if events are on. 0: no limit. */
int find_reported(struct find *find, int64_t from_ms, int64_t to_ms) must_check;

/* Searches all events. */
int find_reported_ever(struct find *find) must_check;

/* Searches the topic of cancels, then the schedule topic, for what voids a known request. */
int find_cancelled(struct find *find) must_check;

/* Searches the topic of cancels for what voids the waiting records that were found. They are
   dropped when they leave their level, and each of their cancels is in force until then. */
int find_cancels_of_waiting(struct find *find) must_check;

/* Helpers of the searches. */

/* Reads the ranges, shows the progress on a terminal, and counts the searched offsets. */
int find_scan(struct find *find, struct scan_range *ranges, int n, find_each *each) must_check;

/* Moves both ends of the ranges by their times (scan_narrow). */
int find_narrow(struct find *find, struct scan_range *ranges, int n) must_check;

/* Fills one range for each partition of a topic from first to last. from_ms, to_ms: limits of the
   timestamps; 0: none. */
struct topic_part {
    const char *topic;
    int first, last;
    int64_t from_ms, to_ms;
};
int find_topic_ranges(struct find *find, const struct topic_part *part,
                      struct scan_range *ranges) must_check;

/* Returns the earliest time of a record that followed a known request, or 0 if it is unknown. */
int64_t find_sent_from_ms(const struct find *find);

/* Reads this part of a topic. */
int find_topic(struct find *find, const struct topic_part *part, find_each *each) must_check;

/* Sets *partitions to 0 if the topic is not in the list of all topics. */
int find_partitions(struct find *find, const char *topic, int *partitions) must_check;

/* Searches the target for a delivery within a span of the time of its event. */
int find_on_target(struct find *find, const struct found *found, int64_t span_ms) must_check;

/* Returns the known request of this source, or NULL. */
const struct known *find_known(const struct find *find, int lane, int64_t offset);

/* Returns whether a request with this dlb-id, key and source is one of the question. */
bool find_is_wanted(const struct wanted *wanted, struct bytes id, struct bytes key,
                    struct place source);

/* Adds the request or the operation of a record of the schedule topic, if it is wanted. Returns
   false to end the scan. */
bool find_match_request(struct find *find, const rd_kafka_message_t *message);

/* Reads a record of the schedule topic. Returns false if it voids nothing. The name is borrowed. */
bool find_read_voider(const struct find *find, const rd_kafka_message_t *message,
                      struct voider *voider);

/* Adds a note once. */
__attribute__((format(printf, 2, 3))) void find_note(struct find *find, const char *format, ...);

/* Returns false when there is no room for more answers. Called by several threads. Copies
   found->key and found->value; without memory, they become null. A second answer for one request
   replaces the older waiting record, the later cancel, or the event without a place. */
bool find_add(struct find *find, const struct found *found);

/* Prints one answer, or the sentence that there is none. */
void find_print(const struct find *find, const struct found *found);
void find_print_none(const struct find *find);
/* Prints the answer that the record does not wait, but that its target may not be read. */
void find_print_not_waiting(const struct find *find);

#endif
