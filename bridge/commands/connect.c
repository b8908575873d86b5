/* SPDX-License-Identifier: Apache-2.0 */
/* Handles for commands, with errors as exit codes. */
#include "bridge/commands/connect.h"

#include "bridge/commands/result.h"
#include "consumer/admin/offsets.h"
#include "consumer/client/client.h"

int connect_kafka(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                  rd_kafka_t **rk)
{
    struct error error = {""};
    if (conf == NULL)
        conf = client_conf(cli->config, CLIENT_ALL, &error);
    *rk = conf == NULL ? NULL : client_new(type, conf, &error);
    if (*rk == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    int err = client_reach(*rk, cli->timeout_ms, &error);
    if (err == 0)
        return EXIT_DONE;
    rd_kafka_destroy(*rk);
    *rk = NULL;
    return complain(cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error.text);
}

int connect_to_look(const struct cli *cli, rd_kafka_t **rk)
{
    struct error error;
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_ALL, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    offsets_conf(cli->config, conf);
    return connect_kafka(cli, RD_KAFKA_CONSUMER, conf, rk);
}
