/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scrape: `top` can read any response, and the same response gives the same samples. */
#include "bridge/commands/scrape.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void take(struct scrape *scrape, const char *answer)
{
    if (scrape_take(scrape, answer) != 0) {
        assert(scrape->n == 0);
        return;
    }
    size_t n = scrape->n;
    assert(scrape_take(scrape, answer) == 0 && scrape->n == n);
    for (size_t i = 0; i < n; i++) {
        const char *name = scrape->samples[i].name;
        assert(strcspn(name, " \n") == strlen(name));
        assert(scrape_find(scrape, name) == &scrape->samples[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scrape scrape = {0};
    char *answer = malloc(size + 1);
    assert(answer);
    if (size > 0)
        memcpy(answer, data, size);
    answer[size] = '\0';
    take(&scrape, answer);
    scrape_deinit(&scrape);
    free(answer);
    return 0;
}
