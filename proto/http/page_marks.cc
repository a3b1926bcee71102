// SPDX-License-Identifier: Apache-2.0
#include "proto/http/page_marks.h"

#include <algorithm>

#include "proto/text/text.h"

namespace pawl {
namespace {

// "host:port" of an absolute URL; the whole text if it is none.
std::string_view authority_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

bool has_browser_agent(const HttpRequest& request) {
  const auto* agent = request.header(HeaderName::user_agent);
  return agent != nullptr && agent->contains("Mozilla/");
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
  return has_browser_agent(request) ? "User-Agent" : std::string_view();
}

bool is_of_browser(const HttpRequest& request) {
  constexpr std::string_view fetch = "Sec-Fetch-";
  return request.header(HeaderName::origin) != nullptr || has_browser_agent(request) ||
         std::ranges::any_of(request.headers, [&](const HttpHeader& header) {
           return equals_ignoring_case(header.name.substr(0, fetch.size()), fetch);
         });
}

}  // namespace pawl
