// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <gtest/gtest.h>

#include "bench/load_codec.h"
#include "bench/load_schedule.h"
#include "proto/binary/frames.h"
#include "tests/bench/load_fixture.h"

namespace pawl {
namespace {

using load::Codec;
using load::Delivered;
using load::Reply;
using load::Target;

// --- options ---

TEST(LoadTarget, IsAQueueUrlOrAnAddress) {
  struct Case {
    const char* url;
    const char* binary;
    const char* host;
    const char* port;
    const char* queue;
  };
  constexpr Case cases[] = {
      {"http://h:9324/000000000000/q", "",             "h",           "9324", "q"    },
      {"http://h/000000000000/q",      "",             "h",           "80",   "q"    },
      {"http://h:1/prefix/acct/q",     "",             "h",           "1",    "q"    },
      {"https://h/000000000000/q",     "",             "h",           "443",  "q"    },
      {"",                             "127.0.0.1:26", "127.0.0.1",   "26",   "bench"},
      {"",                             "[::1]:26",     "::1",         "26",   "bench"},
      {"",                             "/run/p.sock",  "/run/p.sock", "unix", "bench"},
  };
  for (const Case& c : cases) {
    LoadOptions options;
    options.url = c.url;
    options.binary = c.binary;
    Target target;
    EXPECT_EQ(load::parse_target(options, target), "") << c.url << c.binary;
    EXPECT_EQ(target.host, c.host);
    EXPECT_EQ(target.port, c.port);
    EXPECT_EQ(target.queue, c.queue);
    EXPECT_EQ(target.http, *c.url != 0);
    EXPECT_EQ(target.tls, std::string_view(c.url).starts_with("https"));
  }
}

TEST(LoadTarget, IsRefusedWithAReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"",              ""   },
      {"http://h/a/q",  "h:1"},
      {"ftp://h/a/q",   ""   },
      {"http://h/q",    ""   },
      {"http://h:1/a/", ""   },
      {"http://:1/a/q", ""   },
      {"",              "h"  },
      {"",              ":1" },
  };
  for (const auto& [url, binary] : cases) {
    LoadOptions options;
    options.url = url;
    options.binary = binary;
    Target target;
    EXPECT_NE(load::parse_target(options, target), "") << url << " " << binary;
  }
}

TEST(LoadOptions, OutsideTheirRangesAreAUsageError) {
  struct Case {
    const char* name;
    void (*spoil)(LoadOptions&);
  };
  constexpr Case cases[] = {
      {"no endpoint",          [](LoadOptions& o) { o.binary.clear(); }                             },
      {"no connections",       [](LoadOptions& o) { o.connections = 0; }                            },
      {"many connections",     [](LoadOptions& o) { o.connections = 1025; }                         },
      {"no depth",             [](LoadOptions& o) { o.depth = 0; }                                  },
      {"batch over HTTP",
       [](LoadOptions& o) { o.url = "http://127.0.0.1:1/a/q", o.binary = "", o.batch = 11; }        },
      {"batch",                [](LoadOptions& o) { o.batch = 1025; }                               },
      {"body",                 [](LoadOptions& o) { o.body = (1 << 20) + 1; }                       },
      {"no room for time",
       [](LoadOptions& o) { o.workload = LoadOptions::Workload::e2e, o.body = 15; }                 },
      {"a frame too large",    [](LoadOptions& o) { o.batch = 17, o.body = 1 << 20; }               },
      {"negative rate",        [](LoadOptions& o) { o.rate = -1; }                                  },
      {"no time",              [](LoadOptions& o) { o.seconds = 0; }                                },
      {"warm-up",              [](LoadOptions& o) { o.warm_up = -1; }                               },
      {"no rounds",            [](LoadOptions& o) { o.rounds = 0; }                                 },
      {"many rounds",          [](LoadOptions& o) { o.rounds = 101; }                               },
      {"no threads",           [](LoadOptions& o) { o.threads = 0; }                                },
      {"idle threads",         [](LoadOptions& o) { o.threads = 2; }                                },
      {"no groups",            [](LoadOptions& o) { o.groups = 0; }                                 },
      {"cleanup alone",        [](LoadOptions& o) { o.cleanup = true; }                             },
      {"once, received",
       [](LoadOptions& o) { o.workload = LoadOptions::Workload::receive, o.once = true; }           },
      {"once, over HTTP",
       [](LoadOptions& o) { o.url = "http://127.0.0.1:1/a/q", o.binary = "", o.once = true; }       },
      {"verified sends",       [](LoadOptions& o) { o.verify = true; }                              },
      {"no room for numbers",
       [](LoadOptions& o) {
         o.workload = LoadOptions::Workload::e2e, o.verify = true, o.body = 31;
       }                                                                                            },
      {"a token of two lines",
       [](LoadOptions& o) {
         o.url = "http://127.0.0.1:1/a/q", o.binary = "", o.session_token = "a\nb";
       }                                                                                            },
      {"rounds by count",      [](LoadOptions& o) { o.messages = 10, o.rounds = 2; }                },
      {"too few messages",     [](LoadOptions& o) { o.connections = o.threads = 4, o.messages = 3; }},
      {"a ramp at a rate",     [](LoadOptions& o) { o.ramp = "1:2:3", o.rate = 5; }                 },
      {"no ramp",              [](LoadOptions& o) { o.ramp = "2:1:3"; }                             },
  };
  for (const Case& c : cases) {
    LoadOptions options;
    options.binary = "127.0.0.1:1";
    c.spoil(options);
    std::FILE* nowhere = std::fopen("/dev/null", "w");
    EXPECT_EQ(run_load(options, nowhere, nowhere), 2) << c.name;
    std::fclose(nowhere);
  }
}

TEST(LoadPace, FallsDueAtTheRateWithoutDrift) {
  load::LoadSchedule pace(3, 1000);  // a third of a second is no whole number of nanoseconds
  EXPECT_EQ(pace.next(5), 1000u) << "the first at once, whatever the time is";
  for (int i = 0; i < 3'000'000; ++i) pace.issue();
  EXPECT_EQ(pace.next(5), 1000u + 1'000'000ull * 1'000'000'000u);
  EXPECT_TRUE(pace.open());
  EXPECT_EQ(pace.left(1000u + 1'000'001ull * 1'000'000'000u), 3u);
  EXPECT_EQ(pace.left(5000), 0u);
  EXPECT_EQ(pace.left(999), 0u) << "an end before the start";
  load::LoadSchedule closed(0, 1000);
  closed.issue();
  EXPECT_EQ(closed.next(77), 77u);
}

TEST(LoadStamp, IsReadBackAndNothingElseIs) {
  std::string body = load::make_body(20);
  EXPECT_EQ(load::read_stamp(body), 0u) << "g is no hexadecimal digit";
  load::write_stamp(body.data(), 0x0123'4567'89AB'CDEF);
  EXPECT_EQ(body, "0123456789abcdefqrst");
  EXPECT_EQ(load::read_stamp(body), 0x0123'4567'89AB'CDEFu);
  EXPECT_EQ(load::read_stamp(body.substr(0, 15)), 0u);
}

// --- HTTP ---

class HttpCodec : public testing::Test {
 protected:
  HttpCodec() {
    options_.url = "http://host:1/acct/q";
    options_.body = 16;
    options_.depth = 4;
  }
  void make() {
    Target target;
    ASSERT_EQ(load::parse_target(options_, target), "");
    codec_ = load::make_http_codec(options_, target);
  }
  static std::string answer(std::string_view body, int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Some Reason\r\nServer: x\r\ncontent-LENGTH: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
  }
  std::size_t parse(std::string_view bytes) {
    replies_.clear();
    delivered_.clear();
    return codec_->parse(bytes, replies_, delivered_);
  }

  LoadOptions options_;
  std::unique_ptr<Codec> codec_;
  std::vector<Reply> replies_;
  std::vector<Delivered> delivered_;
};

TEST_F(HttpCodec, SendsWhatSqsTakesWithTheStampInEachBody) {
  options_.batch = 2;
  make();
  std::string out;
  codec_->append_send(out, 0, {.stamp = 0xAB});
  EXPECT_TRUE(out.starts_with(
      "POST / HTTP/1.1\r\nHost: host:1\r\nX-Amz-Target: AmazonSQS.SendMessageBatch\r\n"))
      << out;
  const std::string body =
      "{\"QueueUrl\":\"http://host:1/acct/q\",\"Entries\":["
      "{\"Id\":\"0\",\"MessageBody\":\"00000000000000ab\"},{\"Id\":\"1\",\"MessageBody\":"
      "\"00000000000000ab\"}]}";
  EXPECT_TRUE(
      out.ends_with("\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body))
      << out;
}

TEST_F(HttpCodec, CarriesTheSessionTokenOfItsKey) {
  options_.key_id = "AKIDEXAMPLE";
  options_.secret = "secret";
  options_.session_token = "IQoJb3JpZ2luX2VjE+/w==";
  make();
  std::string out;
  codec_->append_send(out, 0, {});
  EXPECT_NE(out.find("\r\nX-Amz-Security-Token: IQoJb3JpZ2luX2VjE+/w==\r\n"), out.npos) << out;
}

TEST_F(HttpCodec, NumbersMessagesAndSpreadsThemOverGroups) {
  options_.url += ".fifo";
  options_.batch = 3;
  options_.body = 32;
  options_.groups = 2;
  options_.verify = true;
  make();
  std::string out;
  codec_->append_send(out, 0, {.stamp = 0xAB, .sequence = 0x10});
  const std::string stamp = "00000000000000ab";
  EXPECT_NE(out.find("\"MessageBody\":\"" + stamp + "0000000000000010\""), out.npos) << out;
  EXPECT_NE(out.find("\"MessageBody\":\"" + stamp + "0000000000000012\""), out.npos) << out;
  const std::string group = "\"MessageGroupId\":\"bench-000000000000000";
  std::string groups;
  for (std::size_t at = out.find(group); at != out.npos; at = out.find(group, at + 1))
    groups += out[at + group.size()];
  EXPECT_EQ(groups, "010");

  out.clear();
  codec_->append_receive(out, 1, false);
  ASSERT_NE(parse(answer("{}") + answer("{\"Messages\":[{\"ReceiptHandle\":\"r\",\"Body\":\"" +
                                        stamp + "0000000000000012\"}]}")),
            Codec::broken);
  ASSERT_EQ(delivered_.size(), 1u);
  EXPECT_EQ(delivered_[0].stamp, 0xABu);
  EXPECT_EQ(delivered_[0].sequence, 0x12u);
}

TEST_F(HttpCodec, TakesAnswersInTheOrderOfRequestsAndWaitsForTheRest) {
  make();
  std::string out;
  codec_->append_send(out, 2, {.stamp = 1});
  codec_->append_send(out, 0, {.stamp = 1});
  const std::string two = answer("{}") + answer("{\"__type\":\"x\"}", 500);
  for (std::size_t cut = 0; cut < answer("{}").size(); ++cut)
    EXPECT_EQ(parse(two.substr(0, cut)), 0u);
  EXPECT_EQ(parse(two), two.size());
  ASSERT_EQ(replies_.size(), 2u);
  EXPECT_EQ(replies_[0].slot, 2u);
  EXPECT_EQ(replies_[0].good, 1u);
  EXPECT_EQ(replies_[1].slot, 0u);
  EXPECT_EQ(replies_[1].good, 0u);
  EXPECT_EQ(replies_[1].failed, 1u);
  EXPECT_EQ(parse(answer("{}")), Codec::broken) << "nobody asked";
}

TEST_F(HttpCodec, FindsReceiptsAndStampsAndDeletesByThem) {
  options_.batch = 10;
  make();
  std::string out;
  codec_->append_receive(out, 1, true);
  EXPECT_NE(out.find("\"MaxNumberOfMessages\":10,\"WaitTimeSeconds\":1}"), out.npos);
  const std::string body =
      "{\"Messages\": "
      "[{\"MessageId\":\"m\",\"ReceiptHandle\":\"r+1/"
      "=\",\"MD5OfBody\":\"0\",\"Body\":\"00000000000000ffabc\"},"
      "{\"Body\" : \"alien\", \"ReceiptHandle\" : \"r2\"}]}";
  ASSERT_EQ(parse(answer(body)), answer(body).size());
  ASSERT_EQ(replies_.size(), 1u);
  EXPECT_EQ(replies_[0].good, 2u);
  ASSERT_EQ(delivered_.size(), 2u);
  EXPECT_EQ(delivered_[0].stamp, 0xFFu);
  EXPECT_EQ(delivered_[1].stamp, 0u);

  // The test uses its own receipts: the views point into the response, which is already freed.
  const Delivered both[] = {{.receipt = "r+1/="}, {.receipt = "r2"}};
  out.clear();
  codec_->append_delete(out, 1, both, 2);
  EXPECT_NE(out.find("AmazonSQS.DeleteMessageBatch"), out.npos);
  EXPECT_TRUE(
      out.ends_with(",\"Entries\":[{\"Id\":\"0\",\"ReceiptHandle\":\"r+1/"
                    "=\"},{\"Id\":\"1\",\"ReceiptHandle\":\"r2\"}]}"));
  const std::string partly =
      answer("{\"Successful\":[{\"Id\":\"0\"}],\"Failed\":[{\"Id\":\"1\",\"SenderFault\":true}]}");
  ASSERT_EQ(parse(partly), partly.size());
  EXPECT_EQ(replies_[0].good, 1u);
  EXPECT_EQ(replies_[0].failed, 1u);

  out.clear();
  codec_->append_delete(out, 1, both, 1);
  EXPECT_TRUE(out.ends_with("{\"QueueUrl\":\"http://host:1/acct/q\",\"ReceiptHandle\":\"r+1/=\"}"))
      << out;
}

TEST_F(HttpCodec, PutsChunksTogether) {
  make();
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "11\r\n{\"ReceiptHandle\":\r\n6\r\n\"abc\"}\r\n0\r\n\r\n";
  std::string out;
  codec_->append_receive(out, 3, false);
  for (std::size_t cut = 0; cut < chunked.size(); ++cut)
    EXPECT_EQ(parse(chunked.substr(0, cut)), 0u) << cut;
  ASSERT_EQ(parse(chunked), chunked.size());
  ASSERT_EQ(delivered_.size(), 1u);
  EXPECT_EQ(delivered_[0].receipt, "abc");
}

TEST_F(HttpCodec, KnowsWhenItIsNotHttp) {
  make();
  std::string out;
  codec_->append_send(out, 0, {});
  EXPECT_EQ(parse("SSH-2.0-x\r\n\r\n"), Codec::broken);
}

// --- whole runs, against the fake server ---

TEST_F(LoadRun, ReceivesAndDeletesExactlyWhatWasSentAndThenStops) {
  const double sent = run(LoadOptions::Workload::send, "messages");
  EXPECT_GT(sent, 0);
  options_.seconds = 60;
  EXPECT_EQ(run(LoadOptions::Workload::receive, "messages"), sent);
  EXPECT_EQ(run(LoadOptions::Workload::receive, "messages"), 0) << "they were deleted";
}

TEST_F(LoadRun, EndsWithAsManyMessagesAsItIsTold) {
  options_.seconds = 60;
  options_.messages = 300;
  EXPECT_EQ(run(LoadOptions::Workload::send, "messages"), 300);
  options_.messages = 99;
  const double received = run(LoadOptions::Workload::receive, "messages");
  EXPECT_GE(received, 99);
  EXPECT_LT(received, 300);
  EXPECT_GE(run(LoadOptions::Workload::e2e, "messages"), 99);
  options_.messages = 100;
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  EXPECT_EQ(run_load(options_, nowhere, nowhere), 2) << "no multiple of a batch of 3";
  std::fclose(nowhere);
}

TEST_F(LoadRun, SendsAtTheRateItIsTold) {
  options_.rate = 600;
  options_.seconds = 0.5;
  EXPECT_EQ(run(LoadOptions::Workload::send, "messages"), 300);
}

TEST_F(LoadRun, MeasuresFromSendToDeliveryAndLeavesNothingBehind) {
  options_.rate = 300;
  EXPECT_EQ(run(LoadOptions::Workload::e2e, "messages"), 90);
  options_.rate = 0;
  EXPECT_GT(run(LoadOptions::Workload::e2e, "p50_us"), 0);
  EXPECT_EQ(run(LoadOptions::Workload::receive, "messages"), 0);
}

TEST_F(LoadRun, ChargesAServerThatStallsToEveryoneWhoWaited) {
  // One request at a time, due faster than responses can arrive: the last request waits longest.
  options_.connections = 1;
  options_.depth = 1;
  options_.batch = 1;
  options_.rate = 2'000'000;  // 20,000 in 10 ms: a round trip of half a microsecond does not exist
  options_.seconds = 0.01;
  const double p99 = run(LoadOptions::Workload::send, "p99_us");
  EXPECT_GT(p99, 10'000) << "the last one waited for 20,000 round trips";
}

TEST_F(LoadRun, FailsWhenTheServerGoesAwayAndStillPrintsItsFigures) {
  server_.misbehave(BinaryOp::send, FakeServer::Fault::hang_up);
  EXPECT_EQ(run(), 1);
  EXPECT_NE(err_.find("total "), err_.npos) << err_;
  EXPECT_NE(err_.find("error: "), err_.npos) << err_;
  EXPECT_GE(number("messages"), 0) << out_;
  EXPECT_NE(out_.find("\"fault\":"), out_.npos) << out_;
  options_.binary = "127.0.0.1:1";
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(out_, "") << "nothing was measured";
}

TEST_F(LoadRun, DividesALoadAmongThreads) {
  options_.connections = 5;
  options_.threads = 3;
  options_.seconds = 60;
  options_.messages = 300;
  EXPECT_EQ(run(LoadOptions::Workload::send, "messages"), 300);
  options_.messages = 0;
  options_.seconds = 0.5;
  EXPECT_EQ(run(LoadOptions::Workload::receive, "messages"), 300);
  options_.rate = 900;
  EXPECT_EQ(run(LoadOptions::Workload::send, "messages"), 450);
  EXPECT_GT(run(LoadOptions::Workload::e2e, "messages"), 449);
}

TEST_F(LoadRun, LeavesTheWarmUpOutAndDividesTheRestIntoRounds) {
  options_.rate = 1200;
  options_.warm_up = 0.25;
  options_.seconds = 0.25;
  options_.rounds = 3;
  const double messages = run(LoadOptions::Workload::send, "messages");
  EXPECT_LE(messages, 1200)
      << "of 1200 sent, the warm-up's 300 count only where responses are late";
  EXPECT_GE(messages, 900);
  std::size_t rounds = 0;
  for (std::size_t at = out_.find("\"elapsed_s\":"); at != out_.npos;
       at = out_.find("\"elapsed_s\":", at + 1))
    ++rounds;
  EXPECT_EQ(rounds, 1u + 3u) << out_;
  EXPECT_NE(err_.find("3 rounds, median (least to most): "), err_.npos) << err_;
}

TEST_F(LoadRun, FindsNothingWrongWithDeliveriesOfASoundServer) {
  options_.verify = true;
  options_.threads = 2;
  EXPECT_EQ(run(LoadOptions::Workload::e2e, "lost"), 0);
  EXPECT_EQ(number("duplicates"), 0);
  EXPECT_EQ(number("disordered"), 0);
  EXPECT_NE(err_.find("deliveries: 0 lost, 0 duplicate, 0 out of order"), err_.npos) << err_;
}

// A codec that confuses the first two messages of each response.
class ConfusingCodec : public WrappedCodec {
 public:
  using WrappedCodec::WrappedCodec;
  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    const std::size_t taken = WrappedCodec::parse(bytes, replies, delivered);
    if (delivered.size() > 1) std::swap(delivered[0].sequence, delivered[1].sequence);
    return taken;
  }
};

// A codec that notes the numbers of each SEND_ONCE.
class NotingCodec : public WrappedCodec {
 public:
  struct Numbers {
    std::uint64_t producer = 0, first = 0, floor = 0;
  };
  static inline std::vector<Numbers> noted;

  using WrappedCodec::WrappedCodec;
  void append_send(std::string& out, std::uint32_t slot, const load::Mark& mark) override {
    const std::size_t begin = out.size();
    WrappedCodec::append_send(out, slot, mark);
    const auto header = parse_header(std::string_view(out).substr(begin));
    ASSERT_TRUE(header);
    ASSERT_EQ(header->op, static_cast<std::uint8_t>(BinaryOp::send_once));
    BinaryReader in(std::string_view(out).substr(begin + frame_header_bytes));
    Numbers& numbers = noted.emplace_back();
    numbers.producer = in.take<std::uint64_t>();
    numbers.first = in.take<std::uint64_t>();
    numbers.floor = in.take<std::uint64_t>();
  }
};

TEST_F(LoadRun, NumbersMessagesThatAreSentOnce) {
  options_.once = true;
  options_.connections = 1;
  options_.seconds = 60;
  options_.messages = 300;
  Target target;
  ASSERT_EQ(load::parse_target(options_, target), "");
  target.make = [](const LoadOptions& options, const Target& at) -> std::unique_ptr<Codec> {
    return std::make_unique<NotingCodec>(options, at);
  };
  NotingCodec::noted.clear();
  EXPECT_EQ(run_at(target), 0) << err_;
  EXPECT_EQ(number("messages"), 300) << err_;
  EXPECT_EQ(number("errors"), 0);
  ASSERT_EQ(NotingCodec::noted.size(), 100u);
  NotingCodec::Numbers before = NotingCodec::noted.front();
  EXPECT_NE(before.producer, 0u);
  EXPECT_EQ(before.floor, before.first) << "nothing is unanswered";
  before.first -= 3;
  for (const NotingCodec::Numbers& numbers : NotingCodec::noted) {
    EXPECT_EQ(numbers.producer, before.producer);
    EXPECT_EQ(numbers.first, before.first + 3);
    EXPECT_LE(numbers.floor, numbers.first);
    EXPECT_GE(numbers.floor, before.floor);
    before = numbers;
  }
  EXPECT_GT(before.floor, NotingCodec::noted.front().first) << "it rises with the responses";
}

TEST_F(LoadRun, FailsWhenDeliveriesAreDisordered) {
  options_.workload = LoadOptions::Workload::e2e;
  options_.connections = 1;
  options_.depth = 1;
  options_.verify = true;
  Target target;
  ASSERT_EQ(load::parse_target(options_, target), "");
  target.queue = "as_if.fifo";
  target.make = [](const LoadOptions& options, const Target& fifo) -> std::unique_ptr<Codec> {
    Target standard = fifo;
    standard.queue = "bench";
    return std::make_unique<ConfusingCodec>(options, standard);
  };
  options_.binary.clear();  // it only names a target that is given
  options_.url = "test://as_if.fifo";
  EXPECT_EQ(run_at(target), 4);
  EXPECT_GT(number("disordered"), 0) << out_;
  EXPECT_EQ(number("lost"), 0);
  EXPECT_NE(err_.find("error: deliveries are wrong"), err_.npos) << err_;
}

TEST_F(LoadRun, DeletesTheQueueThatItCreatedAndNoOther) {
  options_.cleanup = true;
  EXPECT_EQ(run(), 0) << err_;
  EXPECT_EQ(err_.find("is kept"), err_.npos) << err_;
  options_.create = options_.cleanup = false;
  EXPECT_EQ(run(), 1) << "the queue is deleted";
  EXPECT_NE(err_.find("there is no queue"), err_.npos) << err_;
  options_.create = true;
  EXPECT_EQ(run(), 0);
  options_.cleanup = true;
  EXPECT_EQ(run(), 0);
  EXPECT_NE(err_.find("is kept: it existed before"), err_.npos) << err_;
  options_.create = options_.cleanup = false;
  EXPECT_EQ(run(), 0) << "the queue is kept";
}

TEST_F(LoadRun, ClimbsUntilARateIsNotHeld) {
  options_.connections = 1;
  options_.depth = 1;
  options_.batch = 1;
  options_.seconds = 0.01;
  options_.p99_limit_us = 60'000'000;
  options_.ramp = "20:4000000:2";  // the second rate is beyond any round trip
  EXPECT_EQ(run(), 0) << err_;
  EXPECT_NE(out_.find("\"ramp\":[{\"rate\":20.0,"), out_.npos) << out_;
  EXPECT_NE(err_.find("knee: 20 msg/s is the last rate held"), err_.npos) << err_;
}

// Each step has connections of its own; from the second step on they are refused.
class RefusedLater : public WrappedCodec {
 public:
  using WrappedCodec::WrappedCodec;
  std::string prepare(load::Channel& channel, bool create) override {
    return ++prepared > 1 ? "the server is away" : WrappedCodec::prepare(channel, create);
  }
  static inline int prepared = 0;
};

TEST_F(LoadRun, ARampKeepsTheStepsBeforeALostServer) {
  RefusedLater::prepared = 0;
  options_.connections = options_.depth = options_.batch = 1;
  options_.seconds = 0.1;
  options_.p99_limit_us = 60'000'000;
  options_.ramp = "20:40:2";
  Target target;
  ASSERT_EQ(load::parse_target(options_, target), "");
  target.make = [](const LoadOptions& options, const Target& to) -> std::unique_ptr<load::Codec> {
    return std::make_unique<RefusedLater>(options, to);
  };
  EXPECT_EQ(run_at(target), 1) << "not the whole ramp was run";
  EXPECT_NE(out_.find("\"ramp\":[{\"rate\":20.0,"), out_.npos) << out_;
  EXPECT_NE(err_.find("the server is away"), err_.npos) << err_;
}

}  // namespace
}  // namespace pawl
