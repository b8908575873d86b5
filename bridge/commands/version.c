/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge version. */
#include "bridge/base/version.h"

#include "bridge/commands/result.h"

#include <librdkafka/rdkafka.h>

int cmd_version(struct cli *cli)
{
    if (cli->json)
        print_json(json_pack("{s:s, s:s, s:s}", "version", version_number, "commit", version_commit,
                             "librdkafka", rd_kafka_version_str()));
    else
        printf("delaybridge %s (%s), librdkafka %s\n", version_number, version_commit,
               rd_kafka_version_str());
    return EXIT_DONE;
}
