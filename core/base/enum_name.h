// SPDX-License-Identifier: Apache-2.0
// The name of an enumerator in the source, found by the compiler: no table to maintain.
//
// Owner: values; names are constants of the program.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace pawl {

// Empty for a value that is none of the enumerators.
template <auto value>
consteval std::string_view enum_name() {
  // "... [with auto value = pawl::Errc::io; ...]", or "(pawl::Errc)99" if no enumerator has the
  // value.
  std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "value = ";
  text.remove_prefix(text.find(before) + before.size());
  text = text.substr(0, text.find_first_of(";]"));
  if (text.find('(') != text.npos) return {};
  return text.substr(text.rfind(':') + 1);
}

// The names of the values from 0 on.
template <typename Enum, std::size_t count>
consteval std::array<std::string_view, count> enum_names() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<std::string_view, count>{enum_name<static_cast<Enum>(i)>()...};
  }(std::make_index_sequence<count>());
}

}  // namespace pawl
