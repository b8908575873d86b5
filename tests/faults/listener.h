/* SPDX-License-Identifier: Apache-2.0 */
/* listener: the answers of a monitor in this process, queried over a plain socket like any client.
   The linker redirects our objects' calls of http_start to this file (--wrap), which learns the
   port. Its functions allocate no memory. Any thread may call them. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_LISTENER_H
#define DELAYBRIDGE_TESTS_FAULTS_LISTENER_H

enum { ANSWER_MAX = 1 << 18 };

struct answer {
    int status;       /* 0: there was none, or it is not whole */
    const char *body; /* in text; empty without a status */
    char text[ANSWER_MAX];
};

/* Queries the last listener that was started: "GET /metrics". */
void listener_ask(const char *what, struct answer *answer);

/* Calls the listener of this port from now on. */
void listener_at(int port);

/* Sends a whole request. */
void listener_send(const char *request, struct answer *answer);

#endif
