// SPDX-License-Identifier: Apache-2.0
// The functions of libcurl that an https stream uses, loaded when they are needed.
//
// pawl is not linked with libcurl: who never names an https endpoint needs none. The declarations
// are here, so that its headers are not needed either. The library stays loaded: it registers
// functions for the end of the process.
//
// Errors: a sentence with the reason of the system and the remedy.
// Owner:  a value; the functions live as long as the process.
// Source: curl/curl.h and curl/easy.h of libcurl 7.88; its ABI 4 is stable since 2006, and these
//         numbers have not changed since each was added (the last one, ACTIVESOCKET, in 7.45).
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>

namespace pawl::sqs_client {

// CURLoption: 10000 and more take a pointer, the others a long.
enum class CurlOption : int {
  ssl_version = 32,
  http_version = 84,
  connect_only = 141,
  connect_timeout_ms = 156,
  url = 10002,
  error_buffer = 10010,
  ca_file = 10065,
};

// CURLcode.
enum class CurlCode : int {
  ok = 0,
  out_of_memory = 27,
  ssl_connect_error = 35,
  peer_failed_verification = 60,
  bad_ca_file = 77,
  again = 81,
};

inline constexpr int curl_info_active_socket = 0x500000 + 44;  // CURLINFO_ACTIVESOCKET
inline constexpr long curl_http_1_1 = 2;                       // CURL_HTTP_VERSION_1_1
inline constexpr long curl_tls_1_2 = 6;                        // CURL_SSLVERSION_TLSv1_2
inline constexpr std::size_t curl_error_bytes = 256;           // CURL_ERROR_SIZE

struct CurlLibrary {
  // The first library of these names that can be loaded and has all functions.
  static std::expected<CurlLibrary, std::string> load(std::span<const std::string> names);

  void* (*easy_init)() = nullptr;
  CurlCode (*easy_setopt)(void* curl, CurlOption option, ...) = nullptr;
  CurlCode (*easy_perform)(void* curl) = nullptr;
  CurlCode (*easy_getinfo)(void* curl, int info, ...) = nullptr;
  CurlCode (*easy_send)(void* curl, const void* bytes, std::size_t size,
                        std::size_t* sent) = nullptr;
  CurlCode (*easy_recv)(void* curl, void* into, std::size_t size, std::size_t* got) = nullptr;
  const char* (*easy_strerror)(CurlCode code) = nullptr;
  void (*easy_cleanup)(void* curl) = nullptr;
};

}  // namespace pawl::sqs_client
