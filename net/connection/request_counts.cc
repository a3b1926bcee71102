// SPDX-License-Identifier: Apache-2.0
#include "net/connection/request_counts.h"

#include "core/base/check.h"
#include "core/base/enum_name.h"

namespace pawl {
namespace {

constexpr std::string_view unknown_op = "unknown";
constexpr auto binary_op_names = enum_names<BinaryOp, RequestCounts::binary_ops>();

}  // namespace

std::string_view RequestCounts::name_of(BinaryOp op) {
  const auto number = static_cast<std::size_t>(op);
  const bool known = number < binary_ops && !binary_op_names[number].empty();
  return known ? binary_op_names[number] : unknown_op;
}

// The texts are constants: most have one address.
RequestCounts::Row& RequestCounts::row_of(std::string_view protocol, std::string_view op) {
  for (Row& row : http)
    if (row.op.data() == op.data() && row.protocol.data() == protocol.data()) return row;
  for (Row& row : http)
    if (row.op == op && row.protocol == protocol) return row;
  return http.emplace_back(protocol, op);
}

void RequestCounts::note_http(std::string_view protocol, std::string_view op,
                              std::string_view error, std::uint64_t us) {
  CHECK(!protocol.empty(), "a request {} of no protocol", op);
  CHECK(error != "ok", "an error with the name of none");
  if (op.empty()) op = unknown_op;
  row_of(protocol, op).times.note(us);
  if (!error.empty()) ++errors[{protocol, op, error}];
}

void RequestCounts::note_binary_error(BinaryOp op, std::string_view error) {
  CHECK(!error.empty(), "an error of {} without a name", name_of(op));
  ++errors[{binary_protocol, name_of(op), error}];
}

void RequestCounts::add(const RequestCounts& other) {
  for (std::size_t i = 0; i < binary_ops; ++i) binary[i].add(other.binary[i]);
  for (const Row& row : other.http) row_of(row.protocol, row.op).times.add(row.times);
  for (const auto& [error, count] : other.errors) errors[error] += count;
}

std::uint64_t RequestCounts::failed(std::string_view protocol, std::string_view op) const {
  std::uint64_t sum = 0;
  for (auto at = errors.lower_bound({protocol, op, {}}); at != errors.end(); ++at) {
    if (at->first.protocol != protocol || at->first.op != op) break;
    sum += at->second;
  }
  return sum;
}

void PublishedRequestCounts::publish(const RequestCounts& counts) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) counts_ = counts;
}

void PublishedRequestCounts::add_to(RequestCounts& sum) const {
  const std::scoped_lock lock(mutex_);
  sum.add(counts_);
}

}  // namespace pawl
