// SPDX-License-Identifier: Apache-2.0
// The requests and responses of a load connection, in one of the two protocols.
//
// A request belongs to a slot, a number below `depth`; the codec finds the slot of each response.
// Requests are built from prepared bytes.
//
// Errors: parse() returns `broken` when it cannot separate responses any more.
// Owner:  one load connection; its Target is shared.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load_options.h"

namespace pawl::load {

struct Target {
  bool http = false;
  std::string host;
  std::string port;
  std::string account, queue;  // from the URL or the options
};

// Parses "http://host:port/account/queue" or "host:port". Returns an error text; empty: success.
std::string parse_target(const LoadOptions& options, Target& target);

// A delivered message: its receipt in the codec's form, and the stamp in its body (0: not sent by
// this program).
struct Delivered {
  std::string_view receipt;  // into the received bytes
  std::uint64_t stamp = 0;
};

struct Reply {
  std::uint32_t slot = 0;
  std::uint32_t good = 0;             // entries sent, deleted or delivered
  std::uint32_t failed = 0;           // refused entries; a wholly refused request counts once
  std::uint32_t first_delivered = 0;  // index into the list of Delivered
  std::string reason;                 // the last refusal's code, and optionally its text
};

class Codec {
 public:
  virtual ~Codec() = default;

  // Performs the greeting on a connected, still blocking socket, and creates the queue if `create`.
  // Empty: success.
  virtual std::string prepare(int socket, bool create) = 0;

  // A SEND of `batch` messages; `stamp` is written into each body that is long enough for it.
  virtual void append_send(std::string& out, std::uint32_t slot, std::uint64_t stamp) = 0;
  // A RECEIVE of up to `batch`; waits up to a second for a message if `wait`.
  virtual void append_receive(std::string& out, std::uint32_t slot, bool wait) = 0;
  virtual void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                             std::uint32_t count) = 0;

  // Takes the complete responses at the front of `bytes` and returns their length, or `broken`.
  static constexpr std::size_t broken = SIZE_MAX;
  virtual std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                            std::vector<Delivered>& delivered) = 0;
};

std::unique_ptr<Codec> make_binary_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_http_codec(const LoadOptions& options, const Target& target);

// Bodies: 16 hexadecimal digits, then letters.
inline constexpr std::size_t stamp_bytes = 16;
void write_stamp(char* at, std::uint64_t stamp);
std::uint64_t read_stamp(std::string_view body);  // 0: no stamp
std::string make_body(std::uint32_t bytes);

// Blocking calls for prepare(). False: the call failed.
bool send_all(int socket, std::string_view bytes);
bool receive_some(int socket, std::string& into);

}  // namespace pawl::load
