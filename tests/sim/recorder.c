/* SPDX-License-Identifier: Apache-2.0 */
/* The port that records each call as a line and passes it on. If a call has an answer, its line
   ends with the answer. The inner port calls the bridge only during calls without an answer, so
   lines never nest. */
#include "tests/sim/digest.h"
#include "tests/sim/fields.h"
#include "tests/sim/names.h"

enum { PORT_CALLS = 26 };
_Static_assert(sizeof(struct port) == (1 + PORT_CALLS) * sizeof(void *),
               "the recorder has a function for each call");

struct recorder {
    struct process *process;
    struct port real;
};

static struct digest *digest_of(const struct recorder *r)
{
    return r->process->world->digest;
}

static struct line *begin(const struct recorder *r, const char *call)
{
    const struct process *p = r->process;
    struct line *line = &digest_of(r)->line;
    digest_of(r)->calls++;
    line_digits(line, p->world->now_ms);
    line_text(line, " p");
    line_digits(line, p->id);
    line_text(line, "#");
    line_digits(line, p->life);
    line_text(line, " ");
    line_text(line, call);
    return line;
}

static void end(const struct recorder *r)
{
    digest_add_line(digest_of(r));
}

static struct record *record_take(void *ctx, struct queue_id queue)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "take");
    field_queue(line, r->process, queue);
    struct record *record = r->real.take(r->real.ctx, queue);
    if (record != NULL)
        line_number(line, "offset", record->offset);
    else
        line_text(line, " none");
    end(r);
    return record;
}

static void record_release(void *ctx, struct record *record)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "release"), "offset", record->offset);
    end(r);
    r->real.release(r->real.ctx, record);
}

static struct record *record_make(void *ctx, struct bytes key, size_t value_size)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "make");
    field_hash(line, "key", key);
    struct record *record = r->real.make(r->real.ctx, key, value_size);
    line_text(line, record == NULL ? " no_memory" : " made");
    end(r);
    return record;
}

static struct record *record_keep(void *ctx, struct record *record)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "keep");
    line_number(line, "offset", record->offset);
    struct record *kept = r->real.keep(r->real.ctx, record);
    line_text(line, kept == NULL ? " no_memory" : " kept");
    end(r);
    return kept;
}

static int record_forward(void *ctx, const struct forward *forward)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "forward");
    field_forward(line, r->process, forward);
    int err = r->real.forward(r->real.ctx, forward);
    line_text(line, err == 0 ? " sent" : " full");
    end(r);
    return err;
}

/* Records the call before it passes it on, because the bridge acts on each report within it. */
static void record_reports(void *ctx)
{
    const struct recorder *r = ctx;
    begin(r, "reports");
    end(r);
    r->real.reports(r->real.ctx);
}

static void record_pause(void *ctx, struct queue_id queue)
{
    const struct recorder *r = ctx;
    field_queue(begin(r, "pause"), r->process, queue);
    end(r);
    r->real.pause(r->real.ctx, queue);
}

static void record_seek(void *ctx, struct queue_id queue, int64_t offset)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "seek");
    field_queue(line, r->process, queue);
    line_number(line, "offset", offset);
    end(r);
    r->real.seek(r->real.ctx, queue, offset);
}

/* Writes a line for the call, and one for each queue. */
static void put_progress(const struct recorder *r, const struct progress *progress, size_t n)
{
    struct line *line = &digest_of(r)->line;
    line_number(line, "queues", (int64_t)n);
    end(r);
    for (size_t i = 0; i < n; i++) {
        field_queue(line, r->process, progress[i].queue);
        line_number(line, "base", progress[i].base);
        line_key(line, "bitmap");
        line_bytes(line, progress[i].text, progress[i].text_len);
        end(r);
    }
}

static void record_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    const struct recorder *r = ctx;
    begin(r, "commit");
    put_progress(r, progress, n);
    r->real.commit(r->real.ctx, seq, progress, n);
}

static int record_begin(void *ctx, int client)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "begin"), "client", client);
    end(r);
    return r->real.begin(r->real.ctx, client);
}

static int record_send_offsets(void *ctx, int client, const struct progress *progress, size_t n)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "send_offsets"), "client", client);
    put_progress(r, progress, n);
    return r->real.send_offsets(r->real.ctx, client, progress, n);
}

static void record_commit_transaction(void *ctx, int client)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "commit_transaction"), "client", client);
    end(r);
    r->real.commit_transaction(r->real.ctx, client);
}

static void record_purge(void *ctx, int client)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "purge"), "client", client);
    end(r);
    r->real.purge(r->real.ctx, client);
}

static void record_renew(void *ctx, int client, bool was_left)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "renew");
    line_number(line, "client", client);
    line_number(line, "was_left", was_left);
    end(r);
    r->real.renew(r->real.ctx, client, was_left);
}

static void record_trim(void *ctx, struct queue_id queue, int64_t base)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "trim");
    field_queue(line, r->process, queue);
    line_number(line, "base", base);
    end(r);
    r->real.trim(r->real.ctx, queue, base);
}

static void record_query_ends(void *ctx, int lane)
{
    const struct recorder *r = ctx;
    line_number(begin(r, "query_ends"), "lane", lane);
    end(r);
    r->real.query_ends(r->real.ctx, lane);
}

static void record_load(void *ctx, const struct load *load)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, load->log == LOAD_CANCELS ? "load_cancels" : "load_requests");
    line_number(line, "lane", load->lane);
    line_number(line, "from", load->from);
    line_number(line, "end", load->end);
    end(r);
    r->real.load(r->real.ctx, load);
}

static void record_trim_cancels(void *ctx, int lane, int64_t below)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "trim_cancels");
    line_number(line, "lane", lane);
    line_number(line, "below", below);
    end(r);
    r->real.trim_cancels(r->real.ctx, lane, below);
}

static enum lookup record_lookup(void *ctx, struct target_id *target)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "lookup");
    line_word(line, "target", target->name);
    enum lookup found = r->real.lookup(r->real.ctx, target);
    line_word(line, "found", names_lookup(found));
    end(r);
    return found;
}

static enum lookup record_lookup_outlet(void *ctx, struct queue_id outlet)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "lookup_outlet");
    field_queue(line, r->process, outlet);
    enum lookup found = r->real.lookup_outlet(r->real.ctx, outlet);
    line_word(line, "found", names_lookup(found));
    end(r);
    return found;
}

static int64_t record_end(void *ctx, struct queue_id queue)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "end");
    field_queue(line, r->process, queue);
    int64_t offset = r->real.end(r->real.ctx, queue);
    line_number(line, "offset", offset);
    end(r);
    return offset;
}

static int64_t record_drained(void *ctx, struct queue_id queue)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "drained");
    field_queue(line, r->process, queue);
    int64_t offset = r->real.drained(r->real.ctx, queue);
    line_number(line, "offset", offset);
    end(r);
    return offset;
}

static int64_t record_unread(void *ctx, struct queue_id queue)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "unread");
    field_queue(line, r->process, queue);
    int64_t bytes = r->real.unread(r->real.ctx, queue);
    line_number(line, "bytes", bytes);
    end(r);
    return bytes;
}

static void record_forget(void *ctx, struct target_id *target)
{
    const struct recorder *r = ctx;
    line_word(begin(r, "forget"), "target", target->name);
    end(r);
    r->real.forget(r->real.ctx, target);
}

static void record_notice(void *ctx, const struct notice *notice)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "event");
    line_word(line, "kind", names_notice(notice->kind));
    field_queue(line, r->process, notice->queue);
    line_number(line, "offset", notice->offset);
    line_number(line, "end", notice->end_offset);
    line_number(line, "count", notice->count);
    line_number(line, "span", notice->span_ms);
    line_key(line, "to");
    field_topic(line, r->process, notice->to_slot);
    field_hash(line, "key", notice->key);
    field_name(line, "target", notice->target);
    line_word(line, "code", names_code(notice->code));
    line_word(line, "error", names_error(notice->error));
    line_number(line, "attempt", notice->attempt);
    line_number(line, "next_try", notice->next_try_wall_ms);
    end(r);
    r->real.notice(r->real.ctx, notice);
}

static int64_t record_wall_ms(void *ctx)
{
    const struct recorder *r = ctx;
    struct line *line = begin(r, "wall_ms");
    int64_t wall_ms = r->real.wall_ms(r->real.ctx);
    line_number(line, "is", wall_ms);
    end(r);
    return wall_ms;
}

struct port recorder_port(struct process *p, struct port port)
{
    if (p->world->digest == NULL)
        return port;
    struct recorder *r = arena_take(&p->world->arena, sizeof *r);
    *r = (struct recorder){.process = p, .real = port};
    return (struct port){.ctx = r,
                         .take = record_take,
                         .release = record_release,
                         .make = record_make,
                         .keep = record_keep,
                         .forward = record_forward,
                         .reports = record_reports,
                         .pause = record_pause,
                         .seek = record_seek,
                         .commit = record_commit,
                         .begin = record_begin,
                         .send_offsets = record_send_offsets,
                         .commit_transaction = record_commit_transaction,
                         .purge = record_purge,
                         .renew = record_renew,
                         .trim = record_trim,
                         .query_ends = record_query_ends,
                         .load = record_load,
                         .trim_cancels = record_trim_cancels,
                         .lookup = record_lookup,
                         .lookup_outlet = record_lookup_outlet,
                         .end = record_end,
                         .drained = record_drained,
                         .unread = record_unread,
                         .forget = record_forget,
                         .notice = record_notice,
                         .wall_ms = record_wall_ms};
}
