/* SPDX-License-Identifier: Apache-2.0 */
/* property: one librdkafka property that the operator sets under the key kafka. The only part of
   the configuration that uses librdkafka (property.c, property_names.c). */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_PROPERTY_H
#define DELAYBRIDGE_BRIDGE_CONFIG_PROPERTY_H

#include "levels/err.h"

#include <stdbool.h>

enum { PROPERTY_ERROR_MAX = 512 };

/* Returns whether the delivery guarantees require our value, so that the operator may not set the
   property. Sets *ours to the key to set instead, or to NULL. */
bool property_is_ours(const char *name, const char **ours);

/* Returns 0 if librdkafka accepts the value, and ERR_CONFIG if it refuses the value. Returns
   ERR_RANGE if it does not know the property, or the bridge does not support it. error then names
   the property to set instead, if one is known. */
int property_check(const char *name, const char *value, char error[PROPERTY_ERROR_MAX]) must_check;

/* Returns whether name is a property of the Java client that librdkafka does not have. why then
   names the property to set instead, and never contains the value. */
bool property_is_java(const char *name, char why[PROPERTY_ERROR_MAX]);

/* Writes that librdkafka has no such property, and the name that is most similar to it. */
void property_describe_unknown(const char *name, char why[PROPERTY_ERROR_MAX]);

#endif
