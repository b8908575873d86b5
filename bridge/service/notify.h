/* SPDX-License-Identifier: Apache-2.0 */
/* notify: messages to a service manager (sd_notify(3), Type=notify), and its watchdog. Without a
   manager ($NOTIFY_SOCKET is not set) these functions do nothing. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_NOTIFY_H
#define DELAYBRIDGE_BRIDGE_SERVICE_NOTIFY_H

#include <stdint.h>

/* Sends "READY=1", "STATUS=…", "WATCHDOG=1"; several with newlines between them. */
__attribute__((format(printf, 1, 2))) void notify(const char *format, ...);

/* Returns the interval of WATCHDOG=1: half of the watchdog's timeout. INT64_MAX: no watchdog. */
int64_t notify_watchdog_ms(void);

#endif
