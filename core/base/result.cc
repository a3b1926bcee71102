// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include "core/base/enum_name.h"

namespace pawl {

static_assert(enum_name<static_cast<Errc>(errc_count)>().empty());

std::string_view name_of(Errc code) {
  static constexpr auto names = enum_names<Errc, errc_count>();
  const auto index = static_cast<std::size_t>(code);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace pawl
