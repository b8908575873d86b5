/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge: the program. */
#include "bridge/commands/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
