/* SPDX-License-Identifier: Apache-2.0 */
/* names: a word for each enum value in the arguments and answers of the port's calls. Digests
   contain these words. They never change, even if the bridge renames, reorders or renumbers a
   value. */
#ifndef DELAYBRIDGE_TESTS_SIM_NAMES_H
#define DELAYBRIDGE_TESTS_SIM_NAMES_H

#include "bridge/core/bridge.h"

const char *names_kind(enum forward_kind kind);
const char *names_truncation(enum dead_letter_content content);
const char *names_lookup(enum lookup lookup);
const char *names_notice(enum notice_kind kind);
const char *names_code(enum code code);
/* Returns "other" for a number of a newer program. */
const char *names_error(enum delivery_error error);
const char *names_deferral(enum deferral deferral);

#endif
