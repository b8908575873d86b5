/* SPDX-License-Identifier: Apache-2.0 */
/* process: figures of the system about this process. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_PROCESS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_PROCESS_H

#include <stdbool.h>

enum process_figure {
    PROCESS_CPU_S,     /* used, user and system */
    PROCESS_RSS_BYTES, /* resident */
    PROCESS_START_S,   /* Unix time of its start */
    PROCESS_FDS,       /* open file descriptors */
    PROCESS_FDS_MAX    /* limit of open file descriptors */
};

/* Sets *value. Returns false if the system does not have the figure (no /proc). */
bool process_figure(enum process_figure figure, double *value);

#endif
