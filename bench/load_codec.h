// SPDX-License-Identifier: Apache-2.0
// The requests and responses of a load connection, in one protocol. bench/peers has the codecs of
// other brokers.
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

class Channel;
class Codec;
struct Target;

using MakeCodec = std::unique_ptr<Codec> (*)(const LoadOptions& options, const Target& target);

struct Target {
  MakeCodec make = nullptr;     // of the protocol
  std::uint32_t batch_max = 1;  // messages a request
  bool http = false;
  bool subscribes = false;  // the protocol has subscriptions
  bool tls = false;
  std::string ca_file;  // PEM; empty: the system's CAs
  std::string host;     // or the path of a Unix socket; the port is "unix" then
  std::string port;
  std::string host_header;  // over HTTP
  std::string account,
      queue;             // from the URL or the options; over HTTP an empty account: to be found
  bool created = false;  // for the load, before it
};

// Parses "http[s]://host:port[/account/queue]" or "host:port". Returns an error text; empty:
// success.
std::string parse_target(const LoadOptions& options, Target& target);
// Parses "host:port" or "[v6]:port", where the port may be absent, or the absolute path of a Unix
// socket. False: there is no host.
bool parse_address(std::string_view text, Target& target);

// The numbers that a send carries.
struct Mark {
  std::uint64_t stamp = 0;     // due time of the request
  std::uint64_t sequence = 0;  // of its first message; each further one counts up
};

// A delivered message: its receipt in the codec's form, and the numbers in its body (0: not sent by
// this program).
struct Delivered {
  std::string_view receipt;  // into the received bytes
  std::uint64_t stamp = 0;
  std::uint64_t sequence = 0;
};

struct Reply {
  // Instead of a slot: messages of the subscription, or the response to an acknowledgement.
  static constexpr std::uint32_t pushed = UINT32_MAX, acknowledged = UINT32_MAX - 1;
  std::uint32_t slot = 0;
  std::uint32_t good = 0;             // entries sent, deleted or delivered
  std::uint32_t failed = 0;           // refused entries; a wholly refused request counts once
  std::uint32_t first_delivered = 0;  // index into the list of Delivered
  std::string reason;                 // the last refusal's code, and optionally its text
};

class Codec {
 public:
  virtual ~Codec() = default;

  // Performs the greeting on a new connection, and creates the queue if `create`. Empty: success.
  virtual std::string prepare(Channel& channel, bool create) = 0;

  // prepare() created the queue. With --cleanup this is certain: it looked for the queue before.
  virtual bool created() const = 0;
  // Blocks, after the load. Empty: success.
  virtual std::string delete_queue(Channel& channel) = 0;

  // A SEND of `batch` messages. The stamp is written into each body that is long enough for it, the
  // sequence number if options.verify.
  virtual void append_send(std::string& out, std::uint32_t slot, const Mark& mark) = 0;
  // A RECEIVE of up to `batch`; waits up to a second for a message if `wait`.
  virtual void append_receive(std::string& out, std::uint32_t slot, bool wait) = 0;
  virtual void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                             std::uint32_t count) = 0;

  // With options.subscribe, instead of receives and deletes: the server sends messages, and an
  // acknowledgement deletes them and grants as much credit again.
  virtual void append_subscribe(std::string&, std::uint32_t) {}
  virtual void append_acknowledge(std::string&, const Delivered*, std::uint32_t) {}

  // False: a receive that finds no message is answered at once, even if `wait`.
  virtual bool waits() const { return true; }
  // False: a delete has no response; it succeeds when it is sent.
  virtual bool confirms_deletes() const { return true; }

  // Takes the complete responses at the front of `bytes` and returns their length, or `broken`.
  static constexpr std::size_t broken = SIZE_MAX;
  virtual std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                            std::vector<Delivered>& delivered) = 0;
};

std::unique_ptr<Codec> make_binary_codec(const LoadOptions& options, const Target& target);
std::unique_ptr<Codec> make_http_codec(const LoadOptions& options, const Target& target);

// Bodies: a stamp of 16 hexadecimal digits, a sequence number in the same form if options.verify,
// then letters.
inline constexpr std::size_t stamp_bytes = 16;
void write_stamp(char* at, std::uint64_t stamp);
std::uint64_t read_stamp(std::string_view body);     // 0: no stamp
std::uint64_t read_sequence(std::string_view body);  // 0: no number
std::string make_body(std::uint32_t bytes);

}  // namespace pawl::load
