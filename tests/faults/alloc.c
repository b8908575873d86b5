/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers. The linker sends our objects' calls of malloc here, and __real_malloc to the C
   library, or to the sanitizer. */
#include "tests/faults/alloc.h"

#include "bridge/base/clock.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
int __real_vasprintf(char **text, const char *format, va_list args);
FILE *__real_open_memstream(char **text, size_t *size);
struct MHD_Response *__real_MHD_create_response_from_buffer(size_t size, void *text,
                                                            enum MHD_ResponseMemoryMode mode);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_vasprintf(char **text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
FILE *__wrap_open_memstream(char **text, size_t *size);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *text,
                                                            enum MHD_ResponseMemoryMode mode);
struct MHD_Daemon *__wrap_MHD_start_daemon(unsigned flags, uint16_t port,
                                           MHD_AcceptPolicyCallback accept, void *accept_ctx,
                                           MHD_AccessHandlerCallback answer, void *ctx, ...);

static _Atomic uint64_t asked, failed, first_n, end_n;
static _Atomic int64_t lasts_ms, until_ms; /* of a shortage */
static _Atomic(const void *) where;

void alloc_fail(uint64_t first, uint64_t n)
{
    atomic_store(&asked, 0);
    atomic_store(&failed, 0);
    atomic_store(&where, NULL);
    atomic_store(&lasts_ms, 0);
    atomic_store(&until_ms, 0);
    atomic_store(&first_n, first);
    atomic_store(&end_n, first + n);
}

void alloc_fail_for(uint64_t first, int64_t ms)
{
    alloc_fail(first, UINT64_MAX / 2);
    atomic_store(&lasts_ms, ms);
}

static bool is_over(void)
{
    int64_t none = 0, now_ms = atomic_load(&lasts_ms) == 0 ? 0 : clock_mono_ms();
    if (now_ms == 0)
        return false;
    atomic_compare_exchange_strong(&until_ms, &none, now_ms + atomic_load(&lasts_ms));
    return now_ms >= atomic_load(&until_ms);
}

uint64_t alloc_asked(void)
{
    return atomic_load(&asked);
}

uint64_t alloc_failed(void)
{
    return atomic_load(&failed);
}

const void *alloc_where(void)
{
    return atomic_load(&where);
}

static bool fails(const void *caller)
{
    uint64_t n = atomic_fetch_add(&asked, 1) + 1;
    const void *none = NULL;
    if (n < atomic_load(&first_n) || n >= atomic_load(&end_n) || is_over())
        return false;
    atomic_fetch_add(&failed, 1);
    atomic_compare_exchange_strong(&where, &none, caller);
    return true;
}

#define CALLER __builtin_return_address(0)

void *__wrap_malloc(size_t size)
{
    return fails(CALLER) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(CALLER) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails(CALLER) ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails(CALLER) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails(CALLER) ? NULL : __real_strndup(text, n);
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
    return fails(CALLER) ? -1 : __real_vasprintf(text, format, args);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return fails(CALLER) ? NULL : __real_open_memstream(text, size);
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *text,
                                                            enum MHD_ResponseMemoryMode mode)
{
    return fails(CALLER) ? NULL : __real_MHD_create_response_from_buffer(size, text, mode);
}

struct MHD_Daemon *__wrap_MHD_start_daemon(unsigned flags, uint16_t port,
                                           MHD_AcceptPolicyCallback accept, void *accept_ctx,
                                           MHD_AccessHandlerCallback answer, void *ctx, ...)
{
    if (fails(CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    va_list options;
    va_start(options, ctx);
    struct MHD_Daemon *daemon =
        MHD_start_daemon_va(flags, port, accept, accept_ctx, answer, ctx, options);
    va_end(options);
    return daemon;
}
