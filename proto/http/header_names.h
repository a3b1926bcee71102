// SPDX-License-Identifier: Apache-2.0
// The headers of a request that pawl reads, and their places in the request.
//
// A request's headers are classified once, and then found by an index instead of comparisons. A
// header without a HeaderName is found by a search (SigV4 may sign any header).
//
// Errors: none. Owner: HeaderIndex is part of an HttpRequest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

enum class HeaderName : std::uint8_t {
  other,  // any header that is not listed here
  accept,
  accept_encoding,
  authorization,
  content_encoding,
  content_type,
  expect,
  host,
  origin,
  referer,
  sec_fetch_site,
  transfer_encoding,
  user_agent,
  x_amz_content_sha256,
  x_amz_date,
  x_amz_security_token,
  x_amz_target,
  x_amzn_query_mode,
  x_amzn_trace_id,
  x_forwarded_host,
  x_forwarded_proto,
};
inline constexpr std::size_t header_names = 21;

// Ignores the case of letters.
HeaderName header_name(std::string_view text);

// The first place of each name among a request's headers, and the names that occur twice.
class HeaderIndex {
 public:
  static constexpr std::size_t none = 0xff;

  HeaderIndex() { places_.fill(none); }
  void add(HeaderName name, std::size_t place);  // places in rising order, each below `none`

  std::size_t first(HeaderName name) const { return places_[static_cast<std::size_t>(name)]; }
  bool repeated(HeaderName name) const {
    return (repeated_ >> static_cast<unsigned>(name) & 1) != 0;
  }

 private:
  std::array<std::uint8_t, header_names> places_;
  std::uint32_t repeated_ = 0;  // a bit for each name
};

}  // namespace pawl
