/* SPDX-License-Identifier: Apache-2.0 */
/* All entries that were configured since the start. The index of an entry is its number. */
#include "bridge/service/labels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t turn;
    char *texts[LABEL_KINDS][TARGET_LABELS]; /* owned, and kept */
} known = {.turn = PTHREAD_MUTEX_INITIALIZER};

/* Returns the number of an entry. If memory is lacking for a new entry, it shares LABEL_OTHER. */
static int number_of(enum label label, const char *entry)
{
    char **texts = known.texts[label];
    for (int i = LABEL_NONE + 1; i < LABEL_OTHER; i++) {
        if (texts[i] == NULL)
            texts[i] = strdup(entry);
        if (texts[i] == NULL)
            return LABEL_OTHER;
        if (strcmp(texts[i], entry) == 0)
            return i;
    }
    return LABEL_OTHER;
}

void labels_number(enum label label, const char *const *entries, size_t n,
                   uint8_t numbers[TARGET_LABELS])
{
    pthread_mutex_lock(&known.turn);
    for (size_t i = 0; i < TARGET_LABELS; i++)
        numbers[i] = (uint8_t)(i < n ? number_of(label, entries[i]) : LABEL_OTHER);
    pthread_mutex_unlock(&known.turn);
}

void labels_number_policies(const struct retry_policy *policies, size_t n,
                            uint8_t numbers[TARGET_LABELS])
{
    const char *names[TARGET_LABELS];
    n = n < TARGET_LABELS ? n : TARGET_LABELS;
    for (size_t i = 0; i < n; i++)
        names[i] = policies[i].name;
    labels_number(LABEL_POLICIES, names, n, numbers);
}

const char *labels_text(enum label label, int number)
{
    if (number == LABEL_NONE)
        return "(none)";
    if (number == LABEL_OTHER)
        return "(other)";
    pthread_mutex_lock(&known.turn);
    const char *text = known.texts[label][number];
    pthread_mutex_unlock(&known.turn);
    return text;
}
