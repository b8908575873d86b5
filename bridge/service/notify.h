/* SPDX-License-Identifier: Apache-2.0 */
/* notify: what a service manager is told (sd_notify(3), Type=notify), and its watchdog. Without one
   ($NOTIFY_SOCKET is not set) nothing happens. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_NOTIFY_H
#define DELAYBRIDGE_BRIDGE_SERVICE_NOTIFY_H

#include <stdint.h>

/* "READY=1", "STATUS=…", "WATCHDOG=1" and so on; several with newlines between. */
__attribute__((format(printf, 1, 2))) void notify(const char *format, ...);

/* How often the watchdog must hear of us, ms: half of what it allows; INT64_MAX: it does not watch.
 */
int64_t notify_watchdog_ms(void);

#endif
