// SPDX-License-Identifier: Apache-2.0
// CHECK: assertions that are active in every build.
//
// CHECK(cond) and CHECK(cond, "{} of {}", ...) print the condition, the source location and the
// message to stderr and abort; the next startup recovers from the log. VERIFY is for walks over a
// whole structure: it is compiled only with sanitizers.
#pragma once

#include <string_view>
#include <type_traits>

#include "core/base/format.h"

namespace pawl {

[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* condition,
                                          std::string_view message);

namespace detail {
[[noreturn, gnu::cold]] inline void check_fail(const char* file, int line, const char* condition) {
  check_failed(file, line, condition, {});
}
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void check_fail(
    const char* file, int line, const char* condition,
    FormatText<std::type_identity_t<Args>...> format, const Args&... args) {
  check_failed(file, line, condition, format_text(format, args...));
}
}  // namespace detail

}  // namespace pawl

#define CHECK(condition, ...)                                                                \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::pawl::detail::check_fail(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#ifdef PAWL_SANITIZED
#define VERIFY(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define VERIFY(condition, ...) \
  do {                         \
  } while (false)
#endif
