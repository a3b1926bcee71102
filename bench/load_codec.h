// What a load connection says and hears, in one of the two protocols.
//
// A request belongs to a slot, a number below `depth`; the codec finds the slot of each answer.
// Requests are built from bytes prepared beforehand.
//
// Errors: parse() says `broken` when answers can no longer be told apart.
// Owner:  one load connection each; what it is made from (Target) is shared.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load.h"

namespace pawl::load {

struct Target {
  bool http = false;
  std::string host;
  std::string port;
  std::string account, queue;  // of the URL, or of the options
};

// "http://host:port/account/queue" or "host:port"; empty text: fine, else what is wrong.
std::string parse_target(const LoadOptions& options, Target& target);

// A message delivered: its receipt, as the codec wants it back, and the stamp in its body (0: not
// ours).
struct Delivered {
  std::string_view receipt;  // into the received bytes
  std::uint64_t stamp = 0;
};

struct Reply {
  std::uint32_t slot = 0;
  std::uint32_t good = 0;             // entries done: sent, deleted, or delivered
  std::uint32_t failed = 0;           // entries refused; a request refused whole counts once
  std::uint32_t first_delivered = 0;  // index into the list of Delivered
  std::string reason;                 // of the last refusal: its code, and possibly a text
};

class Codec {
 public:
  virtual ~Codec() = default;

  // On a connected, still blocking socket: the greeting, and the queue made if asked. Empty: fine.
  virtual std::string prepare(int socket, bool create) = 0;

  // A SEND of `batch` messages; `stamp` goes into each body if there is room for one.
  virtual void append_send(std::string& out, std::uint32_t slot, std::uint64_t stamp) = 0;
  // A RECEIVE of up to `batch`; waits up to a second for a message if `wait`.
  virtual void append_receive(std::string& out, std::uint32_t slot, bool wait) = 0;
  virtual void append_remove(std::string& out, std::uint32_t slot, const Delivered* first,
                             std::uint32_t count) = 0;

  // Takes the complete answers at the front of `bytes` and returns how many bytes that were; npos:
  // broken.
  static constexpr std::size_t broken = SIZE_MAX;
  virtual std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                            std::vector<Delivered>& delivered) = 0;
};

std::unique_ptr<Codec> make_binary_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_http_codec(const LoadOptions& options, const Target& target);

// Bodies: 16 hexadecimal digits, then letters.
inline constexpr std::size_t stamp_bytes = 16;
void write_stamp(char* at, std::uint64_t stamp);
std::uint64_t read_stamp(std::string_view body);  // 0: there is none
std::string make_body(std::uint32_t bytes);

// Blocking, for prepare(): all of it, or false.
bool send_all(int socket, std::string_view bytes);
bool receive_some(int socket, std::string& into);

}  // namespace pawl::load
