/* SPDX-License-Identifier: Apache-2.0 */
/* top_chart: pictures of characters. Pure, except for chart_letters_of_locale. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_CHART_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_CHART_H

#include <stdint.h>
#include <stdio.h>

enum chart_letters { CHART_ASCII, CHART_BLOCKS };

/* Returns CHART_BLOCKS if the locale of the environment has UTF-8. */
enum chart_letters chart_letters_of_locale(void);

/* Returns one character for n out of most, by the logarithm. So one is seen next to a million. */
const char *chart_shade(double n, double most, enum chart_letters letters);

/* Returns a round number that is at least n: the top of a scale. */
int64_t chart_top(int64_t n);

/* Prints bars of one character each in rows of this height, with the top of the scale at the
   left. */
void chart_bars(const int64_t *values, int n, int height, enum chart_letters letters, FILE *out);

#endif
