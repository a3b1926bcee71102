// SQS over HTTP: one request on its way through the broker, in the protocol its caller chose.
//
//   begin --respond--> write_response
//     \--route--> [each of routes() applied] --> resume --respond--> write_response
//                  ^                               |
//                  +------------route--------------+
//
// Both of AWS's protocols are spoken on every path: JSON 1.0 when there is an X-Amz-Target header,
// else Query (form in, XML out); errors come back in the protocol they were asked in. Query of SNS's version
// is for sns.h. With keys, every
// request must be signed by one of them (sigv4.h) and works for that key's account, on the queues of
// others as far as their policies allow (policy.h); only GET / and OPTIONS are open to everybody.
//
// Units:  seconds on the wire, Duration in Request.
// Limits: ten entries a batch, ten messages a receive, 1 MiB a message or batch: SQS's own.
// Errors: none to the caller; whatever goes wrong becomes the response.
// Owner:  the connection. All memory that the requests point to lives here, or in the HttpRequest's
//         buffer, until the next begin(); the buffer must live until write_response() returns. A call
//         is reused: in steady state it allocates nothing.
// Source: SQS API Reference 2012-11-05; AWS JSON 1.0 and AWS Query protocols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/directory.h"
#include "core/ids.h"
#include "core/receipt.h"
#include "core/request.h"
#include "core/time.h"
#include "core/time_shift.h"
#include "proto/http.h"

namespace pawl {

class Keyring;
enum class AuthFault : std::uint8_t;  // sigv4.h

inline constexpr std::size_t account_bytes_max = 64;  // records in the log have room for this

// What the shim must know of the server. The same for all its calls; must outlive them.
struct SqsConfig {
  std::string account = "000000000000";  // 12 digits; owner of the queues made here
  std::string region = "us-east-1";      // for ARNs
  std::string base_url;  // "http://host:port" of returned queue URLs; empty: from Host
  Secret secret{};       // message ids are made from it
  const TimeShift* shift = &no_shift;  // from engine time to what is said
  // Who may call. Null: everybody, as the account above; signatures of every form are then accepted and
  // not looked at. May be exchanged between calls, by the thread that makes them.
  std::shared_ptr<const Keyring> keys;
};

// A request, and the shard it is to be applied on.
struct SqsRoute {
  Request* request = nullptr;
  ShardId target{};
};

struct SqsState;

class SqsCall {
 public:
  enum class Next : std::uint8_t {
    respond,  // the answer is ready
    route,    // routes() are to be applied, at the same time if there are several, then resume()
  };

  SqsCall();
  ~SqsCall();
  SqsCall(SqsCall&&) noexcept;
  SqsCall& operator=(SqsCall&&) noexcept;

  // The largest body of any action that the head can be of: larger ones are not worth taking.
  static constexpr std::size_t small_body_bytes_max = 256
                                                      << 10;  // of actions that carry no message
  // 1 MiB of messages with every byte as %XX, or as base64 of which every character is %XX.
  static constexpr std::size_t form_bytes_max = 4608 << 10;
  static std::size_t body_bytes_max(const HttpRequest& head);

  // A ReceiveMessage answers so many bytes of messages, or a single message: the rest goes back to the queue as if it
  // had not been handed out, since an answer is written in one turn of the shard.
  static constexpr std::size_t receive_bytes_max = 1 << 20;

  enum class Head : std::uint8_t {
    refused,     // write_response() has the answer, and the body is not to be taken
    unverified,  // nothing is wrong so far
    verified,    // signed by a key of ours, or nobody has to sign
  };
  // Judges a request by its head, before its body has come. Forgets the call before.
  Head check_head(const HttpRequest& http, const SqsConfig& config, std::uint64_t request_number);

  // Parses and validates. Forgets the call before. `request_number` makes the request id: different
  // numbers give different ids, so a counter that starts at random is what it wants.
  Next begin(const HttpRequest& http, const Directory& directory, const SqsConfig& config,
             Instant now, std::uint64_t request_number);

  // Instead of begin(): the answer is an error with this text, in the caller's protocol. `status` is 403
  // (AccessDenied), 413 (RequestEntityTooLarge) or 415 (UnsupportedMediaType).
  void deny(const HttpRequest& http, const SqsConfig& config, int status, std::string_view why,
            std::uint64_t request_number);

  // Valid from begin() or resume() saying `route` until the next begin(); never empty then. `home` and
  // `waiter` are left for the caller to set.
  std::span<const SqsRoute> routes() const;

  // After all of them came back with their out members filled.
  Next resume(const Directory& directory, const SqsConfig& config);

  // Appends the whole HTTP response. `date` is an RFC 7231 date. It says that the connection stays open if
  // the client wants that and `may_stay`.
  void write_response(std::string& out, std::string_view date, bool may_stay = true);

  // Whether the connection may be used for another request; known after begin().
  bool keep_alive() const;

  // Forgets the request, so that the call can serve another connection.
  void clear();
  std::size_t memory() const;  // bytes held, about

  // After begin() or check_head(): why authentication failed, `none` if it did not; and whether the request
  // was signed by a key of ours, which what is open to everybody is not.
  AuthFault auth_fault() const;
  bool verified() const;

  // What was asked for and how it ended, for metrics and logs: an action's name ("SendMessage", empty
  // when none was recognised) and the HTTP status, known once the answer is ready.
  std::string_view action() const;
  std::uint16_t status() const;

 private:
  std::unique_ptr<SqsState> state_;
};

}  // namespace pawl
