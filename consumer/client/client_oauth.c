/* SPDX-License-Identifier: Apache-2.0 */
/* Logins by OAUTHBEARER: whether the client can get tokens. Without a source of tokens, the client
   waits indefinitely and logs nothing that names the cause. */
#include "bridge/config/property.h"
#include "consumer/client/client.h"

#include <string.h>

/* Older versions end the process when they renew an unsecured token. */
enum { RENEWS_UNSECURED = 0x020200ff };

static bool is_set(const rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[64] = "";
    size_t size = sizeof text;
    return rd_kafka_conf_get(conf, name, text, &size) == RD_KAFKA_CONF_OK &&
           strcmp(text, value) == 0;
}

static bool uses_oauth(const rd_kafka_conf_t *conf)
{
    return is_set(conf, "sasl.mechanisms", "OAUTHBEARER") &&
           (is_set(conf, "security.protocol", "sasl_ssl") ||
            is_set(conf, "security.protocol", "sasl_plaintext"));
}

int client_oauth_check(const rd_kafka_conf_t *conf, struct error *error)
{
    char refusal[PROPERTY_ERROR_MAX];
    if (!uses_oauth(conf) || is_set(conf, "sasl.oauthbearer.method", "oidc"))
        return 0;
    bool unsecured = is_set(conf, "enable.sasl.oauthbearer.unsecure.jwt", "true");
    if (unsecured && rd_kafka_version() >= RENEWS_UNSECURED)
        return 0;
    if (unsecured)
        return error_set(error, ERR_CONFIG,
                         "enable.sasl.oauthbearer.unsecure.jwt needs librdkafka 2.2.0 or newer. "
                         "This is %s, which ends the process when it renews a token",
                         rd_kafka_version_str());
    if (property_check("sasl.oauthbearer.method", "oidc", refusal) != 0)
        return error_set(
            error, ERR_CONFIG,
            "sasl.mechanisms is OAUTHBEARER, but this librdkafka (%s) is built without OIDC and "
            "cannot fetch tokens: use a librdkafka built with libcurl, or another login",
            rd_kafka_version_str());
    return error_set(error, ERR_CONFIG,
                     "sasl.mechanisms is OAUTHBEARER, but nothing says where tokens come from: set "
                     "sasl.oauthbearer.method: oidc, sasl.oauthbearer.token.endpoint.url, "
                     "sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret");
}
