/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_names: a queue of names within a limit of bytes. */
#include "levels/cancel_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct cancel_names names;

static bool put(int64_t offset, const char *name)
{
    return cancel_names_put(&names, &(struct named_cancel){offset, CANCEL_BY_ID, bytes_text(name)});
}

static int64_t first_offset(void)
{
    struct named_cancel cancel;
    return cancel_names_first(&names, &cancel) ? cancel.offset : -1;
}

Test(cancel_names, names_leave_in_the_order_of_their_offsets)
{
    struct named_cancel cancel;
    cancel_names_init(&names, 1 << 20);
    cr_expect(!cancel_names_first(&names, &cancel));
    cr_assert(put(4, "order-4") && put(9, "order-9"));
    cr_assert(cancel_names_first(&names, &cancel));
    cr_expect(cancel.offset == 4 && cancel.kind == CANCEL_BY_ID);
    cr_expect(bytes_equal(cancel.name, bytes_text("order-4")));
    cancel_names_drop(&names);
    cr_expect_eq(first_offset(), 9);
    cancel_names_drop(&names);
    cr_expect_eq(first_offset(), -1);
    cancel_names_deinit(&names);
}

/* A cancel that is read again has an event already. */
Test(cancel_names, an_offset_enters_once)
{
    cancel_names_init(&names, 1 << 20);
    cr_expect(put(4, "a") && !put(4, "a") && !put(3, "b") && put(5, "a"));
    cancel_names_forget(&names);
    cr_expect(!put(5, "a") && put(6, "a"));
    cancel_names_deinit(&names);
}

Test(cancel_names, an_empty_queue_holds_no_memory)
{
    cancel_names_init(&names, 1 << 20);
    cr_expect(put(1, "a"));
    cancel_names_drop(&names);
    cr_expect_null(names.bytes);
    cancel_names_deinit(&names);
}

/* Names enter and leave at random. A plain list of offsets is the model. */
Test(cancel_names, the_block_stays_below_its_limit)
{
    enum { LIMIT = 3000, STEPS = 200000 };
    char name[CANCEL_NAME_MAX + 1];
    int64_t next = 0, oldest = 0;
    size_t refused = 0, bytes = 0;
    cancel_names_init(&names, LIMIT);
    srand(1);
    for (int i = 0; i < STEPS; i++) {
        if (rand() % 100 < 52) {
            int len = snprintf(name, sizeof name, "%0*d", 1 + (int)next % 60, (int)(next % 10));
            bool took = put(next, name);
            cr_assert(took || bytes + (size_t)len + 10 > LIMIT / 2, "%zu bytes", bytes);
            refused += !took;
            bytes += took ? (size_t)len + 10 : 0;
            next += took;
        } else if (oldest < next) {
            struct named_cancel cancel;
            cr_assert(cancel_names_first(&names, &cancel) && cancel.offset == oldest);
            cr_assert_eq(cancel.name.len, 1 + (size_t)oldest % 60);
            bytes -= cancel.name.len + 10;
            oldest++;
            cancel_names_drop(&names);
        }
        cr_assert_leq(names.size, (size_t)LIMIT);
    }
    cr_expect_gt(refused, 0u);
    cancel_names_deinit(&names);
}
