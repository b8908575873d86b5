/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios: interleavings that random seeds would rarely produce, each as a small story. The name
   of a story is the rule that it proves. */
#ifndef DELAYBRIDGE_TESTS_SIM_SCENARIOS_H
#define DELAYBRIDGE_TESTS_SIM_SCENARIOS_H

#include "tests/sim/world.h"

#define SCENARIO_TABLE(X)                                                     \
    /* stories_owner.c: ownership of lanes */                                 \
    X(a_proof_that_failed_is_requested_again)                                 \
    X(a_stall_that_ends_in_another_call_is_noticed_by_the_turn)               \
    X(zombie_delivers_nothing_until_its_ownership_is_proved)                  \
    X(handover_repeats_nothing_after_clean_stop)                              \
    X(late_success_of_an_earlier_life_marks_done)                             \
    X(late_success_is_known_to_a_queue_without_progress)                      \
    X(late_failure_of_an_earlier_life_only_frees)                             \
    X(record_in_flight_is_not_sent_twice)                                     \
    X(a_head_that_waits_for_room_may_prove_done)                              \
    X(late_success_beyond_the_window_is_forgotten)                            \
    X(levels_read_first_written_later)                                        \
    /* stories_progress.c: where reading starts and continues */              \
    X(no_commit_means_start_of_the_log)                                       \
    X(progress_is_committed_while_a_revocation_waits)                         \
    X(a_request_without_a_timestamp_waits_from_its_reading)                   \
    X(position_below_the_log_start_moves_up_and_counts)                       \
    X(log_start_inside_a_run_of_done_offsets)                                 \
    X(a_log_start_far_above_base_forgets_nothing)                             \
    X(foreign_metadata_is_ignored)                                            \
    X(trim_never_beyond_commit)                                               \
    X(a_trim_that_failed_is_requested_again)                                  \
    X(a_short_text_bounds_the_records_in_work)                                \
    X(idle_progress_is_committed_again)                                       \
    X(a_gap_is_read_again_if_the_second_reading_is_larger)                    \
    X(a_gap_is_read_again_if_the_second_reading_is_smaller)                   \
    X(a_gap_is_read_again_after_two_equal_readings)                           \
    X(a_gap_seen_once_is_forgotten_at_a_rewind)                               \
    X(newer_envelope_blocks_its_queue_and_damaged_one_is_dead_lettered)       \
    X(watchdog_wakes_a_silent_queue)                                          \
    /* stories_recreated.c: topics that are deleted and recreated */          \
    X(position_beyond_the_log_end_blocks_its_queue_alone)                     \
    X(blocked_queue_does_not_delay_the_proof_of_ownership)                    \
    X(blocked_queue_is_not_trimmed)                                           \
    X(committed_offset_that_went_back_belongs_to_another_log)                 \
    X(another_record_at_a_paused_head_blocks_the_queue)                       \
    X(another_record_at_a_paused_head_blocks_the_queue_exactly_once)          \
    X(no_record_at_a_paused_head_blocks_the_queue)                            \
    X(a_log_end_at_a_paused_head_blocks_the_queue)                            \
    X(a_hop_stored_before_the_position_blocks_the_queue)                      \
    X(a_missing_topic_blocks_its_level_alone)                                 \
    X(a_missing_topic_blocks_its_level_alone_exactly_once)                    \
    X(record_of_a_level_that_is_deleted_is_committed)                         \
    X(record_in_flight_from_before_another_owner_belongs_to_another_log)      \
    X(report_from_before_another_owner_marks_nothing_in_another_log)          \
    /* stories_delivery.c: sizes, targets, clocks, memory */                  \
    X(dead_letters_keep_the_order_of_their_requests)                          \
    X(dead_letters_keep_the_order_of_their_requests_exactly_once)             \
    X(too_large_for_level_and_dead_letter_goes_without_value)                 \
    X(dead_letter_with_too_large_a_key_goes_bare)                             \
    X(dead_letter_with_too_large_a_key_goes_bare_exactly_once)                \
    X(too_large_batch_is_tried_alone)                                         \
    X(record_above_the_request_limit_is_never_sent)                           \
    X(record_above_the_request_limit_is_never_sent_exactly_once)              \
    X(dead_letter_in_flight_without_its_value_is_not_sent_again)              \
    X(waiting_record_above_a_lowered_limit_is_dead_lettered)                  \
    X(waiting_record_above_a_lowered_limit_is_dead_lettered_exactly_once)     \
    X(failing_target_does_not_block_the_lane)                                 \
    X(target_without_a_lookup_answer_does_not_block_others)                   \
    X(a_target_is_looked_up_before_its_record_is_due)                         \
    X(a_target_that_is_created_in_time_costs_no_attempt)                      \
    X(early_lookup_of_a_missing_target_fails_no_record)                       \
    X(silent_target_does_not_block_the_lane)                                  \
    X(kafka_away_uses_up_no_attempts)                                         \
    X(an_outage_closes_no_target_in_any_order_of_answers)                     \
    X(clock_step_back_rereads)                                                \
    X(records_of_a_slow_clock_are_late_not_lost)                              \
    X(a_delivery_is_stamped_after_its_request)                                \
    X(a_delivery_is_stamped_after_its_request_exactly_once)                   \
    X(a_record_that_expires_during_a_turn_is_not_delivered)                   \
    X(a_clock_step_back_during_a_turn_stamps_nothing_early)                   \
    X(budget_of_one_record_still_progresses)                                  \
    X(memory_of_the_client_counts_against_the_budget)                         \
    X(headers_count_against_the_budget)                                       \
    X(dead_letters_take_a_share_of_the_budget)                                \
    /* stories_bulk.c: lanes with much data at hand */                        \
    X(bulky_lanes_are_read_one_at_a_time)                                     \
    X(a_bulky_lane_without_a_position_is_read_alone)                          \
    X(a_bulky_lane_without_room_does_not_stop_another)                        \
    X(a_bulky_backlog_does_not_starve_another_lane)                           \
    X(bulky_backlogs_are_searched_for_cancels_before_any_is_read)             \
    X(a_bulky_load_without_a_leader_does_not_stop_other_lanes)                \
    /* stories_unreadable.c: batches that the client cannot read */           \
    X(unreadable_batch_is_dead_lettered_and_passed)                           \
    X(unreadable_batch_is_dead_lettered_and_passed_exactly_once)              \
    X(unreadable_batch_is_not_passed_before_its_dead_letter)                  \
    X(unreadable_batch_blocks_its_partition_until_it_is_skipped)              \
    X(unreadable_batch_blocks_its_partition_until_it_is_skipped_exactly_once) \
    X(unreadable_batch_and_a_clock_step_lose_no_record_before_it)             \
    X(unreadable_batch_that_becomes_readable_is_read)                         \
    X(unreadable_batch_is_passed_once_though_its_lane_comes_back)             \
    /* stories_survey.c: figures for operators */                             \
    X(the_survey_counts_waiting_records_and_names_the_first)                  \
    X(the_survey_names_when_a_queue_was_blocked)                              \
    X(the_survey_names_the_overdue_record_in_work)                            \
    X(delay_by_a_target_is_counted_separately)                                \
    X(a_record_that_waits_for_its_target_is_redelivering)                     \
    /* stories_older.c: programs of two versions in one group */              \
    X(an_older_process_is_blocked_by_version_2_alone)                         \
    X(an_older_process_is_blocked_by_version_2_alone_exactly_once)            \
    X(record_of_version_1_survives_an_upgrade_and_a_rollback)                 \
    X(record_of_version_1_survives_an_upgrade_and_a_rollback_exactly_once)    \
    /* stories_transaction.c: exactly-once, and its failures */               \
    X(an_abort_reads_again_from_the_committed_offsets)                        \
    X(a_commit_that_arrived_without_an_answer_doubles_nothing)                \
    X(a_commit_that_was_lost_loses_nothing)                                   \
    X(a_commit_that_arrives_after_the_fence_does_nothing)                     \
    X(another_transaction_begins_before_the_broken_one_is_fenced)             \
    X(transaction_of_a_fenced_zombie_blocks_nothing)                          \
    X(commit_of_a_dead_process_is_awaited)                                    \
    X(lost_lanes_abort_the_transaction)                                       \
    X(settling_commits_the_open_transaction)                                  \
    X(nothing_is_delivered_after_a_stall_until_ownership_is_proved)           \
    X(hops_wait_and_have_separate_transactions)                               \
    X(a_transaction_that_waits_for_its_first_record_is_not_refused)           \
    X(hops_that_became_due_while_they_waited_are_delivered_together)          \
    X(hops_that_the_port_refuses_cause_no_busy_loop)                          \
    X(markers_on_levels_are_not_gaps)                                         \
    X(a_gap_after_a_seek_is_read_once_more)                                   \
    X(a_gap_after_a_seek_is_read_once_more_among_markers)                     \
    /* stories_slow.c: exactly-once, and how slow targets are found */        \
    X(slow_target_delays_others_for_two_transactions_at_most)                 \
    X(target_that_is_fast_again_is_slow_no_more)                              \
    X(target_is_not_slow_without_a_fast_one)                                  \
    X(short_stall_of_a_target_makes_it_not_slow)                              \
    /* stories_blame.c: exactly-once, and the cause of a failure */           \
    X(too_large_breaks_one_transaction_and_is_tried_alone)                    \
    X(target_that_stalls_a_transaction_is_deferred_within_seconds)            \
    X(throttled_target_is_not_silent)                                         \
    X(short_outage_within_a_transaction_closes_no_target)                     \
    X(long_outage_within_a_transaction_closes_no_target)                      \
    X(throttling_for_seconds_uses_up_no_attempt)                              \
    X(notes_of_many_records_survive_the_next_abort)                           \
    X(more_records_that_fit_no_level_than_notes)                              \
    X(suspect_that_was_too_large_in_a_batch_is_not_dead_lettered)             \
    X(keyed_record_that_is_refused_among_keyless_ones_is_tried_alone)         \
    X(refusing_target_makes_suspects_and_others_continue)                     \
    X(record_that_failed_alone_uses_up_one_attempt)                           \
    X(silent_target_breaks_one_transaction_and_is_deferred)                   \
    X(slow_target_stalls_other_targets_ever_more_rarely)                      \
    X(target_that_blocks_one_producer_is_not_tried_on_the_last)               \
    X(record_refused_without_a_key_is_not_tried_in_a_batch_again)             \
    X(a_level_without_a_leader_blocks_its_lane_alone)                         \
    X(silent_level_is_reported_and_blocks_its_lane_alone)                     \
    X(level_that_refuses_takes_a_share_of_the_budget)                         \
    X(topic_of_events_that_refuses_takes_a_share_of_the_budget)               \
    X(silent_level_takes_a_share_of_the_budget)                               \
    X(a_level_behind_a_series_of_throttles_is_not_closed)                     \
    X(a_level_that_loses_its_leader_breaks_one_transaction)                   \
    X(doubted_leaders_are_looked_up_before_the_next_record)                   \
    X(lone_record_to_a_target_without_a_leader_blocks_one_producer)           \
    X(a_target_with_a_partition_without_a_leader_stays_doubted)               \
    X(target_that_is_whole_again_is_tried_on_the_last_producer)               \
    X(clock_step_back_aborts_the_transaction)                                 \
    X(clock_step_back_after_a_lone_failure_rereads)                           \
    /* stories_cancel.c: cancels and replaces */                              \
    X(a_cancel_voids_older_requests_of_its_name_alone)                        \
    X(a_cancel_by_id_needs_the_key_of_its_lane)                               \
    X(one_cancel_voids_all_older_requests_of_its_name)                        \
    X(one_cancel_voids_all_older_requests_of_its_name_exactly_once)           \
    X(a_replace_voids_older_requests_and_not_itself)                          \
    X(a_replace_voids_older_requests_and_not_itself_exactly_once)             \
    X(a_replace_of_wrong_form_voids_nothing)                                  \
    X(a_replace_that_was_sent_without_its_entry_is_not_done)                  \
    X(a_record_that_was_ready_before_its_cancel_is_void)                      \
    X(cancels_beyond_the_share_of_a_lane_are_refused)                         \
    X(a_topic_of_cancels_that_is_not_trimmed_refuses_cancels)                 \
    X(an_aborted_transaction_keeps_cancels_in_force)                          \
    X(cancels_without_a_leader_stop_their_lane_alone)                         \
    X(a_redriven_dead_letter_has_a_new_origin)                                \
    X(a_rollback_delivers_what_cancels_void)                                  \
    /* stories_replace.c: the two transactions of a replace */                \
    X(a_kill_between_entry_and_request_loses_no_replace)                      \
    X(a_kill_between_entry_and_dead_letter_loses_no_replace)                  \
    X(a_handover_between_entry_and_request_doubles_no_replace)                \
    X(an_aborted_request_of_a_replace_is_sent_once)                           \
    X(an_entry_of_unknown_outcome_doubles_no_replace)                         \
    X(progress_does_not_foresee_the_entry_of_a_replace)                       \
    /* stories_events.c: events of requests */                                \
    X(events_without_a_leader_stop_their_lane_alone_exactly_once)             \
    X(a_record_is_done_when_its_event_is_stored)                              \
    X(an_event_that_the_client_refuses_costs_no_turns_exactly_once)           \
    X(lossy_events_delay_no_record)                                           \
    X(a_lane_that_was_lost_counts_as_blocked_no_more)                         \
    X(events_of_a_cancel_by_id_have_its_record_key)                           \
    X(a_cancel_that_voids_nothing_has_an_event)                               \
    X(a_cancel_that_voids_nothing_has_an_event_exactly_once)                  \
    X(a_cancel_that_an_earlier_owner_applied_is_not_unmatched)                \
    X(an_unmatched_cancel_waits_for_the_partition_of_its_event)               \
    X(lane_is_released_after_the_event_that_waits_for_a_commit)               \
    X(lane_is_released_after_events_that_the_client_refuses_exactly_once)     \
    X(a_transaction_closes_before_events_exceed_its_records_exactly_once)     \
    X(an_empty_transaction_takes_a_record_of_any_size_exactly_once)           \
    X(a_cancel_that_is_deleted_before_its_entry_is_unmatched)                 \
    X(a_failed_delivery_has_one_event_for_each_try)                           \
    X(a_failed_delivery_has_one_event_for_each_try_exactly_once)              \
    /* stories_compat.c: requests in the format of another scheduler */       \
    X(a_foreign_replace_voids_older_requests_and_not_itself)                  \
    X(a_foreign_replace_voids_older_requests_and_not_itself_exactly_once)     \
    X(foreign_replaces_and_cancels_are_restored)                              \
    /* stories_retry.c: requests with dlb-retry */                            \
    X(retries_of_a_record_wait_longer_each_time_and_end)                      \
    X(retries_of_a_record_wait_longer_each_time_and_end_exactly_once)         \
    X(a_retry_with_an_old_timestamp_waits_from_its_reading)                   \
    X(a_retry_without_its_count_is_the_first_one)                             \
    X(a_retry_keeps_its_count_and_origin_through_failures)                    \
    X(a_retry_keeps_its_count_and_origin_through_failures_exactly_once)       \
    X(the_cancel_of_a_key_voids_no_retry)                                     \
    X(a_cancelled_retry_that_may_have_come_is_not_certain)                    \
    X(a_cancelled_retry_is_certain_exactly_once)                              \
    X(a_cancel_that_a_restore_finds_is_certain)                               \
    X(retries_end_at_their_deadline)                                          \
    /* stories_spread.c: requests with dlb-spread */                          \
    X(a_spread_is_kept_when_its_owner_is_killed)                              \
    X(a_spread_is_kept_when_its_owner_is_killed_exactly_once)                 \
    X(a_replace_may_have_a_spread)                                            \
    X(a_spread_in_the_past_is_delivered_at_once)                              \
    /* stories_hold.c: records that are kept in memory in place of a level */ \
    X(a_rest_within_hold_waits_in_memory)                                     \
    X(the_last_rest_of_a_level_is_kept_without_its_fetch)                     \
    X(a_kill_loses_no_kept_record)                                            \
    X(a_kill_loses_no_kept_record_exactly_once)                               \
    X(a_rebalance_keeps_records_again)                                        \
    X(an_aborted_transaction_keeps_records_again)                             \
    X(a_clock_that_steps_back_keeps_records_again)                            \
    X(a_stop_does_not_wait_for_kept_records)                                  \
    X(a_kept_record_may_be_cancelled_and_replaced)                            \
    X(a_kept_record_may_be_cancelled_and_replaced_exactly_once)               \
    X(a_pause_meets_a_kept_record)                                            \
    X(a_record_whose_delivery_failed_is_not_kept)                             \
    X(a_record_whose_delivery_failed_is_not_kept_exactly_once)                \
    X(the_target_of_a_kept_record_is_looked_up_before_its_time)               \
    X(an_event_that_is_owed_is_not_delayed)                                   \
    X(an_event_that_is_owed_is_not_delayed_exactly_once)                      \
    X(a_rate_that_will_fill_the_window_is_foreseen)                           \
    X(a_burst_spills_the_oldest_records)                                      \
    X(a_due_time_that_only_this_reading_knows_is_stored)                      \
    X(a_lane_full_of_dead_letters_spills_no_other)                            \
    X(a_large_request_does_not_wait_for_kept_records)                         \
    X(memory_of_kept_records_is_given_to_other_lanes)                         \
    X(a_spilled_record_is_not_kept_again)                                     \
    X(the_start_of_the_log_may_pass_a_kept_record)                            \
    X(a_range_that_is_skipped_waits_for_no_kept_record)                       \
    X(a_record_of_a_retired_level_is_kept)                                    \
    /* stories_control.c: targets that operators pause or limit */            \
    X(records_of_a_paused_target_wait_until_it_is_resumed)                    \
    X(records_of_a_paused_target_wait_until_it_is_resumed_exactly_once)       \
    X(an_hour_of_a_pause_has_few_writes)                                      \
    X(a_pause_ends_at_its_time)                                               \
    X(a_paused_record_uses_up_no_attempt)                                     \
    X(a_paused_record_expires_at_its_time)                                    \
    X(a_cancel_meets_a_paused_record)                                         \
    X(records_of_a_limited_target_come_at_its_rate)                           \
    X(records_of_a_limited_target_come_at_its_rate_exactly_once)              \
    X(an_entry_of_targets_may_have_a_rate)                                    \
    X(slots_are_given_again_after_a_restart)                                  \
    X(lanes_share_a_limit)                                                    \
    X(a_limited_target_keeps_its_bucket_until_it_is_idle)                     \
    X(a_limited_target_without_a_topic_takes_no_bucket)                       \
    X(a_removed_limit_is_over)                                                \
    X(a_removed_limit_frees_records_at_their_next_hop)                        \
    X(a_raised_limit_gives_earlier_slots_at_the_next_hop)                     \
    X(cancelled_records_give_their_slots_back)                                \
    X(a_limit_that_is_set_again_forgets_its_slots)                            \
    X(a_step_of_the_clock_adds_nothing_to_a_limit)                            \
    X(an_abort_voids_the_slots_of_a_limit)                                    \
    X(a_step_of_the_clock_voids_the_slots_of_a_limit)                         \
    X(a_record_of_a_long_pause_comes_at_its_next_hop)                         \
    X(lanes_open_when_the_pauses_were_read)                                   \
    X(a_cancel_wins_that_is_written_while_lanes_wait_for_the_pauses)          \
    X(lanes_open_after_half_a_minute_without_the_pauses)                      \
    X(a_withheld_record_is_not_redelivering)                                  \
    /* stories_seal.c: how long cancels live */                               \
    X(cancels_on_the_schedule_topic_come_before_the_first_delivery)           \
    X(cancels_survive_their_owner)                                            \
    X(cancels_survive_their_owner_exactly_once)                               \
    X(requests_are_read_again_after_a_restore)                                \
    X(a_drained_lane_empties_its_table)                                       \
    X(a_drained_lane_empties_its_table_exactly_once)                          \
    X(a_marker_at_the_end_of_the_schedule_topic_keeps_no_cancel)              \
    X(a_deleted_record_in_memory_keeps_its_cancel_in_force)                   \
    X(a_record_in_memory_that_the_log_start_has_passed_keeps_its_cancel)      \
    X(a_waiting_record_keeps_its_cancel_in_force)                             \
    X(a_waiting_record_keeps_its_cancel_in_force_exactly_once)                \
    X(a_blocked_level_keeps_cancels_in_force)                                 \
    X(a_lane_that_is_read_again_keeps_cancels_in_force)                       \
    X(a_position_that_goes_back_keeps_cancels_in_force)                       \
    X(seals_of_a_cut_schedule_topic_end_no_later_cancel)                      \
    X(a_cut_level_keeps_cancels_in_force)                                     \
    X(a_schedule_topic_that_is_not_read_keeps_cancels_in_force)               \
    X(a_hop_in_flight_is_given_up_before_five_seals)                          \
    X(a_hop_that_is_stored_behind_a_seal_is_void)                             \
    X(a_topic_of_cancels_is_trimmed_to_the_fifth_seal_before)                 \
    X(a_transaction_of_a_killed_owner_holds_the_restore)                      \
    X(an_entry_without_its_marker_is_awaited)                                 \
    X(a_record_behind_an_open_transaction_keeps_its_cancel)                   \
    X(a_lane_that_is_lost_while_it_loads_is_restored_again)                   \
    X(a_load_continues_at_the_start_of_a_trimmed_log)                         \
    X(a_restore_grows_the_table_beyond_its_limit)                             \
    X(cancels_of_a_recreated_schedule_topic_void_nothing)                     \
    X(a_late_cut_forgets_no_cancel)                                           \
    X(a_recreated_schedule_topic_is_recognized_by_another_record)             \
    X(a_schedule_topic_without_commits_is_no_other_one)                       \
    X(a_schedule_topic_without_offsets_is_recognized_by_its_record)           \
    X(cancels_of_a_cut_log_stay_in_force)                                     \
    X(cancels_of_a_cut_log_stay_in_force_exactly_once)                        \
    X(a_cancel_and_its_request_may_both_be_cut)                               \
    X(requests_at_offsets_of_lost_ones_are_delivered)                         \
    X(requests_at_offsets_of_lost_ones_are_delivered_exactly_once)            \
    X(a_log_that_grew_past_its_lost_cancels_was_cut)                          \
    X(a_log_without_cancels_that_was_cut_is_recognized)                       \
    X(a_log_without_cancels_that_was_cut_is_recognized_exactly_once)          \
    X(a_cut_is_found_again_until_its_record_is_stored)                        \
    X(a_cut_whose_record_is_stored_is_found_once)                             \
    X(new_records_of_a_cut_log_are_witnesses)                                 \
    X(an_era_is_known_by_its_witnesses)                                       \
    X(witnesses_fit_the_metadata_of_a_commit)                                 \
    X(a_lane_that_comes_back_finds_no_cut_twice)                              \
    X(an_owner_that_was_fenced_finds_no_cut_that_the_next_one_has_passed)     \
    X(a_cut_may_be_below_the_base)                                            \
    X(of_two_cancels_of_a_name_the_newer_one_may_be_cut)                      \
    X(a_cancel_behind_a_cut_voids_older_requests)                             \
    X(a_lane_that_comes_back_finds_the_cut)                                   \
    X(a_cut_is_stored_after_a_commit_of_its_place)                            \
    X(a_second_cut_may_be_below_the_first)                                    \
    X(a_second_cut_may_be_just_below_the_first)                               \
    X(a_second_cut_may_be_above_the_first)                                    \
    X(a_cancel_on_a_copy_of_the_cluster_voids_what_waits)                     \
    X(cancels_are_in_force_on_a_copy_of_the_cluster)

#define SCENARIO_DECLARE(name) void name(struct world *world);
SCENARIO_TABLE(SCENARIO_DECLARE)
#undef SCENARIO_DECLARE

struct scenario {
    const char *name;
    void (*run)(struct world *world);
};

extern const struct scenario scenarios[]; /* ends with a NULL name */

#endif
