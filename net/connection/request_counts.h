// SPDX-License-Identifier: Apache-2.0
// RequestCounts: the requests of one shard's clients by protocol, operation and error code, with
// the time from a request's arrival to its response.
//
// A long poll counts with its wait, and a subscription when it ends.
//
// Units:  microseconds; the time of a turn's begin stands for all of the turn.
// Limits: a row for each operation and error of the tables in proto/, below 2,000.
// Owner:  the Connections of the shard. PublishedRequestCounts is shared: the shard publishes about
//         once a second, any thread reads.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/duration_counts.h"
#include "proto/binary/frames.h"

namespace pawl {

struct RequestCounts {
  // All texts are constants of the program.
  struct Row {
    std::string_view protocol;  // json, query, sns, pawl, dev or http
    std::string_view op;        // as "SendMessage"
    DurationCounts times;
  };
  struct Error {
    std::string_view protocol, op, code;
    auto operator<=>(const Error&) const = default;
  };
  // One more than the last operation.
  static constexpr std::size_t binary_ops = static_cast<std::size_t>(BinaryOp::call) + 1;

  std::array<DurationCounts, binary_ops> binary;  // by BinaryOp; 0: unknown ones
  std::vector<Row> http;
  std::map<Error, std::uint64_t> errors;  // those of the binary protocol too

  void note_http(std::string_view protocol, std::string_view op, std::string_view error,
                 std::uint64_t us);
  void note_binary_error(BinaryOp op, std::string_view error);
  void add(const RequestCounts& other);
  // Requests of this protocol and operation that had an error.
  std::uint64_t failed(std::string_view protocol, std::string_view op) const;

  static constexpr std::string_view binary_protocol = "binary";
  static std::string_view name_of(BinaryOp op);

 private:
  Row& row_of(std::string_view protocol, std::string_view op);
};

class PublishedRequestCounts {
 public:
  // Leaves out a time at which another thread reads.
  void publish(const RequestCounts& counts);
  void add_to(RequestCounts& sum) const;

 private:
  mutable std::mutex mutex_;
  RequestCounts counts_;
};

}  // namespace pawl
