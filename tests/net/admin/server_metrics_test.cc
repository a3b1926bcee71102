// SPDX-License-Identifier: Apache-2.0
#include "net/admin/server_metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "net/io/process_usage.h"

namespace pawl {
namespace {

TEST(ServerMetrics, CountRequestsOfAllShards) {
  RequestCounts counts;
  counts.note_http("json", "SendMessage", "", 100);
  counts.note_http("json", "SendMessage", "AccessDenied", 100);
  counts.binary[static_cast<std::size_t>(BinaryOp::send)].note(600'000);
  PublishedRequestCounts shards[2];
  for (PublishedRequestCounts& shard : shards) shard.publish(counts);
  const AdminFacts facts{
      .requests = {&shards[0], &shards[1]},
        .version = "1.2.3"
  };
  std::string text;
  append_server_metrics(text, facts);
  EXPECT_TRUE(text.contains(
      "pawl_requests_total{op=\"SendMessage\",protocol=\"json\",code=\"ok\"} 2\n"
      "pawl_requests_total{op=\"send\",protocol=\"binary\",code=\"ok\"} 2\n"
      "pawl_requests_total{op=\"SendMessage\",protocol=\"json\",code=\"AccessDenied\"} 2\n"))
      << text;
  const std::string binary = "{op=\"send\",protocol=\"binary\"";
  EXPECT_TRUE(text.contains("pawl_request_seconds_bucket" + binary + ",le=\"0.524288\"} 0\n"));
  EXPECT_TRUE(text.contains("pawl_request_seconds_bucket" + binary + ",le=\"+Inf\"} 2\n"));
  EXPECT_TRUE(text.contains("pawl_request_seconds_sum" + binary + "} 1.2\n"));
  EXPECT_TRUE(text.contains("pawl_request_seconds_count" + binary + "} 2\n"));
  EXPECT_TRUE(text.contains("pawl_build_info{version=\"1.2.3\"} 1\n"));
  for (const char* const absent : {"process_", "pawl_disk_", "pawl_certificate_"})
    EXPECT_FALSE(text.contains(absent)) << absent << " is unknown";
}

TEST(ServerMetrics, TellOfTheProcess) {
  const ProcessUsage usage;
  const AdminFacts facts{.process = &usage, .memory_limit = 5};
  std::string text;
  append_server_metrics(text, facts);
  for (const char* const name : {"process_cpu_seconds_total ", "process_resident_memory_bytes ",
                                 "process_open_fds ", "pawl_memory_limit_bytes 5\n"})
    EXPECT_TRUE(text.contains(std::string("\n") + name)) << name;
}

}  // namespace
}  // namespace pawl
