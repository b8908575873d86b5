/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler includes the files. CMake passes their paths. The names are global, since an
   optimizing linker may move the code away from its assembler text. */
#include "bridge/admin/embedded.h"

#define GLOBAL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
#define EMBED(name, path)                                                                  \
    __asm__(".pushsection .rodata\n" GLOBAL(name##_begin) ".incbin \"" path "\"\n" GLOBAL( \
        name##_end) ".popsection\n");                                                      \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(embedded_openapi, OPENAPI_PATH);

struct bytes embedded_openapi(void)
{
    return bytes_of(embedded_openapi_begin,
                    (size_t)(embedded_openapi_end - embedded_openapi_begin));
}
