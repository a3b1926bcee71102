// SPDX-License-Identifier: Apache-2.0
#include "proto/http/refusals.h"

#include <fmt/core.h>

namespace pawl {

std::string long_target_text(std::size_t bytes_max) {
  return fmt::format(
      "The target of the request is longer than {} bytes. Send the parameters in the body of a "
      "POST.",
      bytes_max);
}

std::string long_head_text(std::size_t bytes_max, std::size_t headers_max) {
  return fmt::format(
      "The head of the request is longer than {} bytes, or has more than {} headers. Send fewer or "
      "shorter headers.",
      bytes_max, headers_max);
}

std::string long_body_text(std::uint64_t bytes, std::uint64_t bytes_max) {
  return fmt::format(
      "A body of {} bytes is longer than any request of this action, which has {} bytes at most. "
      "Send less at once.",
      bytes, bytes_max);
}

std::string long_chunk_text(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t bytes_max) {
  return fmt::format(
      "A chunk of {} bytes after {} bytes makes the body longer than any request of this action, "
      "which has {} bytes at most. Send less at once.",
      chunk, bytes, bytes_max);
}

std::string content_encoding_text(std::string_view value) {
  constexpr std::size_t shown_max = 40;
  return fmt::format(
      "Content-Encoding {} is not accepted: only identity is. Send the body as it is; AWS's SDKs "
      "do so with AWS_DISABLE_REQUEST_COMPRESSION=true.",
      value.substr(0, shown_max));
}

}  // namespace pawl
