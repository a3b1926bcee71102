// SPDX-License-Identifier: Apache-2.0
#include "net/client/endpoint.h"

#include "core/base/format.h"

namespace pawl::client {
namespace {

constexpr std::size_t queue_bytes_max = 80;  // of SQS
constexpr std::chrono::milliseconds backoff_most = std::chrono::hours(1);

}  // namespace

std::string problem_of(const Endpoint& endpoint, std::string_view queue) {
  if (queue.empty() || queue.size() > queue_bytes_max)
    return format_text("queue: {} bytes; 1 to {} bytes", queue.size(), queue_bytes_max);
  if (endpoint.backoff_min.count() < 1 || endpoint.backoff_min > endpoint.backoff_max)
    return format_text("backoff_min: {} ms; 1 ms to backoff_max", endpoint.backoff_min.count());
  if (endpoint.backoff_max > backoff_most)
    return format_text("backoff_max: {} ms; at most {} ms", endpoint.backoff_max.count(),
                       backoff_most.count());
  if (endpoint.connection.request_timeout.count() < 1)
    return format_text("request_timeout: {} ms; at least 1 ms",
                       endpoint.connection.request_timeout.count());
  return {};
}

}  // namespace pawl::client
