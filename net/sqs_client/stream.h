// SPDX-License-Identifier: Apache-2.0
// A connection to an endpoint: bytes in both directions, plain or with TLS.
//
//   open_plain_stream() | open_curl_stream() --> sends and receives until an error --> destroyed
//
// One parser reads the responses of both kinds.
//
// Units:  milliseconds.
// Limits: connecting waits at most the timeout, plus the time of the name server.
// Errors: CallError when it is opened; later a reason as text: "Connection reset by peer".
// Owner:  its SqsClient; one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::sqs_client {

class Stream {
 public:
  using Count = std::expected<std::size_t, std::string>;

  virtual ~Stream() = default;
  // Number of bytes sent; 0: the peer accepts none now.
  virtual Count send(std::string_view bytes) = 0;
  // Appends received bytes; 0: there are none now. The end of the stream is an error.
  virtual Count receive(std::string& into) = 0;
  virtual int descriptor() const = 0;
};

struct StreamOptions {
  std::chrono::milliseconds connect_timeout{5000};
  std::string ca_file;  // PEM; empty: the system's CAs
  std::vector<std::string> libcurls = {"libcurl.so.4", "libcurl-gnutls.so.4"};  // tried in order
};

// Waits for events of poll(2), also across signals. True: ready, or failed, which the next call of
// the stream reports. False: the time is over.
bool wait_until(int descriptor, short events, std::chrono::steady_clock::time_point deadline);

}  // namespace pawl::sqs_client
