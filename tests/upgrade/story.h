// SPDX-License-Identifier: Apache-2.0
// Content of a fixture, which write_fixture.cc writes and upgrade_test.cc checks. Nothing here may
// change, because old fixtures contain it. Content of a newer format comes behind it, and the test
// checks it only in fixtures that can have it.
//
// Units: all times are between `begun` and `ended`; a fixture is opened at `opened`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/request.h"
#include "tests/wal/memory_disk.h"
#include "wal/format/format.h"

namespace pawl::upgrade {

using namespace std::string_view_literals;

// The files of a log, and handles by message body: `<body>.receipt` beside the log's files.
struct Fixture {
  MemoryDisk disk;
  std::map<std::string, ReceiptHandle, std::less<>> receipts;
};
inline constexpr std::string_view receipt_suffix = ".receipt";

inline Manifest newest_manifest(const MemoryDisk& disk) {
  Manifest newest;
  for (const std::string_view name : manifest_names) {
    const auto manifest =
        read_manifest(ConstBlock(disk.files.at(std::string(name))->data(), block_bytes));
    if (manifest && manifest->generation >= newest.generation) newest = *manifest;
  }
  return newest;
}

inline constexpr Instant begun{1'700'000'000'000};
inline constexpr Instant ended = begun + seconds(5);
inline constexpr Instant opened = begun + seconds(10);

// --- queues, in the order of their ids from 1 ---

inline constexpr std::string_view account = "123456789012";
inline constexpr std::string_view topics = "sns/123456789012";
inline constexpr std::string_view churn = "churn";  // had more messages than segments; was deleted
inline constexpr std::string_view mail = "mail";
inline constexpr std::string_view cleared = "cleared";       // was purged
inline constexpr std::string_view dead_letters = "letters";  // the dead-letter queue of `source`
inline constexpr std::string_view source = "source";         // the source of the dead letters
inline constexpr std::string_view moving = "moving";         // has move tasks
inline constexpr std::string_view arrivals = "arrivals";     // the destination of the move tasks
inline constexpr std::string_view orders = "orders.fifo";    // deduplicates by group
inline constexpr std::string_view news = "news";             // a topic
inline constexpr std::string_view quiet = "quiet";           // its only message was deleted early
inline constexpr std::string_view last = "last";             // was deleted early
inline constexpr std::string_view mill = "mill";      // from v2 on: like churn, and has messages
inline constexpr std::string_view hasty = "hasty";    // from v4 on: message numbers are reserved
inline constexpr std::string_view played = "played";  // from v5 on: its messages are replayed
inline constexpr std::string_view bulky = "bulky";    // from v6 on: makes every checkpoint large
inline constexpr std::string_view early = "early";  // from v7 on: its message is in a small segment
inline constexpr std::string_view numbered = "numbered";  // from v8 on: has a producer
inline constexpr std::string_view twin = "twin";  // from v9 on: shares messages with `other_twin`
inline constexpr std::string_view other_twin = "other twin";
inline constexpr std::string_view dead_letters_path = "123456789012/letters";
inline constexpr std::string_view arrivals_path = "123456789012/arrivals";
inline constexpr std::string_view played_path = "123456789012/played";

inline constexpr std::string_view news_text =
    R"({"attributes":{"DisplayName":"d"},"subscriptions":[{"id":"00000000-0000-0000-0000-000000000001",)"
    R"("endpoint":"arn:aws:sqs:us-east-1:123456789012:mail","attributes":{"RawMessageDelivery":"true"}}]})";

// From v6 on: a subscription in a row of its own.
inline constexpr std::string_view news_row =
    R"({"id":"2","endpoint":"arn:aws:sqs:us-east-1:123456789012:quiet","attributes":{}})";

inline std::vector<QueueSpec> queues(int version) {
  using enum Attribute;
  const auto queue = [](std::string_view name, std::vector<AttributeChange> changes = {}) {
    return QueueSpec{std::string(account), std::string(name), std::move(changes), {}};
  };
  std::vector<QueueSpec> all = {
      queue(churn),
      queue(mail),
      queue(cleared),
      queue(dead_letters),
      queue(source, {{max_receive_count, 2, {}},
                     {dead_letter_target, -1, std::string(dead_letters_path)},
                     {redrive_policy, -1, R"({"maxReceiveCount":2})"}}
       ),
      queue(moving),
      queue(arrivals),
      queue(orders, {{fifo_queue, 1, {}},
                     {content_based_deduplication, 1, {}},
                     {deduplication_scope, 1, {}},
                     {fifo_throughput_limit, 1, {}}}
       ),
      {std::string(topics), std::string(news), {{topic, -1, std::string(news_text)}}, {}},
      queue(quiet),
      queue(last),
  };
  if (version >= 2) all.push_back(queue(mill));
  if (version >= 4)
    all.push_back(queue(hasty, {
                                   {durability, 1, {}}
    }));
  if (version >= 5) all.push_back(queue(played));
  if (version >= 6)
    all.push_back(queue(bulky, {
                                   {policy, -1, std::string(8000, ' ') + "{}"}
    }));
  if (version >= 7) all.push_back(queue(early));
  if (version >= 8) all.push_back(queue(numbered));
  if (version >= 9) {
    all.push_back(queue(twin));
    all.push_back(queue(other_twin));
  }
  return all;
}

// The later settings of `mail`.
inline std::vector<AttributeChange> mail_changes() {
  using enum Attribute;
  return {
      {delay_seconds,                     1,       {}                                          },
      {maximum_message_size,              262'144, {}                                          },
      {message_retention_period,          86'400,  {}                                          },
      {receive_message_wait_time_seconds, 3,       {}                                          },
      {visibility_timeout,                40,      {}                                          },
      {kms_data_key_reuse_period_seconds, 600,     {}                                          },
      {policy,                            -1,      R"({"Version":"2012-10-17","Statement":[]})"},
      {redrive_allow_policy,              -1,      R"({"redrivePermission":"allowAll"})"       },
      {kms_master_key_id,                 -1,      "alias/mail"                                },
  };
}
inline const Tags mail_tags = {
    {"stage", "test"},
    {"team",  "post"}
};

// --- messages ---

inline constexpr Duration at_once{0}, soon = milliseconds(100), long_hidden = seconds(600),
                                      hidden = seconds(60);

inline constexpr Delivery::Md5 any_md5{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
inline constexpr std::string_view color = "\x05\0color\x06String\x01\x04\0\0\0blue"sv;
inline constexpr std::string_view trace = "\x0e\0AWSTraceHeader\x06String\x01\x03\0\0\0r=1"sv;

// mail
inline constexpr std::string_view twice = "twice";      // received twice; in flight for long
inline constexpr std::string_view returns = "returns";  // in flight
inline constexpr SendEntry plain{.content = {.body = "plain"}, .delay = at_once};
inline constexpr SendEntry full{
    .content = {.body = "full",
                .attributes = color,
                .system = trace,
                .sender = "AIDAEXAMPLE",
                .group = "tenant",
                .body_md5 = &any_md5},
    .delay = at_once
};
inline constexpr SendEntry delayed{.content = {.body = "delayed"}, .delay = seconds(900)};

// cleared
inline constexpr SendEntry after_purge{.content = {.body = "after the purge"}};

// orders: numbers 1 to 3; the first is in flight for long
inline constexpr SendEntry ordered[] = {
    {.content = {.body = "a1", .group = "a", .dedup_id = "1"}},
    {.content = {.body = "a2", .group = "a", .dedup_id = "2"}},
    {.content = {.body = "b1", .group = "b", .dedup_id = "1"}},
};

// dead_letters: `dead` has moved there; `landing` has arrived, and its source does not know it yet
inline constexpr SendEntry dead{
    .content = {.body = "dead", .attributes = color}
};
inline constexpr SendEntry landing{.content = {.body = "landing"}};

// mill: these messages begin the checkpoint in which `dead` has arrived and its source does not
// know it yet; one is delayed
inline constexpr std::size_t sacks = 7, sack_bytes = 9000;

// early: it fills a small segment
inline constexpr std::size_t early_bytes = 11'000;

// numbered: messages of one producer; sequence 2 was not sent, and the last one follows the
// checkpoint
inline constexpr std::uint64_t producer = 0x7007'0000'0000'0001;
inline constexpr std::uint64_t sequences[] = {1, 3, 4};

// twin and other_twin: each message was sent to both in one record; the second follows the
// checkpoint. `twin` has deleted the first. In `other_twin` they are in an envelope.
inline constexpr std::string_view shared_bodies[] = {"shared 1", "shared 2"};

// From v9 on `news` has given the numbers 1 and 2 to messages with these deduplication ids; the
// second follows the checkpoint.
inline constexpr std::string_view published[] = {"published 1", "published 2"};
inline constexpr std::string_view shared_note = "what their envelopes have in common";
inline constexpr MessageId subscription{0x5ab5'0000'0000'0001, 2};

// moving: task 1 completed, task 2 failed, task 3 has moved `moved_before` of these, one a second
inline constexpr std::string_view travellers[] = {"m1", "m2", "m3", "m4", "m5"};
inline constexpr std::uint32_t completed_before = 2;
constexpr std::uint32_t moved_before(int version) { return version >= 5 ? 1 : 2; }
inline constexpr std::uint32_t move_rate = 1;

// played: these messages were sent and purged; task 1 has replayed `played_before` of them so far
inline constexpr std::string_view tunes[] = {"t1", "t2", "t3", "t4", "t5", "t6"};
inline constexpr std::uint32_t played_before = 2, play_rate = 1;
// With an hour the first segments would be kept, and none of them relocated.
constexpr std::int64_t play_retention(int version) { return version >= 8 ? 1 : 3600; }
inline constexpr std::string_view play_filter = "a filter";

}  // namespace pawl::upgrade
