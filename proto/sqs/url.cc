// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "proto/sqs/state.h"

namespace pawl {

// Only the last two segments count; scheme, host and prefix are ignored.
QueuePath queue_path(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    const std::size_t path = text.find('/', scheme + 3);
    text = path == std::string_view::npos ? std::string_view() : text.substr(path);
  }
  QueuePath found;
  for (std::string_view* segment : {&found.name, &found.account}) {
    while (text.ends_with('/')) text.remove_suffix(1);
    const std::size_t slash = text.rfind('/');
    *segment = text.substr(slash == std::string_view::npos ? 0 : slash + 1);
    text.remove_suffix(segment->size());
  }
  return found;
}

void append_base_url(std::string& out, const SqsState& state) {
  std::string_view base = state.config->base_url;
  while (base.ends_with('/')) base.remove_suffix(1);
  if (base.empty()) {
    out += state.scheme;
    out += "://";
    out += state.host.empty() ? std::string_view("localhost") : state.host;
  } else {
    out += base;
  }
}

void append_queue_url(std::string& out, const SqsState& state, std::string_view account,
                      std::string_view name) {
  append_base_url(out, state);
  out += '/';
  out += account;
  out += '/';
  out += name;
}

}  // namespace pawl
