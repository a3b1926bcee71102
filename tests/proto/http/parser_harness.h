// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to an HttpParser in pieces and describes its requests and refusals in text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/parser.h"

namespace pawl {

inline std::string describe(const HttpRequest& request) {
  std::string text = std::string(request.method) + " " + std::string(request.target) + " 1." +
                     std::to_string(request.version_minor);
  for (const HttpHeader& h : request.headers) {
    text += " {" + std::string(h.name) + "=" + std::string(h.value) + "}";
  }
  text += " body=" + std::string(request.body);
  return text + (request.keep_alive ? " keep" : " close");
}

// Parses a stream fed `piece` bytes at a time. Returns a line per request, then the state of the
// rest ("idle", "head", "body", "done" or the status of the refusal).
inline std::vector<std::string> outcome(std::string_view bytes, std::size_t piece) {
  HttpParser parser;
  std::vector<std::string> seen;
  std::size_t end = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    end = std::max(end, std::min(at + piece, bytes.size()));
    std::size_t consumed = 0;
    const HttpParser::State state = parser.feed(bytes.substr(at, end - at), consumed);
    at += consumed;
    if (state == HttpParser::State::error) {
      seen.push_back(std::to_string(parser.error_status()));
      return seen;
    }
    if (state == HttpParser::State::complete) {
      seen.push_back(describe(parser.request()));
      parser.next();
    } else {
      EXPECT_EQ(at, end) << "bytes left over";
      end = at + 1;
    }
  }
  constexpr const char* phases[] = {"idle", "head", "body", "done"};
  seen.push_back(phases[static_cast<int>(parser.phase())]);
  return seen;
}

inline std::vector<std::string> outcome(std::string_view bytes) {
  return outcome(bytes, bytes.size());
}

// The status that refuses `bytes`, in one piece and byte by byte; 0 if they are a request.
inline int refusal(std::string_view bytes) {
  const std::vector<std::string> whole = outcome(bytes);
  EXPECT_EQ(whole, outcome(bytes, 1));
  const std::string& last = whole.back();
  return std::isdigit(static_cast<unsigned char>(last[0])) != 0 && whole.size() == 1
             ? std::stoi(last)
             : 0;
}

inline std::string post(std::string_view headers, std::string_view body = {}) {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

}  // namespace pawl
