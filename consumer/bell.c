/* SPDX-License-Identifier: Apache-2.0 */
/* The pipe, its two ends non-blocking. */
#include "consumer/bell.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, NUMBERS_MAX = 4096 };

int bell_init(struct bell *bell)
{
    int fds[2];
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0)
        return ERR_NO_MEMORY;
    fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* the default serves 16,384 queues; more if allowed */
    *bell = (struct bell){fds[0], fds[1]};
    return 0;
}

void bell_deinit(struct bell *bell)
{
    close(bell->read_fd);
    close(bell->write_fd);
}

void bell_attach(struct bell *bell, rd_kafka_queue_t *queue, int32_t number)
{
    rd_kafka_queue_io_event_enable(queue, bell->write_fd, &number, sizeof number);
}

void bell_ring(struct bell *bell, int32_t number)
{
    /* A full pipe wakes the reader as well. */
    ssize_t ignored = write(bell->write_fd, &number, sizeof number);
    (void)ignored;
}

void bell_wait(struct bell *bell, int64_t wait_us, void (*each)(void *ctx, int32_t number),
               void *ctx)
{
    struct pollfd fd = {.fd = bell->read_fd, .events = POLLIN};
    const struct timespec limit = {wait_us / 1000000, wait_us % 1000000 * 1000};
    if (ppoll(&fd, 1, &limit, NULL) <= 0)
        return;
    int32_t numbers[NUMBERS_MAX];
    ssize_t got = read(bell->read_fd, numbers, sizeof numbers);
    for (ssize_t i = 0; i < got / (ssize_t)sizeof *numbers; i++)
        each(ctx, numbers[i]);
}
