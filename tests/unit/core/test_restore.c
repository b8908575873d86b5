/* SPDX-License-Identifier: Apache-2.0 */
/* restore, seal: the steps of a lane until it opens, and the life of its cancels. */
#include "bridge/core/bridge.h"
#include "bridge/core/cancel_table.h"
#include "bridge/core/event_record.h"
#include "bridge/core/parcel.h"
#include "bridge/core/progress.h"
#include "bridge/core/restore.h"
#include "bridge/core/seal.h"
#include "levels/little.h"
#include "levels/murmur2.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { QUEUES = 3, END = 200 };

static struct log_ends ends[QUEUES + 1];
static struct lane_cancels *lane;

/* The linker sends calls of calloc to this file (--wrap), so that memory may lack. */
static bool memory_lacks;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    return memory_lacks ? NULL : __real_calloc(n, size);
}

/* Lane 0 has just been assigned. The topic of cancels is empty. */
static void start_again(void)
{
    fx.config.cancel_memory = 1 << 12;
    fixture_again();
    lane = &fx.b->lanes[0].cancels;
    for (int slot = 0; slot < QUEUES; slot++)
        ends[slot] = (struct log_ends){0, END, END};
    ends[QUEUES] = (struct log_ends){0};
}

static void start(void)
{
    fixture_start();
    start_again();
}

static void start_exactly_once(void)
{
    fixture_start_exactly_once();
    start_again();
}

TestSuite(restore, .init = start, .fini = fixture_stop);
TestSuite(restore_exactly, .init = start_exactly_once, .fini = fixture_stop);

static void answer(void)
{
    bridge_ends(fx.b, 0, ends, true);
}

/* Gives the record at the begin of the load: a cancel of "key". */
static void give_witness(int64_t timestamp_ms)
{
    static const struct header OP = {.name = "dlb-op",
                                     .value = {.data = (const void *)"cancel", .len = 6}};
    const struct record record = {.offset = fx.load.from,
                                  .key = bytes_text("key"),
                                  .timestamp_ms = timestamp_ms,
                                  .headers = &OP,
                                  .headers_n = 1};
    bridge_loaded(fx.b, 0, &record);
}

/* The schedule topic has the record of the newest entry. */
static void recognize(void)
{
    cr_assert_eq(lane->loading, LOADING_SAME_LOG);
    give_witness(0);
    bridge_load_ended(fx.b, 0, fx.load.end);
}

static void open_lane(void)
{
    answer();
    answer();
    if (lane->loading == LOADING_SAME_LOG)
        recognize();
    if (lane->loading == LOADING_REQUESTS)
        bridge_load_ended(fx.b, 0, END);
    cr_assert_eq(lane->loading, LOADING_NONE);
}

static void give(const void *value, size_t size, const char *key)
{
    const struct record record = {
        .offset = 3, .key = bytes_text(key), .value = bytes_of(value, size)};
    bridge_loaded(fx.b, 0, &record);
}

static void give_entry_of(int64_t offset, const char *key)
{
    uint8_t value[CANCEL_ENTRY_SIZE];
    const struct cancel_entry entry = {.kind = CANCEL_BY_KEY, .offset = offset};
    give(value, cancel_entry_encode(&entry, value), key);
}

static void give_entry(int64_t offset)
{
    give_entry_of(offset, "key");
}

/* Answers the first query: the topic of cancels ends at n. */
static void begin_load(int64_t n)
{
    ends[QUEUES] = (struct log_ends){0, n, n};
    answer();
    cr_assert_eq(lane->loading, LOADING_LOG);
    cr_assert(fx.load.log == LOAD_CANCELS && fx.load.from == 0 && fx.load.end == n);
}

Test(restore, a_lane_takes_no_record_before_its_cancels_are_in_force)
{
    fixture_offer(LEVEL, fixture_record(START, BEGIN_WALL_MS));
    fixture_turn();
    cr_expect_not_null(fx.offered);
    begin_load(5);
    give_entry(150);
    bridge_load_ended(fx.b, 0, 5);
    cr_expect_eq(fx.queries, 2);
    answer();
    cr_expect(fx.load.from == 150 && fx.load.end == 151);
    recognize();
    cr_assert_eq(lane->loading, LOADING_REQUESTS);
    cr_expect(fx.load.from == START && fx.load.end == END);
    fixture_turn();
    cr_expect_not_null(fx.offered);
    bridge_load_ended(fx.b, 0, END);
    cr_expect_eq(fx.seek_offset, START);
    fixture_turn();
    cr_expect_null(fx.offered);
    cr_expect_eq(fixture_notice(NOTICE_LANE_RESTORED)->count, 1);
}

Test(restore, a_query_without_an_answer_is_repeated)
{
    cr_expect_eq(fx.queries, 1);
    fixture_pass(ENDS_LOST_MS - 1);
    fixture_turn();
    cr_expect_eq(fx.queries, 1);
    fixture_pass(1);
    fixture_turn();
    cr_expect_eq(fx.queries, 2);
}

/* Gives a record of this magic with a version that no program has yet. */
static void give_newer(const char *magic)
{
    uint8_t value[CANCEL_ENTRY_SIZE] = {0};
    memcpy(value, magic, 4);
    value[4] = 9;
    uint64_t seed = get_u64(value);
    put_u64(value + 8, XXH3_64bits_withSeed(value + 16, sizeof value - 16, seed));
    give(value, sizeof value, "key");
}

Test(restore, an_entry_of_a_newer_program_blocks_the_lane)
{
    begin_load(5);
    give_newer("DLBS");
    cr_expect_eq(lane->loading, LOADING_LOG, "a seal is ignored");
    give_newer("DLBC");
    cr_expect_eq(fixture_notices(NOTICE_CANCEL_NEWER), 1);
    bridge_load_ended(fx.b, 0, 5);
    fixture_pass(ENDS_LOST_MS);
    fixture_turn();
    cr_expect_eq(lane->loading, LOADING_BLOCKED);
}

/* A cancel that was left out would be forgotten. */
Test(restore, a_lane_without_memory_for_its_cancels_does_not_open)
{
    size_t room = CANCELS_LOAD(fx.b->cancels.table.slots_n);
    char key[16];
    begin_load(END);
    memory_lacks = true;
    for (size_t i = 0; i <= room; i++) {
        cr_assert_eq(lane->loading, LOADING_LOG);
        snprintf(key, sizeof key, "order-%zu", i);
        give_entry_of((int64_t)i, key);
    }
    cr_expect_eq(lane->loading, LOADING_BLOCKED);
    const struct notice *notice = fixture_notice(NOTICE_CANCELS_NO_MEMORY);
    cr_expect_eq(notice->count, (int64_t)room);
    bridge_load_ended(fx.b, 0, END);
    fixture_pass(ENDS_LOST_MS);
    fixture_turn();
    cr_expect_eq(lane->loading, LOADING_BLOCKED);
}

Test(restore, a_foreign_record_is_reported_and_ignored)
{
    begin_load(5);
    give("what is this doing here", 24, "key");
    cr_expect_eq(fixture_notices(NOTICE_CANCEL_NOT_OURS), 1);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
}

Test(restore, lanes_of_the_same_generation_load_nothing)
{
    open_lane();
    struct start starts[QUEUES] = {
        {.offset = START, .kept = true}, {.offset = START}, {.offset = START}};
    bridge_lane_lost(fx.b, 0);
    int queries = fx.queries;
    bridge_lane_assigned(fx.b, 0, starts, fx.b->now);
    cr_expect(fx.queries == queries && lane->loading == LOADING_NONE);
    bridge_lane_lost(fx.b, 0);
    starts[0].kept = false;
    bridge_lane_assigned(fx.b, 0, starts, fx.b->now);
    cr_expect_eq(lane->loading, LOADING_LOG_END);
    cr_expect_eq(lane->requests_next, END, "the rest is read");
    bridge_lane_lost(fx.b, 0);
    starts[0].kept = true;
    bridge_lane_assigned(fx.b, 0, starts, fx.b->now);
    cr_expect_eq(lane->loading, LOADING_LOG_END, "the restore before had not ended");
}

/* A cancel that was written in the wait for the paused targets. */
Test(restore, requests_are_read_again_after_a_wait_for_control)
{
    fx.config.control = true;
    start_again();
    answer();
    answer();
    cr_assert_eq(lane->loading, LOADING_REQUESTS);
    bridge_load_ended(fx.b, 0, END);
    fixture_turn();
    cr_assert_eq(lane->loading, LOADING_CONTROL);
    bridge_control_known(fx.b);
    fixture_turn();
    cr_assert_eq(lane->loading, LOADING_ENDS);
    ends[SLOT_SCHEDULE] = (struct log_ends){0, END + 3, END + 3};
    answer();
    cr_assert_eq(lane->loading, LOADING_REQUESTS);
    cr_expect_eq(fx.load.from, END);
    cr_expect_eq(fx.load.end, END + 3);
    bridge_load_ended(fx.b, 0, END + 3);
    cr_expect_eq(lane->loading, LOADING_NONE);
    cr_expect_eq(fixture_notices(NOTICE_LANE_RESTORED), 1);
}

/* The log is still shorter than its newest entry after a while. */
static void query_again(void)
{
    cr_assert_eq(lane->loading, LOADING_ENDS);
    cr_expect_eq(fixture_notices(NOTICE_LOG_CUT) + fixture_notices(NOTICE_LOG_REPLACED), 0);
    fixture_pass(ENDS_LOST_MS);
    fixture_turn();
    answer();
}

/* Lets the newest entry be of a request above the end of the schedule topic, in which no record is
   as old. */
static struct parcel *write_cut(void)
{
    begin_load(5);
    give_entry(END);
    bridge_load_ended(fx.b, 0, 5);
    answer();
    while (lane->loading == LOADING_SAME_LOG)
        bridge_load_ended(fx.b, 0, fx.load.end);
    query_again();
    while (lane->loading == LOADING_SAME_LOG)
        bridge_load_ended(fx.b, 0, fx.load.end);
    cr_assert_eq(lane->loading, LOADING_CUT);
    cr_expect_eq(fixture_notices(NOTICE_LOG_REPLACED), 1);
    fixture_turn();
    cr_assert_eq(fx.sent.kind, FORWARD_CANCEL);
    cr_expect_eq(fx.sent.offset, -1);
    return fx.sent.parcel;
}

Test(restore, a_cut_is_acknowledged_before_the_lane_opens)
{
    fixture_report(write_cut(), REPORT_TIMED_OUT);
    cr_expect_eq(lane->loading, LOADING_CUT);
    fixture_pass(RESEND_MS);
    fixture_turn();
    fixture_report(fx.sent.parcel, REPORT_OK);
    cr_expect_eq(lane->loading, LOADING_REQUESTS);
    cr_expect_not(lane->cut_in_doubt);
    bridge_load_ended(fx.b, 0, END);
    cr_expect(lane->loading == LOADING_NONE && eras_of(&lane->eras, END) == 1);
}

/* Gives records of the log until the lane knows where it was cut. Those from 160 on are newer than
   the newest entry. */
static void find_cut(void)
{
    while (lane->loading == LOADING_SAME_LOG) {
        give_witness(fx.load.from < 160 ? 0 : 1000);
        bridge_load_ended(fx.b, 0, fx.load.end);
    }
}

Test(restore, a_lane_continues_at_the_place_of_a_cut)
{
    struct window *w = &bridge_queue(fx.b, 0, SLOT_SCHEDULE)->window;
    window_done(w, 170);
    lane->requests_next = 180; /* of an earlier time as owner */
    begin_load(5);
    give_entry(150);
    give_entry(END);
    bridge_load_ended(fx.b, 0, 5);
    answer();
    find_cut();
    query_again();
    find_cut();
    cr_assert_eq(lane->loading, LOADING_MOVE);
    cr_expect_eq(fixture_notice(NOTICE_LOG_CUT)->offset, 160);
    cr_expect(w->base == START && !window_is_done(w, 170));
    fixture_turn();
    cr_expect_eq(lane->loading, LOADING_MOVE, "its place is not committed");
    fixture_pass(1000);
    fixture_turn();
    bridge_committed(fx.b, fx.seq, true);
    fixture_turn();
    cr_assert_eq(lane->loading, LOADING_CUT);
    fixture_turn();
    fixture_report(fx.sent.parcel, REPORT_OK);
    cr_expect(lane->loading == LOADING_REQUESTS && fx.load.from == 160);
    cr_expect(eras_of(&lane->eras, 159) == 0 && eras_of(&lane->eras, 160) == 1);
}

/* Otherwise its end is never reached. */
Test(restore, ends_are_queried_again_after_a_load_that_ends_early)
{
    begin_load(5);
    bridge_load_ended(fx.b, 0, 3);
    cr_assert_eq(lane->loading, LOADING_LOG_END);
    answer();
    bridge_load_ended(fx.b, 0, 5);
    answer();
    cr_assert_eq(lane->loading, LOADING_REQUESTS);
    bridge_load_ended(fx.b, 0, END - 1);
    cr_expect_eq(lane->loading, LOADING_ENDS);
}

Test(restore_exactly, a_cut_of_an_aborted_transaction_is_written_again)
{
    fixture_report(write_cut(), REPORT_OK);
    cr_assert_eq(lane->loading, LOADING_REQUESTS);
    cr_expect(lane->cut_in_doubt);
    bridge_load_ended(fx.b, 0, END);
    const struct start starts[QUEUES] = {
        {.offset = START, .kept = true}, {.offset = START}, {.offset = START}};
    bridge_lane_lost(fx.b, 0);
    bridge_lane_assigned(fx.b, 0, starts, fx.b->now);
    cr_expect_eq(lane->loading, LOADING_LOG_END);
    cr_expect_eq(lane->log_next, 0, "all entries are read again");
}

Test(restore, forgotten_parcels_of_a_cut_are_made_again)
{
    write_cut();
    int forwarded = fx.forwarded;
    restore_forgot_parcels(fx.b, 0);
    fixture_turn();
    cr_expect_eq(fx.forwarded, forwarded + 1);
}

Test(restore, a_recreated_topic_of_cancels_is_read_from_its_start)
{
    begin_load(5);
    give_entry(150);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    begin_load(2);
    cr_expect_eq(fx.load.from, 0);
}

/* Another owner may have written the record of a cut, which was trimmed meanwhile. */
Test(restore, a_lane_that_lacks_records_forgets_its_cancels)
{
    begin_load(5);
    give_entry(150);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    ends[QUEUES] = (struct log_ends){6, 8, 8};
    answer();
    cr_expect(lane->loading == LOADING_LOG && fx.load.from == 6);
    cr_expect(lane->same_log.n == 0 && !cancels_has(&fx.b->cancels.table, lane->id));
}

/* In steps, since a turn that comes too late forwards nothing. */
static void wait_for_seal(void)
{
    for (int i = 0; i < 6; i++) {
        fixture_pass(SEAL_EVERY_MS / 6);
        fixture_turn();
    }
}

static void put_cancel(int64_t offset)
{
    const struct cancel_print print = {.high = (uint64_t)offset << 40};
    cr_assert_eq(cancel_table_put(fx.b, 0, print, offset), CANCEL_ROOM);
}

Test(restore, a_lane_without_cancels_has_no_seals)
{
    open_lane();
    int queries = fx.queries;
    wait_for_seal();
    cr_expect_eq(fx.queries, queries);
    put_cancel(110);
    wait_for_seal();
    cr_expect_eq(fx.queries, queries + 1);
}

Test(restore, a_seal_waits_for_whole_partitions)
{
    open_lane();
    put_cancel(110);
    wait_for_seal();
    bridge_ends(fx.b, 0, ends, false);
    fixture_turn();
    cr_expect_eq(fx.forwarded, 0);
    wait_for_seal();
    answer();
    fixture_turn();
    cr_assert_eq(fx.forwarded, 1);
    cr_expect(lane->seal_out);
    fixture_report(fx.sent.parcel, REPORT_OK);
    cr_expect(!lane->seal_out && lane->seals.n == 1);
}

/* Lets the lane write a seal, and returns the time of the turn that queried its ends. */
static int64_t write_seal(void)
{
    wait_for_seal();
    int64_t at_wall_ms = fx.b->now.wall_ms;
    answer();
    fixture_turn();
    fixture_report(fx.sent.parcel, REPORT_OK);
    fixture_turn();
    return at_wall_ms;
}

/* The lane has read 5 records of the topic of cancels. Then there are 9. */
static void open_before_others_write(void)
{
    begin_load(5);
    give_entry(150);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
    ends[QUEUES] = (struct log_ends){0, 9, 9};
}

static void seal_behind_others(void)
{
    open_before_others_write();
    write_seal();
}

static void send_commit(void)
{
    int commits = fx.commits;
    progress_touch(fx.b, true);
    fixture_pass(1000);
    fixture_turn();
    cr_assert_eq(fx.commits, commits + 1);
}

/* Returns where a lane that is lost and comes back reads the topic of cancels. */
static int64_t read_again_from(void)
{
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    ends[QUEUES] = (struct log_ends){0, 10, 10};
    answer();
    cr_assert(lane->loading == LOADING_LOG && fx.load.log == LOAD_CANCELS);
    return fx.load.from;
}

/* Another owner may have written the entries before it. */
Test(restore, a_seal_proves_no_ownership)
{
    seal_behind_others();
    cr_expect_eq(read_again_from(), 5);
}

Test(restore, a_commit_before_the_seal_proves_no_ownership_at_the_seal)
{
    open_before_others_write();
    wait_for_seal();
    send_commit();
    answer();
    fixture_turn();
    fixture_report(fx.sent.parcel, REPORT_OK);
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(read_again_from(), 5);
}

Test(restore, records_before_a_seal_are_not_read_again_after_a_commit)
{
    seal_behind_others();
    send_commit();
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(read_again_from(), 9);
}

Test(restore, a_proof_of_ownership_ends_with_the_lane)
{
    seal_behind_others();
    bridge_lane_lost(fx.b, 0);
    fixture_gain(0);
    send_commit();
    bridge_committed(fx.b, fx.seq, true);
    cr_expect_eq(read_again_from(), 5);
}

/* Without offsets the coordinator of the group has no part in it. */
Test(restore_exactly, a_transaction_without_progress_proves_no_ownership)
{
    seal_behind_others();
    fixture_pass(1000);
    fixture_turn();
    fixture_turn(); /* the offsets are accepted */
    cr_assert(fx.finishes > 0 && fx.progress_n == 0);
    fixture_committed();
    cr_expect_eq(read_again_from(), 5);
}

static int64_t oldest_seal_ms(void)
{
    return (int64_t)counter_read(&fx.stats.oldest_seal_wall_ms);
}

Test(restore, the_oldest_seal_of_cancels_in_force_is_known)
{
    open_lane();
    put_cancel(110);
    fixture_turn();
    cr_expect_eq(oldest_seal_ms(), 0);
    int64_t first_wall_ms = write_seal();
    cr_expect_eq(oldest_seal_ms(), first_wall_ms);
    write_seal();
    cr_expect_eq(oldest_seal_ms(), first_wall_ms);
    cancels_kill(&fx.b->cancels.table, lane->id, 111);
    cancels_sweep(&fx.b->cancels.table);
    fixture_turn();
    cr_expect_eq(oldest_seal_ms(), 0, "it keeps no cancel");
}

Test(restore, the_time_of_a_seal_is_read_again)
{
    uint8_t value[CANCEL_SEAL_MAX];
    const struct cancel_seal seal = {.n = 1, .ends = {{SEAL_SCHEDULE, 100}}};
    begin_load(5);
    give_entry(150);
    const struct record record = {.offset = 4,
                                  .key = bytes_text("seal"),
                                  .timestamp_ms = BEGIN_WALL_MS - 77,
                                  .value = bytes_of(value, cancel_seal_encode(&seal, value))};
    bridge_loaded(fx.b, 0, &record);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
    fixture_turn();
    cr_expect_eq(oldest_seal_ms(), BEGIN_WALL_MS - 77);
}

Test(restore, a_lane_that_opens_is_timed)
{
    fixture_pass(1500);
    fixture_turn();
    cr_expect_eq(counter_read(&fx.stats.restore.sum_ms), 0);
    open_lane();
    cr_expect_eq(counter_read(&fx.stats.restore.sum_ms), 1500);
}

Test(restore, the_limit_is_that_of_the_owned_lanes)
{
    open_lane();
    put_cancel(110);
    fixture_turn();
    uint64_t share = counter_read(&fx.stats.cancel_entries_limit);
    cr_expect_eq(share, fx.b->cancels.share);
    cr_expect_eq(counter_read(&fx.stats.cancel_entries), 1);
    fixture_gain(1);
    fixture_turn();
    cr_expect_eq(counter_read(&fx.stats.cancel_entries_limit), 2 * share);
    bridge_lane_lost(fx.b, 0);
    bridge_lane_lost(fx.b, 1);
    bridge_lanes_settled(fx.b);
    fixture_turn();
    cr_expect_eq(counter_read(&fx.stats.cancel_entries_limit), 0);
    cr_expect_eq(counter_read(&fx.stats.cancel_entries), 0, "an entry of a closed lane is dead");
}

/* Gives the lane a cancel with this key. */
static void give_cancel(int64_t offset, const char *key)
{
    static const struct header OP = {.name = "dlb-op",
                                     .value = {.data = (const void *)"cancel", .len = 6}};
    struct record *record = fixture_raw(offset, 0);
    record->key = bytes_text(key);
    record->headers = &OP;
    record->headers_n = 1;
    fixture_offer(SLOT_SCHEDULE, record);
    fixture_turn();
}

Test(restore, cancels_in_another_lane_than_that_of_their_key_are_counted)
{
    const char *lanes[2] = {NULL, NULL};
    static const char *const KEYS[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < 8; i++)
        lanes[murmur2_partition(bytes_text(KEYS[i]), 2)] = KEYS[i];
    open_lane();
    give_cancel(START, lanes[0]);
    cr_expect_eq(counter_read(&fx.stats.cancels_misplaced), 0);
    give_cancel(START + 1, lanes[1]);
    cr_expect_eq(counter_read(&fx.stats.requests), 2);
    cr_expect_eq(counter_read(&fx.stats.cancels_misplaced), 1);
}

static bool a_notice_has(const char *phrase)
{
    for (int i = 0; i < fx.notices_n; i++)
        if (strstr(fx.reasons[i], phrase) != NULL)
            return true;
    return false;
}

Test(restore, refused_cancel_names_the_lack_of_room)
{
    const struct cancel_print far = {.high = 1};
    open_lane();
    fx.b->cancels.share = 1;
    give_cancel(START, "a");
    give_cancel(START + 1, "b");
    cr_expect(a_notice_has("may have 1 in force: raise cancel_memory"));
    fx.b->cancels.share = 100;
    lane->log_end = 1000000;
    give_cancel(START + 2, "c");
    cr_expect(a_notice_has("the topic of cancels has too many records"));
    lane->log_end = 0;
    cr_expect_eq(cancel_table_put(fx.b, 0, far, START + ((int64_t)1 << 50)), CANCEL_OUT_OF_REACH);
}

Test(restore, a_seal_that_failed_is_not_sent_again)
{
    open_lane();
    put_cancel(110);
    wait_for_seal();
    answer();
    fixture_turn();
    fixture_report(fx.sent.parcel, REPORT_TIMED_OUT);
    cr_expect(!lane->seal_out && lane->seals.n == 0);
    fixture_pass(RESEND_MS);
    fixture_turn();
    cr_expect_eq(fx.forwarded, 1);
}

Test(restore, a_trim_without_an_answer_is_repeated)
{
    open_lane();
    lane->trim_below = 50;
    wait_for_seal();
    cr_expect(fx.cancels_trims == 1 && fx.cancels_trim_below == 50);
    wait_for_seal();
    cr_expect_eq(fx.cancels_trims, 2);
    bridge_cancels_trimmed(fx.b, 0, 50);
    wait_for_seal();
    cr_expect_eq(fx.cancels_trims, 2);
}

Test(restore, the_worker_sees_the_position_of_a_load)
{
    int64_t at, end;
    begin_load(5);
    give_entry(150);
    cr_expect(bridge_lane_is_loading(fx.b, 0, &at, &end));
    cr_expect(at == 4 && end == 5);
    bridge_load_ended(fx.b, 0, 5);
    open_lane();
    cr_expect_not(bridge_lane_is_loading(fx.b, 0, &at, &end));
}

Test(restore, event_of_a_cancel_by_id_has_its_record_key)
{
    const struct header headers[] = {{"dlb-op", bytes_text("cancel")}, {"dlb-id", bytes_text("a")}};
    fx.b->config.event_source = "group";
    open_lane();
    struct record *cancel = fixture_raw(START, 0);
    cancel->headers = headers;
    cancel->headers_n = 2;
    fixture_offer(SLOT_SCHEDULE, cancel);
    fixture_turn();
    cr_assert_eq(fx.sent.kind, FORWARD_CANCEL);
    struct record *event = event_record(fx.b, fx.sent.parcel, EVENT_CANCEL_ACCEPTED, -1);
    cr_assert_not_null(event);
    cr_expect(memmem(event->value.data, event->value.len, "\"id\":\"a\",\"key\":\"key\"", 20) !=
                  NULL,
              "%.*s", (int)event->value.len, (const char *)event->value.data);
    fx.b->port.release(NULL, event);
}
