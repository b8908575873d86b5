/* SPDX-License-Identifier: Apache-2.0 */
/* The pipe; reads and writes of it never block. */
#include "consumer/wakeup.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, NUMBERS_MAX = 4096 };

int wakeup_init(struct wakeup *wakeup)
{
    int fds[2];
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0)
        return ERR_NO_MEMORY;
    /* If the kernel refuses, the default size of 16,384 numbers remains, which usually suffices. */
    fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
    *wakeup = (struct wakeup){fds[0], fds[1]};
    return 0;
}

void wakeup_deinit(struct wakeup *wakeup)
{
    close(wakeup->read_fd);
    close(wakeup->write_fd);
}

void wakeup_attach(struct wakeup *wakeup, rd_kafka_queue_t *queue, int32_t number)
{
    rd_kafka_queue_io_event_enable(queue, wakeup->write_fd, &number, sizeof number);
}

void wakeup_signal(struct wakeup *wakeup, int32_t number)
{
    /* A full pipe has woken the reader already, so the loss of this number is harmless. */
    ssize_t ignored = write(wakeup->write_fd, &number, sizeof number);
    (void)ignored;
}

static struct timespec timespec_of_us(int64_t us)
{
    return (struct timespec){us / 1000000, us % 1000000 * 1000};
}

void wakeup_wait(struct wakeup *wakeup, int64_t rest_us, int64_t wait_us,
                 void (*each)(void *ctx, int32_t number), void *ctx)
{
    struct pollfd fd = {.fd = wakeup->read_fd, .events = POLLIN};
    const int64_t rests_us = rest_us < wait_us ? rest_us : wait_us;
    const struct timespec rest = timespec_of_us(rests_us);
    const struct timespec limit = timespec_of_us(wait_us - rests_us);
    if (rests_us > 0)
        nanosleep(&rest, NULL);
    if (ppoll(&fd, 1, &limit, NULL) <= 0)
        return;
    int32_t numbers[NUMBERS_MAX];
    ssize_t got = read(wakeup->read_fd, numbers, sizeof numbers);
    for (ssize_t i = 0; i < got / (ssize_t)sizeof *numbers; i++)
        each(ctx, numbers[i]);
}
