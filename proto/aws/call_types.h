// SPDX-License-Identifier: Apache-2.0
// Types that the calls of SQS and SNS share: the server's settings, the next step of a call, and
// its routed requests.
//
// Owner:  the server owns the settings; a call owns its requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/time_shift.h"
#include "core/queue/receipt.h"
#include "core/queue/request.h"

namespace pawl {

class DevControl;
class Directory;
class Keyring;

inline constexpr std::size_t account_bytes_max = 64;  // fits into the records of the log

// Retries of a change that conflicted with another one: those of one shard wait for each other
// (net/engine/change_lines.h), those of different shards meet.
inline constexpr unsigned change_retries_max = 100;

// A request and its target shard.
struct CallRoute {
  Request* request = nullptr;
  ShardId target{};
};

enum class CallStep : std::uint8_t {
  respond,  // the response is ready
  route,    // apply the call's routes, concurrently if there are several, then resume the call
};

// Work of many requests, such as the declared queues of a configuration file.
class RoutedWork {
 public:
  virtual ~RoutedWork() = default;
  virtual CallStep begin(const Directory& directory, Instant now) = 0;  // engine time
  virtual std::span<const CallRoute> routes() const = 0;
  virtual CallStep resume() = 0;
  // After `respond`; empty: all is done.
  virtual std::string_view fault() const = 0;
  virtual bool may_retry() const = 0;  // the fault may be gone later
  virtual std::string_view summary() const = 0;
};

// Settings of the server, shared by all calls; they must outlive the calls.
struct CallSettings {
  std::string account = "000000000000";  // 12 digits; owner of new queues when there are no keys
  std::string region = "us-east-1";      // for ARNs
  std::string base_url;  // "http://host:port" of returned queue URLs; empty: from Host
  Secret secret{};       // message ids are derived from it
  const TimeShift* shift = &no_shift;  // from engine time to wall time
  bool strict_sqs = false;             // as AWS where pawl is more helpful: --strict-sqs
  bool past_dates = false;             // accepted in new schedules: those of a configuration file
  // Access keys. Null: everyone may call, as the account above, and signatures are not checked. The
  // thread that makes the calls may replace them between two calls.
  std::shared_ptr<const Keyring> keys;
  // Null, except on a development server. There, without keys, an access key id of 12 digits is the
  // caller's account.
  DevControl* dev = nullptr;
  // Makes what the configuration file declares for an account, or for all if it is empty. Null: the
  // file declares nothing.
  std::function<std::unique_ptr<RoutedWork>(std::string_view account)> declare;
};

}  // namespace pawl
