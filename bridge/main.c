/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge: the program. */
#include "bridge/commands/cli.h"

/* Options of jemalloc, which reads this symbol. By default jemalloc returns freed pages only while
   a thread allocates from their arena. A thread that is quiet after much work keeps them, and the
   process needs up to twice `memory`. One thread in the background returns them. */
extern const char *malloc_conf;
__attribute__((used, visibility("default"))) const char *malloc_conf =
    "background_thread:true,max_background_threads:1,dirty_decay_ms:500,muzzy_decay_ms:0";

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
