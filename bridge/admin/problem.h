/* SPDX-License-Identifier: Apache-2.0 */
/* problem: errors of the admin API as problem details (RFC 9457). The members are type
   ("about:blank"), title, status, detail (a sentence) and code, a word for programs. key is the key
   of the configuration that is at fault, if there is one. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_PROBLEM_H
#define DELAYBRIDGE_BRIDGE_ADMIN_PROBLEM_H

#include "bridge/admin/message.h"

struct problem {
    int status;
    const char *code; /* "forbidden" */
    const char *key;  /* NULL: none */
};

/* Answers with a problem. */
__attribute__((format(printf, 3, 4))) void
problem_answer(struct admin_answer *answer, struct problem problem, const char *format, ...);

/* Returns the object of a problem. Bytes of detail that are not UTF-8 become '?'. */
json_t *problem_json(struct problem problem, const char *detail);

#endif
