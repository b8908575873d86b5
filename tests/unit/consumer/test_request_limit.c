/* SPDX-License-Identifier: Apache-2.0 */
/* request_limit: the largest record by the largest request. */
#include "consumer/admin/request_limit.h"

#include <criterion/criterion.h>

Test(request_limit, record_is_smaller_than_its_request)
{
    cr_expect_eq(record_max_of_request(REQUEST_LIMIT_DEFAULT), 104857600 - 4096);
    cr_expect_eq(record_max_of_request(1048576), 1048576 - 4096);
}

Test(request_limit, record_is_within_the_range_of_the_clients_property)
{
    static const int64_t SMALL[] = {INT64_MIN, -1, 0, 1, 1000, 4096, 5095};
    for (size_t i = 0; i < sizeof SMALL / sizeof *SMALL; i++)
        cr_expect_eq(record_max_of_request(SMALL[i]), 1000, "%lld", (long long)SMALL[i]);
    cr_expect_eq(record_max_of_request(5097), 1001);
    cr_expect_eq(record_max_of_request(2147483647), 1000000000);
    cr_expect_eq(record_max_of_request(INT64_MAX), 1000000000);
}
