/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_control: any bytes are safe as a record of the topic of control. The first line is the key,
   the rest the value. An accepted entry is the same after it is written and read again. */
#include "consumer/control_record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void write_again(const struct control_record *record)
{
    struct control_record back;
    struct error why;
    char *text = control_record_write(record);
    if (text == NULL) /* a name of an operator that was cut inside a character */
        return;
    struct bytes pattern = bytes_text(record->control.pattern);
    int err = control_record_read(pattern, bytes_text(text), &back, &why);
    assert(err == 0 && back.control.op == record->control.op);
    assert(back.control.at_wall_ms == record->control.at_wall_ms);
    assert(back.control.until_wall_ms == record->control.until_wall_ms);
    assert(back.control.rate.records == record->control.rate.records);
    assert(strcmp(back.by, record->by) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control_record record;
    struct error why = {""};
    const uint8_t *line = size == 0 ? NULL : memchr(data, '\n', size);
    size_t key_len = line == NULL ? size : (size_t)(line - data);
    struct bytes value = line == NULL ? bytes_null() : bytes_of(line + 1, size - key_len - 1);
    struct bytes key = bytes_of(data, key_len);
    (void)control_key_is_of_process(key);
    int err = control_record_read(key, value, &record, &why);
    assert(err == 0 || (err == ERR_FOREIGN && why.text[0] != '\0'));
    if (err == 0 && !record.is_removed)
        write_again(&record);
    return 0;
}
