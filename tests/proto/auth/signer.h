// SPDX-License-Identifier: Apache-2.0
// Requests signed for the tests: a plain second writing of the signature, on OpenSSL's own HMAC.
//
// It signs what it is given as it is: paths and queries are to be in their canonical form already.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/format.h"
#include "core/base/time.h"
#include "proto/http/parser.h"

namespace pawl::test {

struct SignedRequest {
  std::string method = "POST", path = "/", query;
  std::vector<std::pair<std::string, std::string>> headers = {
      {"host", "127.0.0.1:9324"}
  };
  std::string body;

  std::string* header(std::string_view name) {
    for (auto& [key, value] : headers) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  // Request line and headers, but for Content-Length and the empty line.
  std::string head() const {
    std::string out =
        fmt::format("{} {}{}{} HTTP/1.1\r\n", method, path, query.empty() ? "" : "?", query);
    for (const auto& [name, value] : headers) out += fmt::format("{}: {}\r\n", name, value);
    return out;
  }
  std::string text() const {
    const std::string size = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
    return head() + size + "\r\n" + body;
  }
};

struct Signer {
  std::string id = "AKIDEXAMPLE";
  std::string secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  std::string region = "us-east-1", service = "sqs";
  Instant at{1'767'323'045'000};  // 20260102T030405Z

  std::string date() const {
    const std::time_t seconds = at.ms / 1000;
    char text[17];
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", std::gmtime(&seconds));
    return text;
  }
  std::string scope() const {
    return fmt::format("{}/{}/{}/aws4_request", date().substr(0, 8), region, service);
  }

  // With an Authorization header over all headers there are.
  SignedRequest sign(SignedRequest request) const {
    if (request.header("x-amz-date") == nullptr) request.headers.emplace_back("x-amz-date", date());
    const std::string names = names_of(request);
    const std::string signature = signature_of(request, names);
    request.headers.emplace_back(
        "authorization",
        fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", id,
                    scope(), names, signature));
    return request;
  }

  // With the parameters of a presigned query behind those there are.
  SignedRequest presign(SignedRequest request, int expires) const {
    const std::string names = names_of(request);
    std::string credential = id + "/" + scope(), escaped;
    for (const char c : credential) escaped += c == '/' ? "%2F" : std::string(1, c);
    std::string list;
    for (const char c : names) list += c == ';' ? "%3B" : std::string(1, c);
    request.query += fmt::format(
        "{}X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date={}&X-Amz-Expires={}"
        "&X-Amz-SignedHeaders={}",
        request.query.empty() ? "" : "&", escaped, date(), expires, list);
    request.query += "&X-Amz-Signature=" + signature_of(request, names);
    return request;
  }

 private:
  static std::string names_of(const SignedRequest& request) {
    std::vector<std::string> names;
    for (const auto& header : request.headers) names.push_back(header.first);
    std::sort(names.begin(), names.end());
    return join_texts(names, ";");
  }

  static std::string hex(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return out;
  }

  static std::string sha(std::string_view bytes) {
    unsigned char out[SHA256_DIGEST_LENGTH];
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out);
    return hex({reinterpret_cast<const char*>(out), sizeof out});
  }

  static std::string mac(std::string_view key, std::string_view text) {
    unsigned char out[SHA256_DIGEST_LENGTH];
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, nullptr);
    return {reinterpret_cast<const char*>(out), sizeof out};
  }

  std::string signature_of(const SignedRequest& request, const std::string& names) const {
    std::vector<std::string> params, lines;
    for (std::string_view rest = request.query; !rest.empty();) {
      const std::size_t end = std::min(rest.find('&'), rest.size());
      params.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto pair = [](const std::string& p) {
      const std::size_t equals = p.find('=');
      return std::pair(p.substr(0, equals), p.substr(equals));
    };
    std::ranges::sort(params, {}, pair);
    for (const auto& [name, value] : request.headers) {
      lines.push_back(fmt::format("{}:{}\n", name, value));
    }
    std::sort(lines.begin(), lines.end());
    const std::string canonical =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path, join_texts(params, "&"),
                    join_texts(lines, ""), names, sha(request.body));
    const std::string to_sign =
        fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", date(), scope(), sha(canonical));
    std::string key = "AWS4" + secret;
    for (const std::string& part : {date().substr(0, 8), region, service}) key = mac(key, part);
    return hex(mac(mac(key, "aws4_request"), to_sign));
  }
};

// Feeds the text to a parser that must outlive what is returned; null if it is refused.
inline const HttpRequest* parse(HttpParser& parser, std::string_view text) {
  std::size_t n = 0;
  while (!text.empty()) {
    const HttpParser::State state = parser.feed(text, n);
    if (state == HttpParser::State::complete) return &parser.request();
    if (state == HttpParser::State::error || n == 0) return nullptr;
    text.remove_prefix(n);
  }
  return nullptr;
}

}  // namespace pawl::test
