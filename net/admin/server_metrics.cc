// SPDX-License-Identifier: Apache-2.0
#include "net/admin/server_metrics.h"

#include <fmt/core.h>

#include "core/base/check.h"
#include "net/admin/family_text.h"
#include "net/io/process_usage.h"

namespace pawl {
namespace {

constexpr double s_from_us = 1e-6;

template <typename Number>
void append_gauge(std::string& text, std::string_view name, std::string_view help, Number value) {
  append_head(text, name, "gauge", help);
  text += fmt::format("{} {}\n", name, value);
}

// Calls `use` with protocol, operation and times of each kind of request that has occurred.
template <typename Use>
void for_each_kind(const RequestCounts& requests, const Use& use) {
  for (const RequestCounts::Row& row : requests.http) use(row.protocol, row.op, row.times);
  for (std::size_t op = 0; op < RequestCounts::binary_ops; ++op) {
    const DurationCounts& times = requests.binary[op];
    if (times.count() > 0)
      use(RequestCounts::binary_protocol, RequestCounts::name_of(static_cast<BinaryOp>(op)), times);
  }
}

void append_requests(std::string& text, const RequestCounts& requests) {
  constexpr std::string_view total = "pawl_requests_total", seconds = "pawl_request_seconds";
  append_head(text, total, "counter",
              "Requests answered, by operation, protocol and error code (ok: no error).");
  for_each_kind(requests, [&](auto protocol, auto op, const DurationCounts& times) {
    const std::uint64_t failed = requests.failed(protocol, op);
    CHECK(failed <= times.count(), "{} of {} requests failed", failed, times.count());
    text += fmt::format("{}{{op=\"{}\",protocol=\"{}\",code=\"ok\"}} {}\n", total, op, protocol,
                        times.count() - failed);
  });
  for (const auto& [error, count] : requests.errors)
    text += fmt::format("{}{{op=\"{}\",protocol=\"{}\",code=\"{}\"}} {}\n", total, error.op,
                        error.protocol, error.code, count);
  append_head(text, seconds, "histogram",
              "Time from a request's arrival to its response; a long poll counts with its wait.");
  for_each_kind(requests, [&](auto protocol, auto op, const DurationCounts& times) {
    append_histogram(text, seconds, fmt::format("op=\"{}\",protocol=\"{}\",", op, protocol), times);
  });
}

void append_process(std::string& text, const AdminFacts& facts) {
  const ProcessUsage::Numbers used = facts.process->read();
  append_head(text, "process_cpu_seconds_total", "counter", "Processor time of the process.");
  text +=
      fmt::format("process_cpu_seconds_total {}\n", static_cast<double>(used.cpu_us) * s_from_us);
  append_gauge(text, "process_resident_memory_bytes", "Resident memory of the process.",
               used.resident_bytes);
  append_gauge(text, "process_open_fds", "Open file descriptors.", used.open_files);
  append_gauge(text, "process_max_fds", "Limit of open file descriptors.", used.open_files_max);
  append_gauge(text, "process_start_time_seconds", "Start of the process, in seconds since 1970.",
               used.started_s);
}

}  // namespace

void append_server_metrics(std::string& text, const AdminFacts& facts) {
  append_head(text, "pawl_build_info", "gauge", "1, with the version of the program.");
  text += fmt::format("pawl_build_info{{version=\"{}\"}} 1\n", facts.version);
  RequestCounts requests;
  for (const PublishedRequestCounts* const shard : facts.requests) shard->add_to(requests);
  append_requests(text, requests);
  if (facts.directory >= 0) {
    const DiskSpace disk = disk_space(facts.directory);
    append_gauge(text, "pawl_disk_free_bytes", "Free space of the data directory's file system.",
                 disk.free_bytes);
    append_gauge(text, "pawl_disk_size_bytes", "Size of the data directory's file system.",
                 disk.size_bytes);
  }
  append_gauge(text, "pawl_memory_limit_bytes", "Memory for messages, see --memory.",
               facts.memory_limit);
  if (const auto tls = facts.settings == nullptr ? nullptr : facts.settings->current().tls)
    append_gauge(text, "pawl_certificate_expiry_timestamp_seconds",
                 "End of the TLS certificate, in seconds since 1970.", tls->not_after_s());
  if (facts.process != nullptr) append_process(text, facts);
}

}  // namespace pawl
