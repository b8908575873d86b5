/* SPDX-License-Identifier: Apache-2.0 */
/* topic_settings: properties of level topics that the delivery guarantees require. The key
   topic_settings cannot replace them, and the service does not start if a level topic has another
   value. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_TOPIC_SETTINGS_H
#define DELAYBRIDGE_BRIDGE_CONFIG_TOPIC_SETTINGS_H

/* X(name, value, the consequence of any other value) */
#define TOPIC_SETTINGS_FIXED(X)                                            \
    X("retention.ms", "-1", "records that still wait would be deleted")    \
    X("retention.bytes", "-1", "records that still wait would be deleted") \
    X("cleanup.policy", "delete",                                          \
      "compaction would delete records with the same key that still wait") \
    X("message.timestamp.type", "CreateTime",                              \
      "the bridge computes from its own timestamp when a record leaves the level")

/* Returns why topic_settings cannot replace this topic property, or NULL if it can. */
const char *topic_setting_fixed(const char *name);

#endif
