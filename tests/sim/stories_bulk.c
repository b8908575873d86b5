/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of lanes that each have much at hand. */
#include "tests/sim/story_cancel.h"

enum { LANES = 3, EACH = 30, BACKLOG = 2000, VALUE_BYTES = 300, BULK = 2000, GOOD_MS = 2000 };

static void ask_lane_often(struct world *w, int lane, enum code fault, int n)
{
    struct ask ask = {.lane = lane,
                      .target = TARGET_A,
                      .delay_ms = 200,
                      .has_value = true,
                      .value_len = VALUE_BYTES,
                      .fault = fault};
    for (int i = 0; i < n; i++)
        workload_send(w, &ask);
}

static void ask_lane(struct world *w, int lane, enum code fault)
{
    ask_lane_often(w, lane, fault, EACH);
}

static void open_lanes(struct world *w)
{
    story_begin(w);
    w->setup.lanes = LANES;
    w->setup.bulk_bytes = BULK;
    story_open(w);
    w->knobs.fetch_n = EACH;
}

/* With each record taken, the port checks that no second lane with much at hand is read. */
void bulky_lanes_are_read_one_at_a_time(struct world *w)
{
    open_lanes(w);
    for (int lane = 0; lane < LANES; lane++)
        ask_lane(w, lane, CODE_OK);
    story_until(w, COUNT(w, paused) == LANES - 1);
    story_until(w, COUNT(w, requests) == LANES * EACH);
    expect(w, w->now_ms < GOOD_MS && COUNT(w, paused) == 0);
    story_finish(w);
}

/* Kafka refused the first commit of the group. So lane 0 has no position until its first record. */
void a_bulky_lane_without_a_position_is_read_alone(struct world *w)
{
    story_begin(w);
    w->setup.lanes = LANES;
    w->setup.bulk_bytes = BULK;
    w->knobs.no_places = true;
    story_open(w);
    w->knobs.fetch_n = EACH;
    ask_lane_often(w, 1, CODE_OK, 1);
    story_until(w, COUNT(w, requests) == 1);
    w->knobs.hold_turns = true;
    ask_lane(w, 0, CODE_OK);
    ask_lane(w, 1, CODE_OK);
    story_pass(w, 50);
    w->knobs.hold_turns = false;
    process_turn_by(story_owner(w, 0), w->now_ms);
    story_until(w, COUNT(w, requests) == 1 + 2 * EACH);
    story_finish(w);
}

/* While the dead-letter topic is unavailable, the records at hand of one lane find no room. */
void a_bulky_lane_without_room_does_not_stop_another(struct world *w)
{
    story_begin(w);
    w->setup.memory_bytes = 32 << 10;
    w->setup.lanes = LANES;
    w->setup.bulk_bytes = BULK;
    story_open(w);
    w->knobs.fetch_n = EACH;
    story_hold_landings(w);
    ask_lane(w, 0, CODE_NO_TIME);
    story_pass(w, 100);
    uint64_t refused = COUNT(w, refused);
    expect(w, refused > 0 && refused < EACH);
    ask_lane(w, 1, CODE_OK);
    story_pass(w, GOOD_MS);
    expect(w, COUNT(w, requests) > refused + 1);
    story_let_land(w);
    story_until(w, COUNT(w, requests) == 2 * EACH);
    story_finish(w);
}

/* Deliveries take time and room, so the backlog lasts and moves all the time. */
void a_bulky_backlog_does_not_starve_another_lane(struct world *w)
{
    story_begin(w);
    w->setup.memory_bytes = 32 << 10;
    w->setup.lanes = LANES;
    w->setup.bulk_bytes = BULK;
    story_open(w);
    w->knobs.land_ms = GOOD_MS;
    ask_lane_often(w, 0, CODE_OK, BACKLOG);
    story_pass(w, 100);
    ask_lane(w, 1, CODE_OK);
    story_pass(w, 2 * GOOD_MS);
    expect(w, story_inbox(story_owner(w, 1), 1, SLOT_SCHEDULE)->next > EACH / 2);
    expect(w, COUNT(w, requests) < BACKLOG);
    w->knobs.land_ms = 0;
    story_until(w, COUNT(w, requests) == BACKLOG + EACH);
    story_finish(w);
}

/* Lane 0 has a long backlog when the process starts, and lane 1 a short one. Both are bulky. */
static void restart_with_backlogs(struct world *w)
{
    story_begin_cancels(w);
    w->setup.lanes = 2;
    w->setup.bulk_bytes = BULK;
    story_open(w);
    story_pass(w, 500);
    story_crash(w);
    ask_lane_often(w, 0, CODE_OK, BACKLOG);
    ask_lane(w, 1, CODE_OK);
    process_start(w, 0);
    story_until(w, story_owner(w, 1) != NULL && COUNT(w, lanes_restoring) == 1);
}

static bool is_read(struct world *w, int lane)
{
    return !story_inbox(story_owner(w, lane), lane, SLOT_SCHEDULE)->paused;
}

/* Lane 1 has opened, and is not read next to the load of lane 0. */
void bulky_backlogs_are_searched_for_cancels_before_any_is_read(struct world *w)
{
    restart_with_backlogs(w);
    story_pass(w, 20);
    expect(w, COUNT(w, lanes_restoring) == 1 && !is_read(w, 0) && !is_read(w, 1));
    story_until(w, COUNT(w, lanes_restoring) == 0);
    story_until(w, COUNT(w, requests) == BACKLOG + EACH);
    expect(w, is_read(w, 0) && is_read(w, 1));
    story_finish(w);
}

void a_bulky_load_without_a_leader_does_not_stop_other_lanes(struct world *w)
{
    restart_with_backlogs(w);
    world_take_leader(w, TOPIC_SCHEDULE * LANES_MAX, w->now_ms + 2 * GOOD_MS);
    story_pass(w, GOOD_MS);
    expect(w, COUNT(w, lanes_restoring) == 1 && is_read(w, 1) && COUNT(w, requests) == EACH);
    story_until(w, COUNT(w, requests) == BACKLOG + EACH);
    story_finish(w);
}
