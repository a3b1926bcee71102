// SPDX-License-Identifier: Apache-2.0
#include "proto/http/page_marks.h"

#include "proto/text/text.h"

namespace pawl {
namespace {

// "host:port" of an absolute URL; the whole text if it is none.
std::string_view authority_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

}  // namespace

std::string_view page_mark(const HttpRequest& request) {
  if (!request.cors_origin.empty()) return {};
  if (request.header(HeaderName::origin) != nullptr) return "Origin";
  if (const auto* site = request.header(HeaderName::sec_fetch_site)) {
    const bool is_ours =
        equals_ignoring_case(*site, "none") || equals_ignoring_case(*site, "same-origin");
    return is_ours ? std::string_view() : "Sec-Fetch-Site";
  }
  const auto* host = request.header(HeaderName::host);
  const auto* page = request.header(HeaderName::referer);
  if (page != nullptr && (host == nullptr || !equals_ignoring_case(authority_of(*page), *host)))
    return "Referer";
  const auto* agent = request.header(HeaderName::user_agent);
  return agent != nullptr && agent->contains("Mozilla/") ? "User-Agent" : std::string_view();
}

}  // namespace pawl
