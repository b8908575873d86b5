/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of progress: where a queue starts, which records its log lacks, and how it continues. */
#include "tests/sim/story.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void no_commit_means_start_of_the_log(struct world *w)
{
    story_begin(w);
    w->knobs.no_places = true;
    story_open(w);
    struct log *level = story_level(w, 1, 0);
    level->start = level->end = 7; /* the log held other records long ago */
    w->knobs.hold_commits = true;
    struct request *r = story_ask(w, TARGET_A, 8000);
    story_until(w, level->n == 1);
    story_crash(w);
    w->knobs.hold_commits = false;
    expect(w, story_committed(w, 1, 0) == NULL);
    story_restart(w);
    story_finish(w);
    expect(w, r->delivered >= 1 && COUNT(w, lost_positions) == 0 && COUNT(w, missing_offsets) == 0);
}

/* The record may stay in flight for as long as a revocation takes, and then its process may die. */
void progress_is_committed_while_a_revocation_waits(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct process *p = &w->processes[0];
    story_ask(w, TARGET_A, 0);
    story_until(w, committed_covers(story_committed(w, -1, 0), 0));
    struct request *landed = story_ask(w, TARGET_A, 0);
    story_until(w, landed->delivered == 1 && bridge_in_flight(p->bridge) == 0);
    story_hold_landings(w);
    struct request *flies = story_ask(w, TARGET_A, 0);
    story_until(w, bridge_in_flight(p->bridge) == 1);
    expect(w, !committed_covers(story_committed(w, -1, 0), 1));
    group_regroup(w);
    story_until(w, p->member == MEMBER_REVOKING);
    int64_t began_ms = w->now_ms;
    p->deadline_ms = began_ms + 2000;
    story_until(w, committed_covers(story_committed(w, -1, 0), 1));
    expect(w, w->now_ms < began_ms + 500 && flies->delivered == 0);
    story_let_land(w);
    story_finish(w);
}

/* Its delay counts from the reading, which an absent leader puts off. */
void a_request_without_a_timestamp_waits_from_its_reading(struct world *w)
{
    enum { AWAY_FOR_MS = 300000, DELAY_MS = 290000 };
    struct ask ask = {.target = TARGET_A, .delay_ms = DELAY_MS, .no_timestamp = true};
    story_begin(w);
    story_open(w);
    world_take_leader(w, TOPIC_SCHEDULE * LANES_MAX, w->now_ms + AWAY_FOR_MS);
    struct request *r = workload_send(w, &ask);
    story_pass(w, AWAY_FOR_MS);
    story_finish(w);
    expect(w, r->delivered == 1 && r->finished_ms > AWAY_FOR_MS + DELAY_MS);
}

void position_below_the_log_start_moves_up_and_counts(struct world *w)
{
    struct request *asked[4];
    story_begin(w);
    story_open(w);
    story_ask(w, TARGET_A, 6000);
    story_pass(w, 8000);
    for (int i = 0; i < 4; i++)
        asked[i] = story_ask(w, TARGET_A, 6000);
    story_pass(w, 500);
    expect(w, story_committed(w, 1, 0)->base == 1 && story_level(w, 1, 0)->end == 5);
    story_crash(w);
    oracle_truncate(w, w->processes[0].topic_of_slot[2], 0, 3);
    story_restart(w);
    story_until(w, COUNT(w, lost_positions) == 1);
    story_until(w, asked[3]->delivered == 1);
    expect(w, asked[0]->delivered == 0 && asked[1]->delivered == 0 && asked[2]->delivered == 1);
    story_finish(w);
    expect(w, COUNT(w, lost_positions) == 1);
}

/* Offset 1 is being processed, and 2 to 5 are done, when the log is cut below 4. */
void log_start_inside_a_run_of_done_offsets(struct world *w)
{
    story_begin(w);
    story_open(w);
    story_ask(w, TARGET_B, 0);
    struct request *lost = story_ask(w, TARGET_A, 900);
    for (int i = 0; i < 4; i++)
        story_ask(w, TARGET_B, 0);
    story_until(w, committed_covers(story_committed(w, -1, 0), 5));
    expect(w, story_committed(w, -1, 0)->base == 1);
    story_crash(w);
    uint64_t forwards = w->forwards;
    w->knobs.fetch_n = 1;
    story_hold_landings(w);
    process_start(w, 0);
    struct inbox *in = story_inbox(&w->processes[0], 0, SLOT_SCHEDULE);
    story_until(w, in->fetched == 2);
    w->knobs.hold_fetches = true;
    story_until(w, w->forwards == forwards + 1);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, 4);
    w->knobs.hold_fetches = false;
    story_until(w, COUNT(w, lost_positions) == 1);
    struct request *next = story_ask(w, TARGET_A, 0);
    story_let_land(w);
    story_until(w, next->delivered == 1);
    story_finish(w);
    expect(w, lost->delivered == 1 && w->forwards == forwards + 2);
}

/* Offset 0 is being processed, and a far higher one is done, when the log is cut between them. */
void a_log_start_far_above_base_forgets_nothing(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *log = &w->broker.logs[TOPIC_SCHEDULE][0];
    story_ask(w, TARGET_A, 900);
    log->end += WINDOW_SPAN - 100;
    struct request *done = story_ask(w, TARGET_B, 0);
    story_until(w, committed_covers(story_committed(w, -1, 0), done->offset));
    expect(w, story_committed(w, -1, 0)->base == 0);
    story_crash(w);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, done->offset - 100);
    uint64_t forwards = w->forwards;
    story_restart(w);
    story_until(w, COUNT(w, lost_positions) == 1);
    story_finish(w);
    expect(w, done->delivered == 1 && w->forwards == forwards);
}

/* A mirror translated the offsets, but not the metadata. */
void foreign_metadata_is_ignored(struct world *w)
{
    story_begin(w);
    story_open(w);
    story_ask(w, TARGET_A, 900);
    for (int i = 0; i < 3; i++)
        story_ask(w, TARGET_B, 0);
    story_until(w, committed_covers(story_committed(w, -1, 0), 3));
    expect(w, story_committed(w, -1, 0)->base == 0);
    story_crash(w);
    oracle_truncate(w, TOPIC_SCHEDULE, 0, 1);
    struct committed *mirrored = arena_take(&w->arena, sizeof *mirrored);
    *mirrored =
        (struct committed){.base = 2, .text = story_committed(w, -1, 0)->text, .life = NO_LIFE};
    w->broker.committed[TOPIC_SCHEDULE][0] = mirrored;
    w->metadata_is_foreign = true;
    struct request *fourth = story_ask(w, TARGET_A, 0), *fifth = story_ask(w, TARGET_A, 0);
    story_restart(w);
    story_pass(w, 500);
    expect(w, w->texts_ignored == 1 && fourth->delivered == 1 && fifth->delivered == 1);
    story_finish(w);
}

void trim_never_beyond_commit(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = story_level(w, 0, 0);
    story_ask(w, TARGET_A, 2000);
    story_pass(w, 50000);
    w->knobs.hold_commits = true;
    struct request *r = story_ask(w, TARGET_A, 2000);
    story_pass(w, 12000); /* past the minute: the oracle checks each trim */
    expect(w, r->delivered == 1 && level->end == 2 && level->start == 1);
    w->knobs.hold_commits = false;
    story_pass(w, 60000);
    expect(w, level->start == 2);
    story_finish(w);
}

/* A broker accepts metadata of 64 bytes, which holds 192 offsets. The bridge processes no more at a
   time, so that all done offsets are known after a crash. */
void a_short_text_bounds_the_records_in_work(struct world *w)
{
    story_begin(w);
    w->setup.commit_text_max = 64;
    story_open(w);
    story_ask(w, TARGET_A, 900); /* the base stays here */
    for (int i = 0; i < 300; i++)
        story_ask(w, TARGET_A, 0);
    story_pass(w, 600);
    expect(w, COUNT(w, deliveries) == 191 && COUNT(w, window_full) > 0);
    expect(w, story_committed(w, -1, 0)->base == 0);
    story_crash(w);
    story_restart(w);
    story_finish(w);
    expect(w, COUNT(w, deliveries) == 301 && w->repeats == 0);
}

/* The broker deletes the offset of an idle level after three times this span. */
void idle_progress_is_committed_again(struct world *w)
{
    story_begin(w);
    w->setup.commit_again_ms = 20000;
    story_open(w);
    story_ask(w, TARGET_A, 2000);
    story_pass(w, 5000);
    const struct committed *before = story_committed(w, 0, 0);
    expect(w, before->base == 1);
    story_pass(w, 20500);
    expect(w, story_committed(w, 0, 0) != before && story_committed(w, 0, 0)->base == 1);
    story_finish(w);
}

void a_trim_that_failed_is_requested_again(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct log *level = story_level(w, 0, 0);
    w->knobs.trims_fail = true;
    story_ask(w, TARGET_A, 2000);
    story_pass(w, 70000);
    expect(w, level->start == 0 && story_committed(w, 0, 0)->base == 1);
    w->knobs.trims_fail = false;
    story_pass(w, 61000);
    expect(w, level->start == 1);
    story_finish(w);
}

/* Stores offsets 1 to 6 of the shortest level, and lets the next two fetches jump over some. */
static void fetches_that_jump(struct world *w, int64_t first_to, int64_t second_to)
{
    story_begin(w);
    story_open(w);
    w->knobs.fetch_n = 100;
    story_ask(w, TARGET_A, 2000);
    story_pass(w, 3000);
    story_hold_landings(w);
    for (int i = 0; i < 6; i++)
        story_ask(w, TARGET_A, 2000);
    story_pass(w, 50);
    w->knobs.hold_fetches = true;
    story_let_land(w);
    story_pass(w, 50);
    expect(w, story_level(w, 0, 0)->end == 7 && story_committed(w, 0, 0)->base == 1);
    w->skip_to[0] = first_to;
    w->skip_to[1] = second_to;
    w->skip_n = 2;
    w->knobs.hold_fetches = false;
}

/* The third fetch is correct. The oracle checks the offsets that are committed as done. */
static void nothing_is_lost_after_jumps_to(struct world *w, int64_t first, int64_t second)
{
    fetches_that_jump(w, first, second);
    story_finish(w);
    expect(w, w->skip_at == 2 && COUNT(w, missing_offsets) == 0 && COUNT(w, deliveries) == 7);
}

void a_gap_is_read_again_if_the_second_reading_is_larger(struct world *w)
{
    nothing_is_lost_after_jumps_to(w, 3, 5);
}

void a_gap_is_read_again_if_the_second_reading_is_smaller(struct world *w)
{
    nothing_is_lost_after_jumps_to(w, 5, 3);
}

void a_gap_is_read_again_after_two_equal_readings(struct world *w)
{
    nothing_is_lost_after_jumps_to(w, 3, 3);
}

void a_gap_seen_once_is_forgotten_at_a_rewind(struct world *w)
{
    fetches_that_jump(w, 3, 3);
    struct process *p = &w->processes[0];
    story_until(w,
                w->skip_at == 1 && story_inbox(p, 0, 1)->at == 1); /* offset 1 is read once more */
    w->knobs.hold_fetches = true;
    process_step_clock(p, -2000);
    story_pass(w, 200);
    expect(w, w->notices[NOTICE_CLOCK_BACK] == 1 && w->skip_at == 1);
    w->knobs.hold_fetches = false;
    story_finish(w);
    expect(w, w->skip_at == 2 && COUNT(w, missing_offsets) == 0 && COUNT(w, deliveries) == 7);
}

/* Appends an undamaged envelope of an unknown version. */
static void append_newer(struct world *w, int topic)
{
    uint8_t envelope[80] = {'D', 'L', 'B', 'E', 200};
    uint64_t seed, checksum;
    memcpy(&seed, envelope, sizeof seed);
    checksum = XXH3_64bits_withSeed(envelope + 16, sizeof envelope - 16, seed);
    memcpy(envelope + 8, &checksum, sizeof checksum);
    struct entry entry = {.timestamp_ms = EPOCH_MS + w->now_ms,
                          .value = bytes_of(envelope, sizeof envelope),
                          .foreign = true};
    log_append(&w->broker, &w->broker.logs[topic][0], &entry);
    w->broker.undone_n++;
    inbox_appended(w, topic, 0);
}

void newer_envelope_blocks_its_queue_and_damaged_one_is_dead_lettered(struct world *w)
{
    story_begin(w);
    story_open(w);
    int topic = w->processes[0].topic_of_slot[2];
    w->newer_ok = true;
    struct entry *damaged = workload_foreign(w, w->processes[0].topic_of_slot[1], 0, true);
    append_newer(w, topic);
    story_until(w, w->notices[NOTICE_NEWER_ENVELOPE] == 1);
    struct request *behind = story_ask(w, TARGET_A, 6000);
    struct request *beside = story_ask(w, TARGET_A, 2000);
    story_pass(w, 10000);
    expect(w, beside->delivered == 1 && behind->delivered == 0);
    expect(w, damaged->verdicts == 1 && COUNT(w, dead[CODE_NOT_OURS]) == 1);
    expect(w, w->notices[NOTICE_NEWER_ENVELOPE] == 1 &&
                  story_level(w, 1, 0)->entries[0]->done == false);
    story_crash(w);
    oracle_truncate(w, topic, 0, 1); /* an operator deletes the record */
    story_restart(w);
    story_until(w, behind->delivered == 1);
    story_finish(w);
}

/* A resumed partition waits for a fetch that never ends. */
void watchdog_wakes_a_silent_queue(struct world *w)
{
    story_begin(w);
    story_open(w);
    struct inbox *in = story_inbox(&w->processes[0], 0, 3);
    struct request *r = story_ask(w, TARGET_A, 31000);
    story_until(w, in->paused);
    story_until(w, !in->paused);
    expect(w, in->fetching);
    in->version++; /* its answer will be dropped */
    story_until(w, r->delivered == 1);
    expect(w, COUNT(w, stall_recoveries) == 1 && w->notices[NOTICE_STALL_RECOVERY] == 1);
    expect(w, w->now_ms < 40000);
    story_finish(w);
}
