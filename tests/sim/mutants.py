#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the decisions about transactions, cancels, events, retries, slow targets, pauses and limits, each planted in
a copy of one source file. The stories or seeds of the simulator must find each of them, or a suite of
units. A mistake that lies between the bridge and its port is in bugs.h.

  mutants.py BUILD [NAME...]    BUILD: the folder of a debug build. Without a NAME: all of them
  mutants.py --cases            the cases of failure, with the stories and planted mistakes of each
  mutants.py --cases BUILD      the same, with the number of stories and the first seed that find each mistake"""
from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = 500
COUNT_SEEDS = 2000  # of --cases


class Mutant(NamedTuple):
    name: str
    file: str
    old: str  # in the file once
    new: str
    suite: str = ""  # the unit suite that finds it, if the floor of five seals hides it from the simulator


MUTANTS = (
    Mutant("entry_of_replace_is_done", "bridge/core/cancel.c",
           "if (p->entry_kind == ENTRY_CANCEL) {", "if (p->entry_kind == ENTRY_CANCEL || p->entry_kind == ENTRY_REPLACE) {"),
    Mutant("entry_of_replace_is_foreseen", "bridge/core/cancel.c",
           "return p->entry_kind == ENTRY_NONE || p->entry_kind == ENTRY_CANCEL;", "return p != NULL;"),
    Mutant("orphan_entry_counts", "bridge/core/outcome.c",
           "p->kind == FORWARD_CANCEL || p->entry_kind == ENTRY_CANCEL", "p->kind == FORWARD_KINDS"),
    Mutant("transaction_without_progress_is_not_announced", "bridge/core/commit.c", "if (n == 0 && b->txn.n == 0)", "if (n == 0)"),
    Mutant("commit_before_the_offsets_are_accepted", "bridge/core/sender.c", "b->txn.offsets != OFFSETS_ACCEPTED)",
           "b->txn.offsets == OFFSETS_NONE)"),
    Mutant("purge_does_not_wait_for_offsets", "bridge/core/sender.c", "if (c->state == CLIENT_OPEN && ends && c->call == CALL_NONE)",
           "if (c->state == CLIENT_OPEN && ends)"),
    Mutant("client_passes_while_its_offsets_may_arrive", "bridge/core/sender.c", "if (!current(b)->may_arrive && other", "if (other"),
    Mutant("commit_without_progress_fences_older_offsets", "bridge/core/sender.c", " || (c->may_arrive && b->sender.sent_n == 0)", ""),
    Mutant("offsets_that_may_arrive_are_forgotten", "bridge/core/sender.c", "    c->may_arrive |= f->offsets_may_arrive;\n", ""),
    Mutant("offsets_that_may_arrive_after_a_commit_are_forgotten", "bridge/core/sender.c", "!f->ok || f->offsets_may_arrive ||", "!f->ok ||"),
    Mutant("failed_commit_may_not_arrive", "bridge/core/sender.c", "c->may_arrive = !f->ok || ", "c->may_arrive = "),
    Mutant("client_is_used_again_whose_request_may_arrive", "bridge/core/sender.c", "    if (f->may_arrive) /*", "    if (false) /*"),
    Mutant("failed_client_is_used_again", "bridge/core/sender.c", "    if (c->call == CALL_NONE)\n        renew(b, f->client);",
           "    if (c->call == CALL_NONE)\n        c->state = CLIENT_READY;"),
    Mutant("next_transaction_before_the_old_client_is_destroyed", "bridge/core/sender.c",
           "if (b->sender.clients[i].state == CLIENT_CLOSING)", "if (i < 0)"),
    Mutant("transaction_continues_before_its_lanes_are_lost", "bridge/core/sender.c", " && !bridge_must_reread(b);", ";"),
    Mutant("lanes_are_gained_while_a_transaction_is_broken", "bridge/core/sender.c", "return b->txn.state != TXN_BROKEN;", "return b != NULL;"),
    Mutant("lanes_are_gained_before_the_clients_start", "bridge/core/sender.c", "if (!c->was_ready && c->call != CALL_INIT)", "if (b == NULL)",
           "sender"),
    Mutant("purged_consequence_is_the_cause", "bridge/core/sender.c", "if (blame == BLAME_RECORDS)", "if (blame != BLAME_CLUSTER)"),
    Mutant("refused_transaction_is_never_given_up", "bridge/core/sender.c",
           "return c->state == CLIENT_OPEN && b->txn.state != TXN_FAILED && !c->produced &&", "return b == NULL && !c->produced &&"),
    Mutant("transaction_with_an_answered_record_is_refused", "bridge/core/sender.c", " && !c->produced &&", " &&", "sender"),
    Mutant("time_before_the_first_record_is_a_refusal", "bridge/core/sender.c", "    if (b->txn.n == 0)\n        c->begun_mono_ms",
           "    if (c->state == CLIENT_READY)\n        c->begun_mono_ms"),
    Mutant("client_that_did_not_start_is_not_tried_again", "bridge/core/sender.c", "b->now.mono_ms >= c->retry_mono_ms)", "c->retry_mono_ms < 0)"),
    Mutant("client_that_was_left_is_not_used_again", "bridge/core/sender.c",
           "    if (c->state == CLIENT_LEFT)\n        renew(b, f->client);\n", "", "sender"),
    Mutant("other_clients_stay_after_one_is_left", "bridge/core/sender.c", "if (b->sender.clients[i].state == CLIENT_READY)", "if (i < 0)",
           "sender"),
    Mutant("held_client_is_not_replaced", "bridge/core/sender.c", "if (usable < TXN_CLIENTS_WANTED &&", "if (usable < 0 &&", "sender"),
    Mutant("client_is_added_while_kafka_is_away", "bridge/core/sender.c", "if (s->away_mono_ms != 0 &&", "if (s->away_mono_ms < 0 &&",
           "sender"),
    Mutant("spare_counts_while_a_client_is_held", "bridge/core/sender.c", "state != CLIENT_READY && state != CLIENT_OFF)",
           "state < CLIENT_OFF)", "sender"),
    Mutant("one_look_makes_a_target_slow", "bridge/core/slowness.c", "    if (!wanted || is_slow_again(b, t))\n",
           "    (void)is_slow_again(b, t);\n"),
    Mutant("records_from_before_a_look_count", "bridge/core/slowness.c",
           "took_ms < t->looked_mono_ms)", "took_ms < 0)", "slowness"),
    Mutant("target_is_slow_without_a_fast_one", "bridge/core/slowness.c", " && t->ack_us >= SLOW_TIMES * fastest_us", ""),
    Mutant("slow_target_is_never_fast_again", "bridge/core/slowness.c", "t->is_slow ? !fast : slow", "t->is_slow || slow"),
    Mutant("keyless_success_ends_a_suspicion", "bridge/core/target.c", "p->keyless && !others_failed", "p->keyless"),
    Mutant("transaction_ends_without_its_events", "bridge/core/commit.c",
           "if (!list_is_empty(&b->events.ready)) /* they", "if (b == NULL) /* they"),
    Mutant("events_that_are_not_sent_need_no_room", "bridge/core/transaction.c", "size_t n = t->n + t->owed_n + 1,",
           "size_t n = t->n + 1,"),
    Mutant("dead_letters_are_written_newest_first", "bridge/core/ready.c",
           "b->front_end != NULL ? b->front_end->next : hops->head.next", "hops->head.next"),
    Mutant("dead_letters_wait_for_hops", "bridge/core/ready.c", "if (p->dead_letter == NULL) {", "if (hops != NULL) {"),
    Mutant("refusal_counts_as_an_acknowledgement", "bridge/core/outcome.c", "p->kind != FORWARD_TARGET && report == REPORT_OK)",
           "p->kind != FORWARD_TARGET)"),
    Mutant("lossy_events_find_no_partition_that_is_back", "bridge/core/outlet.c", "(o->down && !probe)", "(o->down || (probe && o->down))"),
    Mutant("lost_lane_counts_as_blocked", "bridge/core/lanes.c",
           "        if (queue_is_schedule(q))\n            outlets_lane_lost(b, q->id.lane);\n", ""),
    Mutant("retry_is_accepted_without_an_event", "bridge/core/admission.c", "if (stamp->policy != 0)\n        event_note",
           "if (stamp->policy == UINT16_MAX)\n        event_note"),
    Mutant("each_request_is_accepted_as_a_retry", "bridge/core/admission.c", "if (stamp->policy != 0)\n        event_note",
           "event_note"),
    Mutant("due_time_of_a_retry_is_certain", "bridge/core/event.c", "b->config.exactly_once || !stamp->extras.is_retry", "b != NULL && stamp"),
    Mutant("restore_notes_no_instant_of_a_cancel", "bridge/core/restore_records.c",
           "force_marks_note(&b->lanes[lane].force, place, b->now.wall_ms);", ""),
    Mutant("record_is_done_before_its_events", "bridge/core/event.c",
           "    settle(b, p);\n    return true;\n}\n\nbool event_void", "    return false;\n}\n\nbool event_void"),
    Mutant("lane_is_released_before_a_proof", "bridge/core/forward.c",
           "            return true;\n    }\n    return event_awaits_proof(b);", "            return true;\n    }\n    return false;"),
    Mutant("lane_is_released_before_refused_events", "bridge/core/forward.c",
           "return !list_is_empty(&b->events.ready);", "return false;"),
    Mutant("replace_is_sent_before_its_entry", "bridge/core/forward.c",
           "if (p->entry_kind != ENTRY_NONE)\n        return send_entry(b, p);",
           "if (p->entry_kind == ENTRY_REPLACE)\n        parcel_drop_entry(b, p);\n"
           "    if (p->entry_kind != ENTRY_NONE)\n        return send_entry(b, p);"),
    Mutant("schedule_end_of_seal_ignored", "levels/seals.c",
           "*dead_below = covered < passed[0] ? covered : passed[0];", "*dead_below = passed[0] + 0 * covered;"),
    Mutant("seal_proves_ownership", "bridge/core/seal.c", "    l->sealed_next = log_end;", "    l->log_next = log_end;", "restore"),
    Mutant("any_transaction_proves_ownership", "bridge/core/commit.c", "n > 0 ? b->now.mono_ms : INT64_MIN", "b->now.mono_ms",
           "restore_exactly"),
    Mutant("no_floor_of_five_seals", "levels/seals.h", "SEALS_FLOOR = 5", "SEALS_FLOOR = 0"),
    Mutant("late_seal_counts", "levels/seals.c", "if (seal->number <= seals->last)\n        return;", "", "seals"),
    Mutant("late_cut_counts", "levels/eras.c", "if (!eras_is_above(number, newest(eras)->number))\n        return false;", "", "eras"),
    Mutant("cut_goes_unnoticed", "bridge/core/restore.c", "else if (l->same_log.verdict == LOG_IS_SAME)", "else if (l->same_log.at >= 0)"),
    Mutant("requests_behind_a_cut_are_passed_over", "bridge/core/restore.c", "    if (same->proved)\n        move_window",
           "    if (same->at < 0)\n        move_window"),
    Mutant("cut_is_stored_before_its_place_is_committed", "bridge/core/restore.c",
           "q->changes_kept >= b->lanes[lane].cancels.moved_at_change;", "b->lanes[lane].cancels.loading == LOADING_MOVE;"),
    Mutant("records_are_no_witnesses", "bridge/core/admission.c", "    restore_note_witness(b, q);\n    struct intake in", "    struct intake in"),
    Mutant("witness_from_before_a_cut_counts", "levels/same_log.c", "if (!eras_have_replaced(eras, w->era, w->offset))",
           "if (w != NULL)"),
    Mutant("cut_forgets_the_witnesses_behind_it", "levels/same_log.c", "if (!eras_have_replaced(eras, w->era, w->offset))",
           "if (eras_of(eras, w->offset) != eras_of(eras, INT64_MAX))", "same_log"),
    Mutant("lost_witnesses_stay", "bridge/core/restore.c", "    same_log_sift(&l->same_log, &l->eras);\n    if (l->requests_next",
           "    if (l->requests_next"),
    Mutant("witnesses_name_no_era", "bridge/core/restore.c", "        (void)eras_note(&l->eras, newest->era, newest->offset);",
           "        (void)newest;"),
    Mutant("witnesses_exceed_the_metadata", "bridge/core/progress.c", "p->witnesses_len = fits ? len : 0;",
           "p->witnesses_len = fits ? len : len;"),
    Mutant("records_of_an_aborted_transaction_are_witnesses", "bridge/core/restore.c",
           "if (b->config.exactly_once) /* another owner", "if (b == NULL) /* another owner"),
    Mutant("short_log_counts_at_once", "bridge/core/restore.c", "if (l->same_log.differs)\n        return true;",
           "if (l != NULL)\n        return true;", "restore"),
    Mutant("cut_that_was_trimmed_is_missed", "bridge/core/restore.c", "if (is_recreated || lacks_records) {", "if (is_recreated) {", "restore"),
    Mutant("places_are_offsets", "levels/eras.c", ".shift = before->top + 1 - at,", ".shift = 0,"),
    Mutant("waiting_request_has_no_era", "bridge/core/admission.c", "in.stamp.origin_era = eras_of(", "in.stamp.origin_era = 0 * eras_of("),
    Mutant("entry_has_no_era", "bridge/core/cancel.c", ".era = stamp->origin_era,", ".era = 0,"),
    Mutant("seal_has_no_era", "bridge/core/seal.c", ".era = eras_of(&l->eras, covered)", ".era = 0"),
    Mutant("cancels_behind_a_cut_count_as_read", "bridge/core/restore.c", "    if (l->requests_next > at)\n        l->requests_next = at;\n", "",
           "restore"),
    Mutant("copy_is_taken_for_the_same_log", "bridge/core/restore.c", "return l->fresh && l->same_log.n == 0 && waits;",
           "return l->fresh && l->same_log.n > 0 && waits;"),
    Mutant("death_by_read_position", "bridge/core/seal.c", ".cancels.passed[slot] = q->base_kept;",
           ".cancels.passed[slot] = q->window.next;"),
    Mutant("death_by_one_level_only", "levels/seals.c", "for (size_t i = 0; i < seals->parts_n; i++) {\n        if (passed[i] < ends_of",
           "for (size_t i = 0; i < 2; i++) {\n        if (passed[i] < ends_of"),
    Mutant("seal_covers_the_position_only", "bridge/core/seal.c",
           "l->covered_offset = l->requests_next > w->next ? l->requests_next : w->next;", "l->covered_offset = w->next;"),
    Mutant("seal_covers_offsets_beyond_the_log_end", "bridge/core/seal.c",
           "l->covered_offset < end ? l->covered_offset : end;", "l->covered_offset + 0 * end;"),
    Mutant("cut_log_passes", "bridge/core/seal.c", "q->log_mismatch || committed > ends->end ||", "q->log_mismatch ||"),
    Mutant("blocked_log_passes", "bridge/core/seal.c", "if (q->log_mismatch || committed > ends->end ||",
           "if (committed > ends->end ||"),
    Mutant("drained_without_committed_base", "bridge/core/seal.c",
           "q->window.base == q->window.next &&\n           q->window.base == committed;", "committed < INT64_MAX;"),
    Mutant("drained_with_a_head", "bridge/core/seal.c", "q->state == QUEUE_OPEN && q->head == NULL &&", ""),
    Mutant("idle_level_never_passes", "bridge/core/seal.c", "return end > passed ? end : passed;",
           "return end > 0 ? passed : passed;"),
    Mutant("deleted_log_passes_its_owner", "bridge/core/seal.c",
           "(q->window.base == WINDOW_UNSET || q->window.base >= start);", "q != NULL;"),
    Mutant("entry_forgotten_at_first_match", "levels/cancels.c", "slot->rest |= MATCHED;\n    return true;",
           "leave(table, slot);\n    return true;"),
    Mutant("no_pass_over_requests", "bridge/core/restore.c", "if (requests.from >= stable_end) {",
           "if (requests.from >= 0) {"),
    Mutant("foreign_replace_is_not_restored", "bridge/core/restore_records.c", "if (!request_has_op(&b->config.rules, record))",
           "const struct request_rules plain = {.max_delay_ms = 0};\n    if (!request_has_op(&plain, record))"),
    Mutant("seek_without_doubt", "bridge/core/bulk.c", "if (q->in_line && !b->bulk.load_is_bulky)\n        queue_read_on(b, q);",
           "if (q->in_line && !b->bulk.load_is_bulky)\n        queue_read_on(b, q), q->seek_pending = false;"),
    Mutant("no_seek_after_the_pass", "bridge/core/restore.c", "bulk_lane_opened(b, q);", ";"),
    Mutant("slot_of_another_lane_used_again", "levels/cancels.c", "is_dead(table, slot))\n            first_dead = slot;",
           "offset_of(table, slot) < table->lanes[id].first + 1000)\n            first_dead = slot;"),
    Mutant("ready_record_without_fingerprint", "bridge/core/cancel_table.c",
           "if (!p->hashed)\n        cancel_table_hash(b, p);", "if (!p->hashed)\n        return false;"),
    Mutant("log_trimmed_to_the_passed_seal", "levels/seals.c", "*trim_below = seals->cancels_ends[at];",
           "*trim_below = seals->cancels_ends[at + SEALS_FLOOR];", "seals"),
    Mutant("replace_voids_itself", "levels/cancels.c", "offset_of(table, slot) <= origin", "offset_of(table, slot) < origin"),
    Mutant("refused_replace_voids", "levels/request.c", "return code == CODE_OK || code == CODE_TARGET_DENIED;",
           "return code != CODE_BAD_ID && code != CODE_BAD_OP;"),
    Mutant("denied_replace_voids_nothing", "levels/request.c", "return code == CODE_OK || code == CODE_TARGET_DENIED;",
           "return code == CODE_OK;"),
    Mutant("base_and_window_recognize_the_schedule_topic", "bridge/core/restore.c",
           "same_log_begin(&l->same_log, schedule->start, schedule->stable_end,",
           "same_log_begin(&l->same_log, schedule->start, l->start_offset + 100,"),
    Mutant("recreated_schedule_topic_goes_unnoticed", "levels/same_log.c", "if (s->n == 0 || newest(s)->offset < start) {",
           "if (s->n == 0 || newest(s)->offset < start || newest(s)->offset >= end) {"),
    Mutant("recreated_schedule_topic_is_not_recognized_by_its_record", "levels/same_log.c",
           "return record->offset == w->offset &&", "return record->offset == w->offset ||"),
    Mutant("ends_before_the_log_was_read", "bridge/core/restore.c",
           "l->log_next = next;\n        query(b, lane, is_short ? LOADING_LOG_END : LOADING_ENDS);",
           "l->log_next = next;\n        read_requests(b, lane, l->requests_end);"),
    Mutant("restore_left_off_counts_as_complete", "bridge/core/restore.c", "l->complete = false;\n    l->short_since_mono_ms",
           "l->short_since_mono_ms", "restore"),
    Mutant("void_record_is_forwarded_as_a_hop", "bridge/core/forward.c",
           "if (cancel_table_is_used(b, p) && cancel_table_voids(b, p)) {",
           "if (kind == READY_DELIVERIES && cancel_table_is_used(b, p) && cancel_table_voids(b, p)) {"),
    Mutant("names_of_ids_and_keys_are_one_space", "levels/cancels.h", "*kind = bytes_is_null(id) ? CANCEL_BY_KEY : CANCEL_BY_ID;",
           "*kind = CANCEL_BY_ID;"),
    Mutant("end_of_schedule_topic_never_passes", "bridge/core/seal.c",
           "int64_t end = is_drained(q, committed) ?", "int64_t end = !queue_is_schedule(q) && is_drained(q, committed) ?"),
    Mutant("log_of_cancels_without_limit", "bridge/core/cancel_table.c", "if (log_is_full(b, l))\n        return CANCEL_LOG_IS_FULL;", ""),
    Mutant("dead_cancels_stay", "bridge/core/cancel_table.c", "cancels_clear(&c->table, CANCELS_CLEAR_SLOTS);", ";"),
    Mutant("load_ends_where_the_log_was_trimmed", "bridge/core/restore.c",
           "if (entries.from < log->start)\n        entries.from = log->start;\n    if (entries.from < log->end)",
           "if (entries.from >= log->start && entries.from < log->end)"),
    Mutant("restore_refuses_cancels", "bridge/core/cancel_table.c", "int err = cancels_restore(&b->cancels.table, l->id, print, place);",
           "int err = cancels_put(&b->cancels.table, l->id, print, place, b->cancels.share);"),
    Mutant("cancel_voids_younger_requests", "levels/cancels.c", "is_dead(table, slot) || offset_of(table, slot) <= origin",
           "is_dead(table, slot) || offset_of(table, slot) == origin"),
    Mutant("matched_cancel_is_reported", "bridge/core/unmatched.c", "place == place_of(&b->lanes[lane].cancels, cancel) && !matched;",
           "place == place_of(&b->lanes[lane].cancels, cancel);"),
    Mutant("cancel_of_an_earlier_owner_is_reported", "bridge/core/unmatched.c", "cancel->offset >= l->requests_end;",
           "cancel->offset >= 0;"),
    Mutant("cancel_dies_before_its_report", "bridge/core/unmatched.c", "waits ? place_of(l, &cancel) : l->dead_below);",
           "l->dead_below);"),
    Mutant("bulky_load_next_to_the_intake", "bridge/core/bulk.c", "b->bulk.load_is_bulky |=", "bool unused ="),
    Mutant("waiting_load_stops_other_lanes", "bridge/core/bulk.c", "return b->now.mono_ms - l->moved_mono_ms < LOAD_SILENT_MS;",
           "return true;"),
    Mutant("table_closed_at_an_abort", "bridge/core/restore.c", "if (l->loading == LOADING_LOG)\n        l->log_next = l->load_next;",
           "cancel_table_close(b, lane);\n    cancel_table_open(b, lane, 0);\n    l->complete = true;"),
    Mutant("retry_is_named_by_its_key", "levels/envelope.h", "if (stamp->extras.is_retry && bytes_is_null(stamp->id))",
           "if (stamp->extras.is_retry && stamp->id.len > 0)"),
    Mutant("retry_is_not_known_from_its_origin", "levels/envelope.c", "stamp->extras.is_retry = extras_has_retry(extras);", ""),
    Mutant("retry_waits_from_its_timestamp", "levels/request_retry.c", "stamp->due_ms = read_at_ms(r) + wait_ms;",
           "stamp->due_ms = stamp->timestamp_ms + 0 * read_at_ms(r) + wait_ms;"),
    Mutant("retry_is_not_counted", "levels/request_retry.c", "retry->attempt++;", "retry->attempt = 1;"),
    Mutant("retry_forgets_its_origin", "levels/request_retry.c", "retry->origin_offset = origin->offset;",
           "retry->origin_offset = r->stamp.origin_offset;"),
    Mutant("retry_forgets_its_first_time", "levels/request_retry.c", "retry->attempt++;",
           "retry->attempt++, retry->first_ms = stamp->timestamp_ms;"),
    Mutant("retries_have_one_more", "levels/retry.c", "if (state->attempt >= retry_attempts(policy))",
           "if (state->attempt > retry_attempts(policy))"),
    Mutant("deadline_of_retries_is_ignored", "levels/retry.c", "if (policy->deadline_ms > 0 &&", "if (policy->deadline_ms < 0 &&"),
    Mutant("failed_delivery_forgets_the_retry", "bridge/core/redelivery.c", "stamp->extras.error_code = (uint16_t)failure.error;",
           "stamp->extras = (struct extras){.error_code = (uint16_t)failure.error};"),
    Mutant("wait_of_a_retry_is_the_one_before", "levels/retry.c", "(double)retry_wait(policy, state->attempt + 1)",
           "(double)retry_wait(policy, state->attempt > 0 ? state->attempt : 1)"),
    Mutant("spread_ignores_the_expiry", "levels/spread.h", "|| end_ms > expires_ms)", "|| expires_ms < due_ms)"),
    Mutant("spread_begins_early", "levels/spread.h", "return due_ms + (int64_t)(source_hash(lane, offset, SOURCE_SPREAD) % span);",
           "return due_ms - 1 + (int64_t)(source_hash(lane, offset, SOURCE_SPREAD) % span);"),
    Mutant("spread_is_chosen_again_at_each_reading", "levels/request_times.c",
           "choose_due(stamp, spread_ms);\n    return", "stamp->origin_offset += r->now_ms, choose_due(stamp, spread_ms), "
           "stamp->origin_offset -= r->now_ms;\n    return"),
    Mutant("paused_target_gets_records", "bridge/core/withhold.c", "case CONTROL_OPEN:\n        return 0;\n    case CONTROL_PAUSED:",
           "case CONTROL_OPEN:\n        return 0;\n    case CONTROL_PAUSED:\n        "
           "if (stamp->extras.deferral == DEFERRAL_PAUSED)\n            return 0;"),
    Mutant("pause_uses_up_an_attempt", "bridge/core/redelivery.c", "env.stamp.extras.deferral = (uint8_t)why;",
           "env.stamp.extras.deferral = (uint8_t)why, env.stamp.attempt++;"),
    Mutant("pause_holds_beyond_the_expiry", "levels/control.c", "return expires_ms < at_ms ? expires_ms + 1 : at_ms;",
           "return expires_ms < 0 ? expires_ms + 1 : at_ms;"),
    Mutant("wait_of_a_pause_does_not_grow", "levels/control.c", "int64_t wait_ms = paused_ms / 4;", "int64_t wait_ms = paused_ms / 400;"),
    Mutant("pause_does_not_end", "levels/control.c", "if (control->until_wall_ms <= now_wall_ms ||", "if (control->until_wall_ms <= 0 ||"),
    Mutant("removed_entry_stays", "levels/control.c", "    drop(c, same);\n    return true;", "    return same->pattern[0] != 0;"),
    Mutant("changed_entry_is_not_noticed", "bridge/core/withhold.c", "if (t->verdict_version == all->version &&",
           "if (t->verdict_version != 0 &&"),
    Mutant("limit_of_all_lanes_for_each_worker", "levels/rate.c", "own / all;", "(own > 0 && all > 0);"),
    Mutant("slot_needs_no_token", "bridge/core/withhold.c", "if (bucket_is_open(bucket, has_slot, b->now.mono_ms))",
           "if (has_slot)\n        bucket->tokens = 1;\n    if (bucket_is_open(bucket, has_slot, b->now.mono_ms))"),
    Mutant("bucket_starts_full", "levels/rate.c", "{.per_ms = per_ms, .at_mono_ms = now_mono_ms};",
           "{.per_ms = per_ms, .at_mono_ms = now_mono_ms, .tokens = per_ms * 5000 + 5};"),
    Mutant("bucket_holds_a_minute", "levels/rate.c", "return fmax(per_ms * RATE_SPAN_MS, 1 + per_ms * RATE_LATE_MS);",
           "return per_ms * 60000 + 1;"),
    Mutant("record_gets_two_slots", "bridge/core/withhold.c", "bool has_slot = stamp->extras.deferral == DEFERRAL_LIMITED;",
           "bool has_slot = stamp->extras.deferral == DEFERRAL_PAUSED;"),
    Mutant("lanes_open_before_the_pauses_are_read", "bridge/core/turn.c", "||\n                withhold_awaits_control(b))", ")"),
    Mutant("lanes_wait_for_the_pauses_without_end", "bridge/core/withhold.c", "if (waited_ms < CONTROL_WAIT_MS)",
           "if (waited_ms < INT64_MAX)"),
    Mutant("lane_opens_without_the_last_cancels", "bridge/core/restore.c", "if (withhold_awaits_control(b))",
           "if (lane < 0)"),
    Mutant("removed_limit_keeps_its_slots", "bridge/core/withhold.c", "return verdict->state == CONTROL_OPEN;",
           "return verdict->state == CONTROL_OPEN && p->headers_n > 0;"),
    Mutant("record_that_is_not_due_is_released", "bridge/core/withhold.c", "if (env.stamp.due_ms > b->now.wall_ms)",
           "if (env.stamp.due_ms < 0)", suite="withhold"),
    Mutant("raised_limit_keeps_old_slots", "bridge/core/withhold.c",
           "slot_wall_ms(b, bucket) < p->until_wall_ms - b->config.ladder.hold_ms;",
           "slot_wall_ms(b, bucket) < p->until_wall_ms - INT32_MAX;"),
    Mutant("cancelled_record_keeps_its_slot", "bridge/core/forward.c", "        withhold_cancelled(b, p);\n", ""),
    Mutant("limit_that_is_set_again_keeps_its_slots", "bridge/core/withhold.c",
           "|| p->since_wall_ms != t->verdict.since_wall_ms ||", "||"),
    Mutant("bucket_is_filled_by_the_wall_clock", "bridge/core/withhold.c",
           "if (bucket_is_open(bucket, has_slot, b->now.mono_ms))", "if (bucket_is_open(bucket, has_slot, b->now.wall_ms))"),
    Mutant("abort_empties_buckets", "bridge/core/withhold.c", "c->limits.lanes_version += c->lanes_changed;",
           "c->limits.lanes_version++;",
           suite="withhold"),
    Mutant("abort_keeps_slots", "bridge/core/withhold.c", "    withhold_forget_slots(b);\n", ""),
    Mutant("step_of_the_clock_keeps_slots", "bridge/core/turn.c", "        withhold_forget_slots(b);\n", "        (void)b;\n"),
    Mutant("lanes_of_another_worker_keep_buckets", "bridge/core/withhold.c", "|= !was_kept || !lane->was_owned;",
           "|= !was_kept && !lane->was_owned;", suite="withhold"),
    Mutant("bucket_is_replaced_before_it_is_idle", "bridge/core/limit_table.c", "return bucket_is_idle(&bucket, now_mono_ms);",
           "return bucket.per_ms > 0 || now_mono_ms > 0;"),
    Mutant("bucket_is_never_idle", "bridge/core/limit_table.c", "return bucket_is_idle(&bucket, now_mono_ms);",
           "return bucket.per_ms < 0 && now_mono_ms < 0;"),
    Mutant("target_without_a_topic_takes_a_bucket", "bridge/core/withhold.c",
           "if (bucket_find(b, t) == NULL && !target_is_there(b, t))", "if (t->state > TARGET_DOWN)"),
    Mutant("try_without_memory_takes_a_slot", "bridge/core/forward.c", "if (redelivery_withhold(b, p, until_ms, why))",
           "(void)redelivery_withhold(b, p, until_ms, why);", suite="withhold"),
    Mutant("rate_of_an_entry_is_ignored", "bridge/core/withhold.c", "rule != NULL && rule->max_rate.records > 0", "false"),
    Mutant("rate_of_an_entry_beats_an_operator", "bridge/core/withhold.c",
           "if (v.state == CONTROL_OPEN && rule != NULL", "if (rule != NULL"),
    Mutant("record_below_the_base_has_passed", "bridge/core/seal.c", " || holds_passed(b, q))", ")"),
    Mutant("record_below_a_cut_is_no_witness", "bridge/core/restore.c", "    same_log_note_last(&l->same_log, &l->eras);\n", ""),
    Mutant("witness_of_an_unknown_era_is_lost", "levels/eras.c", "return i > 0 && eras_is_above(", "return eras_is_above("),
    Mutant("time_of_a_lost_witness_counts", "levels/same_log.c", "else if (read_ms > s->read_ms)", "else", "same_log"),
    Mutant("kept_for_fill_not_for_rate", "bridge/core/hold.c", "age_of(p) + q->rate_s * rest_ms / 1000 >", "age_of(p) >"),
    Mutant("kept_records_are_not_spilled_by_age", "bridge/core/hold.c", "(p = first_kept(q)) != NULL && is_too_old(b, p);",
           "(p = first_kept(q)) != NULL && p == NULL;"),
    Mutant("kept_records_are_not_spilled_for_room", "bridge/core/admission.c", "if (q->head == NULL) /*", "if (q != NULL) /*"),
    Mutant("dead_letters_spill_other_lanes", "bridge/core/admission.c", "if (!parcel_available(b) || !has_budget(b, q))\n        hold",
           "if (true)\n        hold"),
    Mutant("due_time_of_a_reading_is_kept", "bridge/core/admission.c", "return stamp->policy != 0 || q->head->timestamp_ms < 0 || is", "return is"),
    Mutant("span_of_a_lane_that_is_read_again_counts", "bridge/core/hold.c", "!slice_over && !b->hold.is_stale", "!slice_over", "hold"),
    Mutant("record_that_is_tried_alone_is_kept", "bridge/core/hold.c", " && !p->alone;", ";", "hold"),
    Mutant("kept_records_of_other_lanes_are_not_spilled", "bridge/core/hold.c", "n < SPILL_MAX && b->hold.bytes > 0;", "n < 0;"),
    Mutant("record_that_was_put_back_is_kept", "bridge/core/hold.c", "bool put_back = p->withheld || p->overdue_wall_ms != 0;",
           "bool put_back = false;"),
    Mutant("bytes_of_a_kept_record_are_not_given_back", "bridge/core/parcel.c", "    count_kept(b, p, -1);\n", ""),
    Mutant("kept_record_pins_its_fetch", "bridge/core/hold.c", "!parcel_own(b, p))", "p == NULL)"),
    Mutant("kept_record_owes_its_event", "bridge/core/hold.c", "bool owes_event = p->facts.types != 0 ||", "bool owes_event = "),
    Mutant("canary_is_kept", "bridge/core/hold.c", "!owes_event && !p->to_level", "!owes_event", "hold"),
    Mutant("spilled_record_is_kept_again", "bridge/core/hold.c", "    p->to_level = true;\n", ""),
    Mutant("record_too_large_for_its_level_is_kept", "bridge/core/hold.c", " && !p->without_level && !p->alone;", " && !p->alone;", "hold"),
    Mutant("target_of_a_kept_record_is_not_looked_up_early", "bridge/core/turn.c", "    target_expect(b, env.stamp.target);\n",
           "    (void)env;\n"),
    Mutant("range_waits_for_kept_records", "bridge/core/unreadable.c", "    hold_spill_all(b, q);\n", ""),
    Mutant("rest_shrinks_with_no_room", "bridge/core/hold.c", "return hold_ms - hold_ms * used / room;", "return hold_ms + 0 * used / room;",
           "hold"),
    Mutant("rate_of_a_lost_lane_counts", "bridge/core/hold.c", "q->rate_offset != WINDOW_UNSET && ", "", "hold"),
    Mutant("refused_outlet_is_not_looked_up", "bridge/core/outcome.c", "        outlet_look_again(b, p);\n", "        ;\n", suite="outcome_exactly"),
    Mutant("outlet_of_a_lost_lane_is_down", "bridge/core/outlet.c", " || (down && !b->lanes[id.lane].owned)", "", suite="outlet"),
    Mutant("reload_keeps_the_rate_of_an_entry", "bridge/core/withhold.c", "b->control.all.version++; /*", "/*", suite="withhold"),
    Mutant("withheld_record_is_redelivering", "levels/envelope.h", "if (stamp_is_withheld(stamp))\n        return 0;", ""),
    Mutant("another_record_at_a_paused_head_goes_unnoticed", "bridge/core/head.c", "return same ? NULL :",
           "return same || !same ? NULL :"),
    Mutant("shorter_log_goes_unnoticed", "bridge/core/head.c", "return is_marked(q) && end >= 0 && end <= q->mark.offset;",
           "return is_marked(q) && end < 0;"),
    Mutant("record_in_flight_of_another_log_is_adopted", "bridge/core/head.c",
           "q->head != NULL ? head_is_of(q, p) : p->ownership != FOREIGN", "p->offset >= 0"),
    Mutant("gap_is_believed_at_its_first_reading", "bridge/core/head.c", "GAP_READINGS = 3", "GAP_READINGS = 1"),
    Mutant("hop_stored_before_the_position_goes_unnoticed", "bridge/core/queue.c",
           "if (offset < 0 || offset >= p->floor_offset", "if (offset < INT64_MAX || offset >= p->floor_offset"),
    Mutant("offset_of_a_deleted_level_is_committed", "bridge/core/queue.c", "q->log_mismatch = q->missing = true;",
           "q->missing = true;"),
    Mutant("offset_that_went_back_belongs_to_the_same_log", "bridge/core/lanes.c", "start->offset >= q->base_kept;",
           "start->offset >= 0;"),
    Mutant("lane_of_another_owner_keeps_its_log", "bridge/core/lanes.c", "        q->missing = false;\n        queue_forget_log(q);",
           "        q->missing = false;"),
    Mutant("trim_that_failed_is_forgotten", "bridge/core/progress.c", "b->port.trim(b->port.ctx, q->id, q->base_kept);",
           "b->port.trim(b->port.ctx, q->id, q->base_kept), q->base_trimmed = q->base_kept;"),
    Mutant("log_is_trimmed_before_its_commit", "bridge/core/progress.c", "b->port.trim(b->port.ctx, q->id, q->base_kept);",
           "b->port.trim(b->port.ctx, q->id, q->window.base);"),
    Mutant("log_in_doubt_is_trimmed", "bridge/core/progress.c", "bool suspect = q->silences > 0;", "bool suspect = false;", "commit"),
    Mutant("throttling_is_a_timeout", "bridge/core/cluster.c", "if (for_ms >= AWAY_MS)", "if (for_ms < 0)"),
    Mutant("throttled_target_is_silent", "bridge/core/cluster.c", "        c->muted_mono_ms = until_mono_ms;\n", ""),
    Mutant("outage_is_a_timeout_of_targets", "bridge/core/cluster.c", "b->cluster.back_mono_ms = b->now.mono_ms;",
           "b->cluster.back_mono_ms = 0;"),
    Mutant("silence_in_an_outage_is_a_fault", "bridge/core/outcome.c", "if (silent_ms(b) < TXN_SILENT_MS || !cluster_is_heard(b))",
           "if (silent_ms(b) < TXN_SILENT_MS)"),
    Mutant("timeout_in_an_outage_is_a_fault", "bridge/core/outcome.c", "return !b->txn.answered || (", "return !b->txn.answered && ("),
    Mutant("first_answer_after_an_outage_proves_a_fault", "bridge/core/cluster.c", ">= HEARD_FOR_MS", ">= 0", "outcome_exactly"),
    Mutant("lateness_includes_the_delay_by_a_target", "bridge/core/forward.c", "late_from_wall_ms - p->delayed_ms;",
           "late_from_wall_ms;"),
)


class Case(NamedTuple):
    """A failure that the design must survive. mistakes: mutants, and bugs of bugs.h."""
    what: str
    stories: tuple[str, ...]
    mistakes: tuple[str, ...] = ()


CASES = (
    Case("the offset of a cancel is done at its insert", ("cancels_without_a_leader_stop_their_lane_alone",),
         ("cancel_done_at_insert", "entry_of_another")),
    Case("the entry of a replace completes it: when it is acknowledged, before that, or without its request",
         ("a_kill_between_entry_and_request_loses_no_replace", "progress_does_not_foresee_the_entry_of_a_replace",
          "a_replace_that_was_sent_without_its_entry_is_not_done"),
         ("entry_of_replace_is_done", "entry_of_replace_is_foreseen", "orphan_entry_counts",
          "replace_is_sent_before_its_entry")),
    Case("a transaction fails between the entry of a replace and its request",
         ("a_handover_between_entry_and_request_doubles_no_replace", "an_aborted_request_of_a_replace_is_sent_once",
          "an_entry_of_unknown_outcome_doubles_no_replace", "a_kill_between_entry_and_dead_letter_loses_no_replace"),
         ("entry_of_replace_is_done",)),
    Case("the end of the schedule topic in a seal is not compared with the offset of a cancel",
         ("a_waiting_record_keeps_its_cancel_in_force",), ("schedule_end_of_seal_ignored",)),
    Case("a restore reads to the last stable offset",
         ("a_transaction_of_a_killed_owner_holds_the_restore", "an_entry_without_its_marker_is_awaited"),
         ("load_to_stable_end",)),
    Case("the log ends of a seal are last stable offsets", ("a_record_behind_an_open_transaction_keeps_its_cancel",),
         ("seal_of_stable_ends",)),
    Case("a load ends after a time", ("a_lane_that_is_lost_while_it_loads_is_restored_again",), ("load_ended_by_time",)),
    Case("a seal of a lost owner behind entries of the next one", (), ("seal_proves_ownership", "any_transaction_proves_ownership")),
    Case("no floor of five seals", ("a_hop_that_is_stored_behind_a_seal_is_void",), ("no_floor_of_five_seals",)),
    Case("a hop is in flight for longer than five seals", ("a_hop_in_flight_is_given_up_before_five_seals",),
         ("hop_without_timeout",)),
    Case("a late seal or cut counts", ("a_late_cut_forgets_no_cancel",), ("late_seal_counts", "late_cut_counts")),
    Case("the schedule topic loses its tail",
         ("cancels_of_a_cut_log_stay_in_force", "cancels_of_a_cut_log_stay_in_force_exactly_once",
          "a_cancel_and_its_request_may_both_be_cut", "of_two_cancels_of_a_name_the_newer_one_may_be_cut",
          "a_second_cut_may_be_below_the_first", "a_second_cut_may_be_just_below_the_first", "a_second_cut_may_be_above_the_first"),
         ("cut_goes_unnoticed", "places_are_offsets", "seal_has_no_era", "short_log_counts_at_once",
          "record_below_a_cut_is_no_witness", "time_of_a_lost_witness_counts")),
    Case("its offsets are used again",
         ("requests_at_offsets_of_lost_ones_are_delivered", "requests_at_offsets_of_lost_ones_are_delivered_exactly_once",
          "a_log_that_grew_past_its_lost_cancels_was_cut", "a_cancel_behind_a_cut_voids_older_requests"),
         ("requests_behind_a_cut_are_passed_over", "waiting_request_has_no_era", "entry_has_no_era")),
    Case("its partition has no cancel in force",
         ("a_log_without_cancels_that_was_cut_is_recognized", "a_log_without_cancels_that_was_cut_is_recognized_exactly_once",
          "a_cut_may_be_below_the_base", "new_records_of_a_cut_log_are_witnesses", "an_era_is_known_by_its_witnesses",
          "witnesses_fit_the_metadata_of_a_commit"),
         ("records_are_no_witnesses", "lost_witnesses_stay", "witnesses_name_no_era", "witnesses_exceed_the_metadata",
          "witness_of_an_unknown_era_is_lost")),
    Case("an owner that finds a cut dies, or comes back",
         ("a_cut_is_stored_after_a_commit_of_its_place", "a_lane_that_comes_back_finds_the_cut",
          "a_cut_is_found_again_until_its_record_is_stored", "a_cut_whose_record_is_stored_is_found_once",
          "a_lane_that_comes_back_finds_no_cut_twice", "an_owner_that_was_fenced_finds_no_cut_that_the_next_one_has_passed"),
         ("witness_from_before_a_cut_counts", "cut_forgets_the_witnesses_behind_it",
          "records_of_an_aborted_transaction_are_witnesses", "cut_is_stored_before_its_place_is_committed", "cancels_behind_a_cut_count_as_read",
          "cut_that_was_trimmed_is_missed")),
    Case("the schedule topic is a copy, with other offsets",
         ("a_cancel_on_a_copy_of_the_cluster_voids_what_waits", "cancels_are_in_force_on_a_copy_of_the_cluster"),
         ("copy_is_taken_for_the_same_log",)),
    Case("a cancel dies by the read position instead of the committed base", ("a_waiting_record_keeps_its_cancel_in_force",),
         ("death_by_read_position",)),
    Case("a cancel dies when one level alone has passed its seal", ("a_waiting_record_keeps_its_cancel_in_force",),
         ("death_by_one_level_only",)),
    Case("a level counts as drained without its committed base", ("a_waiting_record_keeps_its_cancel_in_force",),
         ("drained_without_committed_base", "drained_with_a_head")),
    Case("an idle level never passes", ("a_drained_lane_empties_its_table_exactly_once",
                                        "a_marker_at_the_end_of_the_schedule_topic_keeps_no_cancel"),
         ("idle_level_never_passes", "end_of_schedule_topic_never_passes", "dead_cancels_stay")),
    Case("a level whose log is deleted passes while its owner holds a record of it",
         ("a_deleted_record_in_memory_keeps_its_cancel_in_force",
          "a_record_in_memory_that_the_log_start_has_passed_keeps_its_cancel"),
         ("deleted_log_passes_its_owner", "record_below_the_base_has_passed")),
    Case("an entry is forgotten at its first match", ("one_cancel_voids_all_older_requests_of_its_name",),
         ("entry_forgotten_at_first_match",)),
    Case("a restore ignores replaces in a foreign format", ("foreign_replaces_and_cancels_are_restored",),
         ("foreign_replace_is_not_restored",)),
    Case("the restore does not read the schedule topic", ("cancels_on_the_schedule_topic_come_before_the_first_delivery",),
         ("no_pass_over_requests",)),
    Case("the reading of bulky batches in a restore runs next to the intake",
         ("bulky_backlogs_are_searched_for_cancels_before_any_is_read", "a_bulky_load_without_a_leader_does_not_stop_other_lanes"),
         ("bulky_load_next_to_the_intake", "waiting_load_stops_other_lanes")),
    Case("after a restore has read the schedule topic, records from before its seek are taken into work",
         ("requests_are_read_again_after_a_restore",),
         ("seek_without_doubt", "no_seek_after_the_pass")),
    Case("a slot of the table that belongs to another lane is used again", ("one_cancel_voids_all_older_requests_of_its_name",),
         ("slot_of_another_lane_used_again",)),
    Case("a ready record without a fingerprint", ("a_record_that_was_ready_before_its_cancel_is_void",),
         ("ready_record_without_fingerprint", "void_record_is_forwarded_as_a_hop")),
    Case("the log is trimmed up to the seal that has passed", ("a_topic_of_cancels_is_trimmed_to_the_fifth_seal_before",),
         ("log_trimmed_to_the_passed_seal",)),
    Case("a replace voids itself", ("a_replace_voids_older_requests_and_not_itself",), ("replace_voids_itself",)),
    Case("a refused replace voids", ("a_replace_of_wrong_form_voids_nothing",),
         ("refused_replace_voids", "denied_replace_voids_nothing")),
    Case("the committed base and a window recognize the schedule topic", ("a_schedule_topic_without_commits_is_no_other_one",),
         ("base_and_window_recognize_the_schedule_topic",)),
    Case("the schedule topic is created again",
         ("cancels_of_a_recreated_schedule_topic_void_nothing", "a_recreated_schedule_topic_is_recognized_by_another_record",
          "a_schedule_topic_without_offsets_is_recognized_by_its_record"),
         ("recreated_schedule_topic_goes_unnoticed", "recreated_schedule_topic_is_not_recognized_by_its_record",
          "ends_before_the_log_was_read")),
    Case("a name is used again after its cancel", ("a_cancel_voids_older_requests_of_its_name_alone",),
         ("cancel_voids_younger_requests",)),
    Case("a cancel comes before its request", ("a_cancel_voids_older_requests_of_its_name_alone",),
         ("cancel_voids_younger_requests", "names_of_ids_and_keys_are_one_space")),
    Case("a schedule topic or a level that is not read keeps entries",
         ("a_blocked_level_keeps_cancels_in_force", "a_schedule_topic_that_is_not_read_keeps_cancels_in_force",
          "a_lane_that_is_read_again_keeps_cancels_in_force"), ("seal_covers_the_position_only",)),
    Case("an aborted transaction: windows go back, entries stay", ("an_aborted_transaction_keeps_cancels_in_force",),
         ("table_closed_at_an_abort",)),
    Case("a lane is revoked while it loads", ("a_lane_that_is_lost_while_it_loads_is_restored_again",),
         ("restore_left_off_counts_as_complete",)),
    Case("a load is out of range", ("a_load_continues_at_the_start_of_a_trimmed_log",),
         ("load_ends_where_the_log_was_trimmed",)),
    Case("a restore above the limit, and a topic of cancels above its own",
         ("a_restore_grows_the_table_beyond_its_limit", "cancels_beyond_the_share_of_a_lane_are_refused",
          "a_topic_of_cancels_that_is_not_trimmed_refuses_cancels"),
         ("restore_refuses_cancels", "log_of_cancels_without_limit")),
    Case("a schedule topic loses its newest requests", ("seals_of_a_cut_schedule_topic_end_no_later_cancel",),
         ("seal_covers_offsets_beyond_the_log_end",)),
    Case("a level loses its newest records", ("a_cut_level_keeps_cancels_in_force",), ("cut_log_passes", "blocked_log_passes")),
    Case("a committed base goes back", ("a_position_that_goes_back_keeps_cancels_in_force",)),
    Case("a redriven dead letter has a new origin", ("a_redriven_dead_letter_has_a_new_origin",),
         ("cancel_voids_younger_requests",)),
    Case("rollback and upgrade; on a real Kafka: e2e cancels_upgraded", ("a_rollback_delivers_what_cancels_void",)),
    Case("a record is done, or a transaction ends, before its events are stored",
         ("a_record_is_done_when_its_event_is_stored", "events_without_a_leader_stop_their_lane_alone_exactly_once",
          "lane_is_released_after_the_event_that_waits_for_a_commit",
          "lane_is_released_after_events_that_the_client_refuses_exactly_once"),
         ("record_is_done_before_its_events", "transaction_ends_without_its_events", "event_lost",
          "lane_is_released_before_a_proof", "lane_is_released_before_refused_events")),
    Case("events exceed the bounds of a transaction, or the bounds refuse a record",
         ("a_transaction_closes_before_events_exceed_its_records_exactly_once",
          "an_empty_transaction_takes_a_record_of_any_size_exactly_once"), ("events_that_are_not_sent_need_no_room",)),
    Case("dead letters are written in another order than their records were read, or behind hops",
         ("dead_letters_keep_the_order_of_their_requests", "dead_letters_keep_the_order_of_their_requests_exactly_once"),
         ("dead_letters_are_written_newest_first", "dead_letters_wait_for_hops")),
    Case("records that a partition refuses take the memory of other lanes",
         ("level_that_refuses_takes_a_share_of_the_budget", "topic_of_events_that_refuses_takes_a_share_of_the_budget"),
         ("refusal_counts_as_an_acknowledgement",)),
    Case("a partition of events counts as down when it is back, or its lane is lost",
         ("lossy_events_delay_no_record", "a_lane_that_was_lost_counts_as_blocked_no_more"),
         ("lossy_events_find_no_partition_that_is_back", "lost_lane_counts_as_blocked")),
    Case("an event says that a cancelled request was certainly not delivered, and it was, or the opposite",
         ("a_cancelled_retry_that_may_have_come_is_not_certain", "a_cancelled_retry_is_certain_exactly_once",
          "a_cancel_that_a_restore_finds_is_certain"),
         ("due_time_of_a_retry_is_certain", "restore_notes_no_instant_of_a_cancel")),
    Case("a retry has no event, or another request has the event of one",
         ("retries_of_a_record_wait_longer_each_time_and_end",),
         ("retry_is_accepted_without_an_event", "each_request_is_accepted_as_a_retry")),
    Case("an event wrongly reports that a cancel voided no request, or this event is missing",
         ("a_cancel_that_voids_nothing_has_an_event", "a_cancel_that_an_earlier_owner_applied_is_not_unmatched",
          "an_unmatched_cancel_waits_for_the_partition_of_its_event",
          "a_cancel_that_is_deleted_before_its_entry_is_unmatched"),
         ("matched_cancel_is_reported", "cancel_of_an_earlier_owner_is_reported", "cancel_dies_before_its_report")),
    Case("the cancel of a timer voids the retry of a record with the same key", ("the_cancel_of_a_key_voids_no_retry",),
         ("retry_is_named_by_its_key", "retry_is_not_known_from_its_origin")),
    Case("a retry has the wait of another one, or begins it in the past",
         ("retries_of_a_record_wait_longer_each_time_and_end", "a_retry_with_an_old_timestamp_waits_from_its_reading"),
         ("retry_waits_from_its_timestamp", "wait_of_a_retry_is_the_one_before")),
    Case("a target gets records although it is paused, or before its pause is known",
         ("records_of_a_paused_target_wait_until_it_is_resumed", "lanes_open_when_the_pauses_were_read"),
         ("paused_target_gets_records", "changed_entry_is_not_noticed", "lanes_open_before_the_pauses_are_read")),
    Case("a pause costs writes or attempts, or outlives its end or the expiry of a record",
         ("an_hour_of_a_pause_has_few_writes", "a_pause_ends_at_its_time", "a_paused_record_uses_up_no_attempt",
          "a_paused_record_expires_at_its_time"),
         ("pause_uses_up_an_attempt", "pause_holds_beyond_the_expiry", "wait_of_a_pause_does_not_grow", "pause_does_not_end",
          "removed_entry_stays")),
    Case("a target gets more than its limit: of several workers, after a restart, after idle time, after a clock step",
         ("lanes_share_a_limit", "slots_are_given_again_after_a_restart", "records_of_a_limited_target_come_at_its_rate",
          "a_step_of_the_clock_adds_nothing_to_a_limit"),
         ("limit_of_all_lanes_for_each_worker", "slot_needs_no_token", "bucket_starts_full", "bucket_holds_a_minute",
          "record_gets_two_slots", "bucket_is_filled_by_the_wall_clock", "lanes_of_another_worker_keep_buckets")),
    Case("a withheld record counts as one whose target fails", ("a_withheld_record_is_not_redelivering",),
         ("withheld_record_is_redelivering",)),
    Case("a limit by mistake, or a long pause, has an effect after its end",
         ("a_removed_limit_frees_records_at_their_next_hop", "a_raised_limit_gives_earlier_slots_at_the_next_hop",
          "a_record_of_a_long_pause_comes_at_its_next_hop"),
         ("removed_limit_keeps_its_slots", "raised_limit_keeps_old_slots", "record_that_is_not_due_is_released")),
    Case("slots without a record keep a target idle",
         ("cancelled_records_give_their_slots_back", "a_limit_that_is_set_again_forgets_its_slots",
          "an_abort_voids_the_slots_of_a_limit", "a_step_of_the_clock_voids_the_slots_of_a_limit"),
         ("cancelled_record_keeps_its_slot", "limit_that_is_set_again_keeps_its_slots", "try_without_memory_takes_a_slot",
          "abort_empties_buckets", "abort_keeps_slots", "step_of_the_clock_keeps_slots")),
    Case("limited targets take the buckets of others",
         ("a_limited_target_keeps_its_bucket_until_it_is_idle", "a_limited_target_without_a_topic_takes_no_bucket"),
         ("bucket_is_replaced_before_it_is_idle", "bucket_is_never_idle", "target_without_a_topic_takes_a_bucket")),
    Case("the rate of an entry of `targets` is ignored, or an operator cannot change it", ("an_entry_of_targets_may_have_a_rate",),
         ("rate_of_an_entry_is_ignored", "rate_of_an_entry_beats_an_operator", "reload_keeps_the_rate_of_an_entry")),
    Case("the topic of control stops all deliveries", ("lanes_open_after_half_a_minute_without_the_pauses",),
         ("lanes_wait_for_the_pauses_without_end",)),
    Case("a cancel is written while lanes wait for the pauses",
         ("a_cancel_wins_that_is_written_while_lanes_wait_for_the_pauses",), ("lane_opens_without_the_last_cancels",)),
    Case("retries do not end", ("retries_of_a_record_wait_longer_each_time_and_end", "retries_end_at_their_deadline"),
         ("retry_is_not_counted", "retries_have_one_more", "deadline_of_retries_is_ignored")),
    Case("a retry loses its count, its first time or its origin",
         ("a_retry_keeps_its_count_and_origin_through_failures", "a_retry_without_its_count_is_the_first_one"),
         ("retry_forgets_its_origin", "retry_forgets_its_first_time", "failed_delivery_forgets_the_retry")),
    Case("the chosen time of a spread lies outside of it, or changes",
         ("a_spread_is_kept_when_its_owner_is_killed", "a_replace_may_have_a_spread", "a_spread_in_the_past_is_delivered_at_once"),
         ("spread_ignores_the_expiry", "spread_begins_early", "spread_is_chosen_again_at_each_reading")),
    Case("kept records stop the intake of their lane, or of another one",
         ("a_rate_that_will_fill_the_window_is_foreseen", "a_burst_spills_the_oldest_records",
          "a_large_request_does_not_wait_for_kept_records", "memory_of_kept_records_is_given_to_other_lanes",
          "a_range_that_is_skipped_waits_for_no_kept_record", "a_lane_full_of_dead_letters_spills_no_other"),
         ("kept_for_fill_not_for_rate", "kept_records_are_not_spilled_by_age", "kept_records_are_not_spilled_for_room",
          "kept_records_of_other_lanes_are_not_spilled", "rest_shrinks_with_no_room", "rate_of_a_lost_lane_counts",
          "bytes_of_a_kept_record_are_not_given_back", "range_waits_for_kept_records", "dead_letters_spill_other_lanes",
          "span_of_a_lane_that_is_read_again_counts")),
    Case("a record is kept that must be in a level", ("a_record_whose_delivery_failed_is_not_kept",
                                                      "an_event_that_is_owed_is_not_delayed", "a_spilled_record_is_not_kept_again",
                                                      "a_due_time_that_only_this_reading_knows_is_stored"),
         ("record_that_was_put_back_is_kept", "kept_record_owes_its_event", "canary_is_kept", "spilled_record_is_kept_again",
          "record_too_large_for_its_level_is_kept", "due_time_of_a_reading_is_kept", "record_that_is_tried_alone_is_kept")),
    Case("a kept record holds the fetch that brought it", ("the_last_rest_of_a_level_is_kept_without_its_fetch",),
         ("kept_record_pins_its_fetch",)),
    Case("a kept record is late because its target is looked up when it is due",
         ("the_target_of_a_kept_record_is_looked_up_before_its_time",), ("target_of_a_kept_record_is_not_looked_up_early",)),
)

TRANSACTIONS = (
    Case("a transaction has no progress: the topic of its records is missing", ("record_of_a_level_that_is_deleted_is_committed",),
         ("transaction_without_progress_is_not_announced",)),
    Case("a transaction is committed before its offsets are accepted, or purged while they are being sent",
         ("commit_of_a_dead_process_is_awaited",), ("commit_before_the_offsets_are_accepted", "purge_does_not_wait_for_offsets")),
    Case("offsets or a commit arrive late and replace newer offsets of another client",
         ("a_commit_that_was_lost_loses_nothing", "a_commit_that_arrives_after_the_fence_does_nothing",
          "an_aborted_request_of_a_replace_is_sent_once", "an_entry_of_unknown_outcome_doubles_no_replace"),
         ("client_passes_while_its_offsets_may_arrive", "commit_without_progress_fences_older_offsets",
          "offsets_that_may_arrive_are_forgotten", "offsets_that_may_arrive_after_a_commit_are_forgotten",
          "failed_commit_may_not_arrive")),
    Case("a request arrives late and joins the next transaction of its client", (),
         ("client_is_used_again_whose_request_may_arrive",)),
    Case("a client is used again after its transaction failed", ("an_abort_reads_again_from_the_committed_offsets",),
         ("failed_client_is_used_again",)),
    Case("offsets are read while those of a failed transaction are pending",
         ("another_transaction_begins_before_the_broken_one_is_fenced", "a_commit_that_arrives_after_the_fence_does_nothing"),
         ("next_transaction_before_the_old_client_is_destroyed", "lanes_are_gained_while_a_transaction_is_broken",
          "lanes_are_gained_before_the_clients_start", "reread_too_soon", "not_fenced")),
    Case("the next transaction commits what a failed one has marked early", ("long_outage_within_a_transaction_closes_no_target",),
         ("transaction_continues_before_its_lanes_are_lost",)),
    Case("a record that the client gave up counts as the cause of a failure", (), ("purged_consequence_is_the_cause",)),
    Case("brokers cannot complete a transaction, because a partition has no leader",
         ("doubted_leaders_are_looked_up_before_the_next_record", "a_level_that_loses_its_leader_breaks_one_transaction",
          "target_that_blocks_one_producer_is_not_tried_on_the_last",
          "lone_record_to_a_target_without_a_leader_blocks_one_producer"),
         ("refused_transaction_is_never_given_up", "client_that_was_left_is_not_used_again",
          "other_clients_stay_after_one_is_left", "held_client_is_not_replaced", "spare_counts_while_a_client_is_held")),
    Case("a quota counts as a transaction that brokers cannot complete", ("a_transaction_that_waits_for_its_first_record_is_not_refused",),
         ("time_before_the_first_record_is_a_refusal", "transaction_with_an_answered_record_is_refused")),
    Case("a client does not start, or further clients start while Kafka is away", (),
         ("client_that_did_not_start_is_not_tried_again", "client_is_added_while_kafka_is_away")),
    Case("a record is refused, and records without a key succeed in the transaction that it breaks",
         ("keyed_record_that_is_refused_among_keyless_ones_is_tried_alone",), ("keyless_success_ends_a_suspicion",)),
    Case("a short stall makes a target slow", ("short_stall_of_a_target_makes_it_not_slow",),
         ("one_look_makes_a_target_slow", "records_from_before_a_look_count")),
    Case("a target is slow although no other one is fast", ("target_is_not_slow_without_a_fast_one",),
         ("target_is_slow_without_a_fast_one",)),
    Case("a target that is fast again stays slow", ("target_that_is_fast_again_is_slow_no_more",),
         ("slow_target_is_never_fast_again",)),
)

LOGS = (
    Case("a level or the schedule topic is created again while its partition is paused",
         ("another_record_at_a_paused_head_blocks_the_queue", "another_record_at_a_paused_head_blocks_the_queue_exactly_once",
          "no_record_at_a_paused_head_blocks_the_queue", "a_log_end_at_a_paused_head_blocks_the_queue",
          "a_hop_stored_before_the_position_blocks_the_queue"),
         ("another_record_at_a_paused_head_goes_unnoticed", "shorter_log_goes_unnoticed",
          "hop_stored_before_the_position_goes_unnoticed")),
    Case("a topic is created again while its lane belongs to another process, or while no process runs",
         ("committed_offset_that_went_back_belongs_to_another_log",
          "record_in_flight_from_before_another_owner_belongs_to_another_log",
          "report_from_before_another_owner_marks_nothing_in_another_log"),
         ("record_in_flight_of_another_log_is_adopted", "offset_that_went_back_belongs_to_the_same_log",
          "lane_of_another_owner_keeps_its_log")),
    Case("a level topic is missing", ("a_missing_topic_blocks_its_level_alone", "a_missing_topic_blocks_its_level_alone_exactly_once"),
         ("offset_of_a_deleted_level_is_committed",)),
    Case("a topic of the bridge is created again with fewer partitions", (),
         ("refused_outlet_is_not_looked_up", "outlet_of_a_lost_lane_is_down")),
    Case("the client skips records",
         ("a_gap_is_read_again_if_the_second_reading_is_larger", "a_gap_is_read_again_if_the_second_reading_is_smaller",
          "a_gap_is_read_again_after_two_equal_readings"), ("gap_is_believed_at_its_first_reading",)),
    Case("a level is trimmed too far, or its trim fails", ("trim_never_beyond_commit", "a_trim_that_failed_is_requested_again"),
         ("log_is_trimmed_before_its_commit", "trim_that_failed_is_forgotten")),
    Case("a level is trimmed while its log may be another one", (), ("log_in_doubt_is_trimmed",)),
    Case("brokers throttle the bridge, or are away: no target is the cause",
         ("throttling_for_seconds_uses_up_no_attempt", "throttled_target_is_not_silent", "kafka_away_uses_up_no_attempts",
          "an_outage_closes_no_target_in_any_order_of_answers"),
         ("throttling_is_a_timeout", "throttled_target_is_silent", "outage_is_a_timeout_of_targets")),
    Case("brokers are away while a transaction is half acknowledged: no target is the cause",
         ("short_outage_within_a_transaction_closes_no_target", "long_outage_within_a_transaction_closes_no_target"),
         ("silence_in_an_outage_is_a_fault", "timeout_in_an_outage_is_a_fault", "first_answer_after_an_outage_proves_a_fault")),
    Case("the time for which a target delays a record counts as lateness of the bridge",
         ("delay_by_a_target_is_counted_separately",), ("lateness_includes_the_delay_by_a_target",)),
)
TABLES = (CASES, TRANSACTIONS, LOGS)


def compile_command(build: Path, source: str) -> list[str]:
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]) == ROOT / source:
            return shlex.split(entry["command"])
    raise SystemExit(f"mutants: {build} does not compile {source}")


def sources_of(file: str) -> list[str]:
    """A header is compiled with each file that reads it."""
    if file.endswith(".c"):
        return [file]
    wanted = {file}
    files = [p for folder in ("levels", "bridge/core") for p in (ROOT / folder).glob("*.[ch]")]
    while True:
        more = {str(p.relative_to(ROOT)) for p in files
                if any(f'"{header}"' in p.read_text() for header in wanted)} | wanted
        if more == wanted:
            return sorted(f for f in wanted if f.endswith(".c"))
        wanted = more


def link(build: Path, program: Path, objects: list[str], tests: str, *libraries: str) -> Path:
    folder = build / "tests/CMakeFiles"
    tests_objects = [str(p) for p in sorted(folder.glob(tests))  # a build keeps objects of deleted files
                     if (ROOT / "tests" / Path(*p.relative_to(folder).parts[1:])).with_suffix("").exists()]
    subprocess.run(["gcc", "-o", str(program), *tests_objects, *objects, str(build / "libcore.a"),
                    str(build / "liblevels.a"), "-lxxhash", "-lm", *libraries], check=True)
    return program


def plant(build: Path, mutant: Mutant, work: Path) -> Path:
    text = (ROOT / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"mutants: {mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
    copy = work / mutant.file
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(mutant.old, mutant.new))
    objects = []
    for source in sources_of(mutant.file):
        out = work / (re.sub(r"\W", "_", source) + ".o")
        command = compile_command(build, source)
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(copy if source == mutant.file else ROOT / source)
        at = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command = [word for word in command if word not in ("-Werror", "-MD", "-MT", "-MF")]
        command = [word for i, word in enumerate(command) if not word.endswith((".o.d",)) and
                   not (word.endswith(".o") and command[i - 1] != "-o")]
        command.insert(at, f"-I{work}")
        subprocess.run(command + ["-w"], check=True, cwd=build)
        objects.append(str(out))
    if mutant.suite:
        return link(build, work / "unit_tests", objects, "unit_tests.dir/**/*.o", "-lcriterion", "-Wl,--wrap=calloc")
    return link(build, work / "sim", objects, "sim.dir/sim/*.o")


def run(program: Path, *args: str) -> str:
    try:
        return subprocess.run([str(program), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300).stdout
    except subprocess.TimeoutExpired:
        return ""


def find(build: Path, mutant: Mutant) -> str:
    """How the simulator finds it; empty if it does not."""
    with tempfile.TemporaryDirectory() as work:
        program = plant(build, mutant, Path(work))
        if mutant.suite:
            failed = re.search(r"\[FAIL\] (\S+):", run(program, f"--filter={mutant.suite}/*"))
            return f"unit {failed[1]}" if failed else ""
        found = re.search(r"^(\S+)\s+FAILED: ", run(program, "--scenarios", "--stop"), re.M)
        if found:
            return f"story {found[1]}"
        found = re.search(r"^seed (\d+) FAILED: (.*)", run(program, "--seeds", str(SEEDS), "--stop"), re.M)
        return f"seed {found[1]}: {found[2]}" if found else ""


def bugs() -> set[str]:
    return set(re.findall(r'^    X\(\w+, "(\w+)"', (ROOT / "tests/sim/bugs.h").read_text(), re.M))


def table(cases: tuple[Case, ...], counts: dict[str, str]) -> str:
    lines = ["| case | stories | planted mistakes |", "|---|---|---|"]
    for case in cases:
        mistakes = [f"`{name}`" + (f" ({counts[name]})" if counts else "") for name in case.mistakes]
        lines.append(f"| {case.what} | {', '.join(f'`{name}`' for name in case.stories)} | {', '.join(mistakes)} |")
    return "\n".join(lines)


def check_cases() -> None:
    """Each case names stories and mistakes that exist, and README.md has the tables."""
    stories = set(re.findall(r"^    X\((\w+)\)", (ROOT / "tests/sim/scenarios.h").read_text(), re.M))
    mistakes = {m.name for m in MUTANTS} | bugs()
    cases = [case for cases in TABLES for case in cases]
    unknown = [name for case in cases for name in case.stories if name not in stories]
    unknown += [name for case in cases for name in case.mistakes if name not in mistakes]
    unknown += [m.name for m in MUTANTS if not any(m.name in case.mistakes for case in cases)]
    if unknown:
        raise SystemExit(f"mutants: unknown in the table of cases: {' '.join(unknown)}")
    readme = (ROOT / "tests/sim/README.md").read_text()
    if sys.argv[1] != "--cases" and not all(table(part, {}) in readme for part in TABLES):
        raise SystemExit("mutants: tests/sim/README.md lacks a table of 'mutants.py --cases'")


def count(build: Path, name: str) -> str:
    """How many stories find a mistake, and the first seed that does."""
    mutant = next((m for m in MUTANTS if m.name == name), None)
    with tempfile.TemporaryDirectory() as work:
        if mutant is not None and mutant.suite:
            return f"assert: {find(build, mutant)}"
        program = build / "sim" if mutant is None else plant(build, mutant, Path(work))
        bug = ["--bug", name] if mutant is None else []
        n = len(re.findall(r"^\S+\s+FAILED: ", run(program, *bug, "--scenarios"), re.M))
        found = re.search(r"^seed (\d+) FAILED: ", run(program, *bug, "--seeds", str(COUNT_SEEDS), "--stop"), re.M)
        return f"stories: {n}, first seed: {found[1] if found else f'none of {COUNT_SEEDS}'}"


def print_cases(build: Path | None) -> int:
    counts: dict[str, str] = {}
    if build is not None:
        names = sorted({name for cases in TABLES for case in cases for name in case.mistakes})
        with ThreadPoolExecutor(2) as pool:
            counts = dict(zip(names, pool.map(lambda name: count(build, name), names)))
    print("\n\n".join(table(cases, counts) for cases in TABLES))
    return 0


def main() -> int:
    check_cases()
    if sys.argv[1] == "--cases":
        return print_cases(Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None)
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [m for m in MUTANTS if not names or m.name in names]
    with ThreadPoolExecutor(2) as pool:
        results = list(zip(chosen, pool.map(lambda m: find(build, m), chosen)))
    for mutant, how in results:
        print(f"{mutant.name:52} {how[:90] or 'NOT FOUND'}")
    missed = sum(not how for _, how in results)
    print(f"mutants: {len(results) - missed} found, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
