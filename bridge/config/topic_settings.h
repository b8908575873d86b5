/* SPDX-License-Identifier: Apache-2.0 */
/* topic_settings: the settings of level topics that the guarantees rest on. The key topic_settings
   cannot replace them, and a level topic with another value refuses the start. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_TOPIC_SETTINGS_H
#define DELAYBRIDGE_BRIDGE_CONFIG_TOPIC_SETTINGS_H

/* X(name, value, what happens with any other value) */
#define TOPIC_SETTINGS_FIXED(X)                                            \
    X("retention.ms", "-1", "records that still wait would be deleted")    \
    X("retention.bytes", "-1", "records that still wait would be deleted") \
    X("cleanup.policy", "delete",                                          \
      "compaction would delete records with the same key that still wait") \
    X("message.timestamp.type", "CreateTime",                              \
      "a record's stop is computed from the timestamp that the bridge gave it")

/* Why topic_settings cannot replace this property of topics. NULL: it can. */
const char *topic_setting_fixed(const char *name);

#endif
