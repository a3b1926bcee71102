// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/curl_library.h"

#include <dlfcn.h>

#include <optional>

#include "core/base/check.h"

namespace pawl::sqs_client {
namespace {

template <typename Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<CurlLibrary> functions_of(void* library) {
  CurlLibrary curl;
  const bool complete = find_function(library, "curl_easy_init", curl.easy_init) &&
                        find_function(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find_function(library, "curl_easy_perform", curl.easy_perform) &&
                        find_function(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        find_function(library, "curl_easy_send", curl.easy_send) &&
                        find_function(library, "curl_easy_recv", curl.easy_recv) &&
                        find_function(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find_function(library, "curl_easy_cleanup", curl.easy_cleanup);
  return complete ? std::optional(curl) : std::nullopt;
}

}  // namespace

std::expected<CurlLibrary, std::string> CurlLibrary::load(std::span<const std::string> names) {
  CHECK(!names.empty(), "no name of libcurl");
  std::string reason;
  for (const std::string& name : names) {
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      if (const std::optional<CurlLibrary> curl = functions_of(library)) return *curl;
    }
    const char* const error = ::dlerror();
    reason.append(reason.empty() ? "" : "; ").append(error == nullptr ? name : error);
  }
  return std::unexpected("https needs libcurl, and it cannot be loaded (" + reason +
                         "). Install it, on Debian by `apt-get install libcurl4`, or use an http "
                         "endpoint.");
}

}  // namespace pawl::sqs_client
