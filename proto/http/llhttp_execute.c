// SPDX-License-Identifier: Apache-2.0
// llhttp's parser is compiled twice: for every x86-64 processor, and for those with SSE 4.2, which
// examine 16 bytes of a header's value at once. These functions choose. Both variants have the same
// states, and parse pieces of less than 16 bytes by the same code.
#include <llhttp.h>

int plain_llhttp__internal_init(llhttp__internal_t* parser);
int plain_llhttp__internal_execute(llhttp__internal_t* parser, const char* from, const char* end);
int sse42_llhttp__internal_execute(llhttp__internal_t* parser, const char* from, const char* end);

int llhttp__internal_init(llhttp__internal_t* parser) {
  return plain_llhttp__internal_init(parser);
}

int llhttp__internal_execute(llhttp__internal_t* parser, const char* from, const char* end) {
  return __builtin_cpu_supports("sse4.2") ? sse42_llhttp__internal_execute(parser, from, end)
                                          : plain_llhttp__internal_execute(parser, from, end);
}
