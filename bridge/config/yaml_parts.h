/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_parts: the private header of the files that read delaybridge.yaml. All functions that read a
   value begin at its first event and end at its last. They return 0, or ERR_CONFIG with a sentence
   that names file and line. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_YAML_PARTS_H
#define DELAYBRIDGE_BRIDGE_CONFIG_YAML_PARTS_H

#include "bridge/config/loader.h"

#include <yaml.h>

struct reader {
    struct loader *loader;
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event; its texts are valid until the next one */
};

/* The keys read so far of one map. Owned: call seen_deinit. */
struct seen {
    char **names;
    int *lines;
    size_t n;
};

/* yaml_reader.c */

__attribute__((format(printf, 3, 4))) int reader_refuse(struct reader *r, int line,
                                                        const char *format, ...);
int reader_next(struct reader *r);
/* Returns the line of the current event. */
int reader_line(const struct reader *r);
/* Returns a copy of the scalar in the current event, or NULL for an empty one. The caller frees it.
 */
char *reader_scalar(const struct reader *r);
/* Reads the key in the current event. Returns its name, which seen owns, or NULL on error. */
const char *reader_key(struct reader *r, struct seen *seen);
void seen_deinit(struct seen *seen);
/* Reads the scalars of a sequence. The current event is its start. Appends to *items. */
int reader_list(struct reader *r, const char *name, char ***items, size_t *n);

/* yaml_maps.c: the keys with maps */

int yaml_properties(struct reader *r, enum client_role role);
int yaml_topics(struct reader *r);
int yaml_retry(struct reader *r);
/* Reads a key that is only given as {file: PATH}. An error does not quote the value, which may be
   the secret itself. */
int yaml_file(struct reader *r, const struct config_key *key);

/* yaml_targets.c: a list of names and of maps */

int yaml_targets(struct reader *r, const struct config_key *key);

#endif
