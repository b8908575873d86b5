/* SPDX-License-Identifier: Apache-2.0 */
/* listener: what a monitor in this process answers, asked over a plain socket as anybody would. The
   linker sends our objects' calls of http_start here first (--wrap), which tells the port. Asks for
   no memory. Any thread may ask. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_LISTENER_H
#define DELAYBRIDGE_TESTS_FAULTS_LISTENER_H

enum { ANSWER_MAX = 1 << 18 };

struct answer {
    int status;       /* 0: there was none, or it is not whole */
    const char *body; /* in text; empty without a status */
    char text[ANSWER_MAX];
};

/* Ask the last listener that was started: "GET /metrics". */
void listener_ask(const char *what, struct answer *answer);

#endif
