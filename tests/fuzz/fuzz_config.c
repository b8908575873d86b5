/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config: any bytes as a configuration file. It is accepted or refused with a sentence, never
   a crash and never a leak. An accepted configuration fulfills config.h. */
#include "bridge/config/config.h"
#include "levels/allowlist.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct config *config)
{
    struct ladder_fault fault;
    assert(config->schedule != NULL && config->group != NULL);
    assert(topic_name_is_legal(bytes_text(config->schedule)));
    assert(ladder_check(&config->ladder, &fault) == 0);
    assert(config->retired_n >= 0 && config->retired_n <= LADDER_MAX);
    assert(config->workers >= 1 && config->partitions >= 1 && config->replication >= 1);
    assert(config->max_attempts >= 1 && config->memory_bytes > 0);
    struct allowlist allowlist = {(const char *const *)config->targets, config->targets_n,
                                  config->schedule};
    assert(config->default_target == NULL ||
           allowlist_allows(&allowlist, bytes_text(config->default_target)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char file[] =
        "file"; /* replaced, since {file: PATH} would let the fuzzer read any file */
    if (memmem(data, size, file, sizeof file - 1) != NULL)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    char path[64];
    struct error error;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct config config;
    int argc = 0;
    int err = config_load(&config, path, &argc, NULL, NULL, &error);
    if (err == 0)
        check_taken(&config);
    else
        assert(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
    if (err == 0)
        config_deinit(&config);
    close(fd);
    return 0;
}
