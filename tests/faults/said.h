/* SPDX-License-Identifier: Apache-2.0 */
/* said: log messages that some case of a part must make happen. What the documents quote, and no
   scenario of tests/e2e brings about each time, is here. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_SAID_H
#define DELAYBRIDGE_TESTS_FAULTS_SAID_H

/* Notes which messages of the part are in output. */
void said_note(const char *part, const char *output);

/* Prints the messages of the part that no case has said; returns how many there are. */
int said_unsaid(const char *part);

#endif
