/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of lanes that each have much at hand. */
#include "tests/sim/story.h"

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
    expect(w, story_inbox(story_owner(w, 1), 1, SLOT_SCHEDULE)->next == EACH);
    expect(w, COUNT(w, requests) < BACKLOG);
    w->knobs.land_ms = 0;
    story_until(w, COUNT(w, requests) == BACKLOG + EACH);
    story_finish(w);
}
