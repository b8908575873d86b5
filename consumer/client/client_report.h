/* SPDX-License-Identifier: Apache-2.0 */
/* client_report: the delivery reports of an idempotent or transactional client.

   The client also reports success for a record that no broker stored. A broker refuses the request
   of the record for now, and then accepts a later request of the same partition that was in flight.
   The client infers from the later response that both are stored (librdkafka 2.0.2 to 2.16).
   A broker should refuse the later request, since its sequence number leaves a gap. But it accepts
   any number from a producer of which the partition holds no records: after a start, or after
   producer.id.expiration.ms. An inferred success has no offset.
   With one request in flight, no later request exists yet, and this does not happen. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_REPORT_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_REPORT_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* The error of a record that may be stored or not. Send it again. */
#define CLIENT_REPORT_UNKNOWN RD_KAFKA_RESP_ERR__INCONSISTENT

/* Returns the error of a delivery report: 0 if a broker acknowledged the record itself, and
   CLIENT_REPORT_UNKNOWN if the client only inferred it. Every delivery report callback calls this
   and does not read report->err. */
rd_kafka_resp_err_t client_report_err(const rd_kafka_message_t *report);

/* Returns whether the record of a report with an error is stored or not: a broker may have it. */
bool client_report_is_unknown(const rd_kafka_message_t *report);

/* Returns a phrase for people that describes the error of a record. */
const char *client_report_why(rd_kafka_resp_err_t err);

#endif
