// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pawl/client.h>

#include <algorithm>
#include <set>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

using Code = Client::Code;
using Fault = FakeServer::Fault;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST_F(ClientToServer, LearnsAboutTheServerWhenItConnects) {
  const Client client = connect();
  EXPECT_TRUE(client.connected());
  EXPECT_GE(client.descriptor(), 0);
  EXPECT_EQ(client.server().boot_id, 99u);
  EXPECT_EQ(client.server().shard, 1u);
  EXPECT_EQ(client.server().shards, 2u);
  EXPECT_EQ(client.server().shard_ports, (std::vector<std::uint16_t>{5001, 5002}));
  EXPECT_EQ(client.server().credit_frames, 8u);
}

TEST_F(ClientToServer, SaysWhyItCannotConnect) {
  Client::Options nobody = options();
  nobody.port = 1;
  const auto refused = Client::connect(nobody);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unreachable);
  EXPECT_EQ(refused.error().system, ECONNREFUSED);
  nobody.host = "no such host.invalid";
  EXPECT_EQ(Client::connect(nobody).error().code, Code::unreachable);
}

TEST_F(ClientToServer, CreatesOpensListsDescribesAndDeletesQueues) {
  Client client = connect();
  const Client::QueueAttribute attributes[] = {
      {"VisibilityTimeout", "90"},
      {"DelaySeconds",      "1" }
  };
  const auto made = client.create_queue("orders", attributes);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->visibility, 90s);
  EXPECT_EQ(made->delay, 1s);
  EXPECT_EQ(made->maximum_message_size, 1'048'576u);
  const auto opened = client.open_queue("orders");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->handle, made->handle);
  EXPECT_EQ(client.open_queue("absent").error().code, Code::no_such_queue);
  EXPECT_EQ(client.open_queue("orders", "another account").error().code, Code::no_such_queue);

  const Client::QueueAttribute other[] = {
      {"VisibilityTimeout", "91"}
  };
  EXPECT_EQ(client.create_queue("orders", other).error().code, Code::queue_exists);
  ASSERT_TRUE(client.set_attributes(*made, other));
  const auto described = client.describe(*made);
  ASSERT_TRUE(described);
  const std::pair<std::string, std::string> want{"VisibilityTimeout", "91"};
  EXPECT_EQ(std::ranges::count(described->attributes, want), 1);
  EXPECT_GT(described->created, 0);

  ASSERT_TRUE(client.create_queue("others"));
  const auto first = client.list_queues("o", "", 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->names, std::vector<std::string>{"orders"});
  EXPECT_TRUE(first->more);
  EXPECT_EQ(client.list_queues("o", "orders")->names, std::vector<std::string>{"others"});

  ASSERT_TRUE(client.delete_queue(*made));
  EXPECT_EQ(client.send(*made, "late").error().code, Code::no_such_queue);
  EXPECT_TRUE(client.ping()) << "a refusal is no reason to part";
}

TEST_F(ClientToServer, StartsListsAndCancelsReplays) {
  Client client = connect();
  const auto queue = client.create_queue("orders");
  ASSERT_TRUE(client.create_queue("again"));
  ASSERT_TRUE(queue);
  EXPECT_EQ(client.start_replay(*queue, {}).error().code, Code::not_kept);
  const Client::QueueAttribute kept[] = {
      {"x-replay-retention", "3600"}
  };
  ASSERT_TRUE(client.set_attributes(*queue, kept));
  EXPECT_TRUE(client.replays(*queue)->empty());
  EXPECT_EQ(client.start_replay(*queue, {.destination = "absent"}).error().code,
            Code::no_such_queue);
  EXPECT_EQ(client.start_replay(*queue, {.from = 2, .to = 1}).error().code, Code::invalid);
  const std::string endless(70'000, 'x');
  EXPECT_EQ(client.start_replay(*queue, {.filter = endless}).error().code, Code::too_large);
  EXPECT_EQ(client.start_replay(*queue, {.destination = endless}).error().code, Code::invalid);

  constexpr std::string_view red = R"({"colour":["red"]})";
  const auto first = client.start_replay(
      *queue, {.from = 1000, .to = 2000, .destination = "again", .rate = 100, .filter = red});
  ASSERT_TRUE(first) << Client::name_of(first.error().code);
  EXPECT_EQ(*first, 1u);
  EXPECT_EQ(client.start_replay(*queue, {}).error().code, Code::task_running);
  EXPECT_EQ(client.cancel_replay(*queue, 9).error().code, Code::no_such_task);
  EXPECT_EQ(client.cancel_replay(*queue, *first), 5u);
  EXPECT_EQ(client.cancel_replay(*queue, *first).error().code, Code::task_ended);
  EXPECT_EQ(client.start_replay(*queue, {}), 2u);

  const auto replays = client.replays(*queue);
  ASSERT_TRUE(replays);
  ASSERT_EQ(replays->size(), 2u);
  const Client::Replay& latest = replays->front();
  EXPECT_EQ(latest.number, 2u);
  EXPECT_EQ(latest.state, Client::Replay::State::running);
  EXPECT_EQ(latest.destination, "orders");
  EXPECT_EQ(latest.filter, "");
  const Client::Replay& earlier = replays->back();
  EXPECT_EQ(earlier.number, 1u);
  EXPECT_EQ(earlier.state, Client::Replay::State::cancelled);
  EXPECT_EQ(earlier.failure, Code::ok);
  EXPECT_EQ(earlier.rate, 100u);
  EXPECT_EQ(earlier.from, 1000);
  EXPECT_EQ(earlier.to, 2000);
  EXPECT_GT(earlier.started, 0);
  EXPECT_EQ(earlier.sent, 5u);
  EXPECT_EQ(earlier.unreadable, 6u);
  EXPECT_EQ(earlier.destination, "again");
  EXPECT_EQ(earlier.filter, red);
}

TEST_F(ClientToServer, SendsReceivesAndDeletesAMessageWithItsAttributes) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  ASSERT_TRUE(queue);
  const Client::Attribute attributes[] = {
      {"Z", "String", "last"},
      {"Blob", "Binary", std::string_view("\0\1", 2)},
      {"N", "Number.int", "1"}
  };
  const auto sent = client.send(*queue, {.body = "h\xC3\xA9llo", .attributes = attributes});
  ASSERT_TRUE(sent) << Client::name_of(sent.error().code);
  EXPECT_EQ(sent->sequence, 1u);

  const auto received = client.receive(*queue, {.max = 10, .wait = 0ms});
  ASSERT_TRUE(received);
  ASSERT_EQ(received->size(), 1u);
  const Client::Message& message = received->front();
  EXPECT_EQ(message.body, "h\xC3\xA9llo");
  EXPECT_EQ(message.id, sent->id);
  EXPECT_EQ(message.sequence, 1u);
  EXPECT_EQ(message.receive_count, 1u);
  EXPECT_GE(message.first_received, message.sent);
  const auto got = Client::attributes_of(message.encoded_attributes);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].name, "Blob");
  EXPECT_EQ(got[0].value, std::string_view("\0\1", 2));
  EXPECT_EQ(got[1].type, "Number.int");
  EXPECT_EQ(got[2].value, "last");
  EXPECT_EQ(Client::to_string(message.id).size(), 36u);
  EXPECT_EQ(Client::to_string(message.id)[14], '4') << "a UUID, version 4";

  EXPECT_TRUE(client.change_visibility(*queue, message.receipt, 10s));
  EXPECT_EQ(client.counts(*queue)->in_flight, 1u);
  EXPECT_TRUE(client.delete_message(*queue, message.receipt));
  EXPECT_EQ(client.change_visibility(*queue, message.receipt, 10s).error().code,
            Code::message_gone);
  EXPECT_EQ(client.delete_message(*queue, Client::Receipt{}).error().code, Code::receipt_invalid);
  EXPECT_EQ(client.counts(*queue)->in_flight, 0u);
}

TEST_F(ClientToServer, TellsForEachMessageOfABatchHowItWent) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const Client::Attribute reserved[] = {
      {"AWS.x", "String", "1"}
  };
  const Client::Outgoing batch[] = {
      {.body = "good"},
      {.body = std::string_view("\0", 1)},
      {.body = "a", .attributes = reserved},
      {.body = "later", .delay = 60s},
      {.body = "too late", .delay = 901s}
  };
  const auto sent = client.send(*queue, batch);
  ASSERT_TRUE(sent);
  std::vector<Code> codes;
  for (const Client::Sent& one : *sent) codes.push_back(one.code);
  EXPECT_EQ(codes,
            (std::vector{Code::ok, Code::bad_text, Code::bad_attributes, Code::ok, Code::invalid}));
  EXPECT_EQ(client.send(*queue, std::string_view("\0", 1)).error().code, Code::bad_text);
  const auto counts = client.counts(*queue);
  EXPECT_EQ(counts->visible, 1u);
  EXPECT_EQ(counts->delayed, 1u);
  ASSERT_TRUE(client.purge(*queue));
  EXPECT_EQ(client.counts(*queue)->visible, 0u);
}

TEST_F(ClientToServer, WaitsForAMessageAndThenDoesNot) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const auto start = std::chrono::steady_clock::now();
  const auto none = client.receive(*queue, {.wait = 50ms});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 40ms);
  ASSERT_TRUE(client.send(*queue, {.body = "soon", .delay = 30ms}));
  EXPECT_EQ(client.receive(*queue, {.wait = 20s})->size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(ClientToServer, TakesLargeMessagesAndChecksums) {
  Client::Options with = options();
  with.checksum = true;
  Client client = connect(with);
  const auto queue = client.create_queue("q");
  const std::string body(1 << 20, 'b');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.send(*queue, body));
  const auto received = client.receive(*queue, {.max = 3, .wait = 0ms});
  ASSERT_TRUE(received);
  ASSERT_EQ(received->size(), 3u);
  EXPECT_EQ(received->back().body, body);
}

// --- pipelined ---

TEST_F(ClientToServer, KeepsManyRequestsUnderWayAndTellsThemApart) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  std::vector<Client::Completion> completions;
  std::set<Client::Ticket> waiting;
  std::set<std::uint64_t> sequences;
  int left = 1000;
  while (left > 0 || !waiting.empty()) {
    while (left > 0) {
      const Client::Outgoing pair[] = {{.body = "a"}, {.body = "b"}};
      const auto ticket = client.submit_send(*queue, pair);
      if (!ticket) {
        ASSERT_EQ(ticket.error().code, Code::would_block);
        EXPECT_EQ(client.outstanding(), 8u) << "all of the credit";
        break;
      }
      EXPECT_TRUE(waiting.insert(*ticket).second);
      --left;
    }
    ASSERT_TRUE(client.poll(completions, 1s));
    for (const Client::Completion& done : completions) {
      EXPECT_EQ(waiting.erase(done.ticket), 1u);
      ASSERT_EQ(done.error.code, Code::ok);
      ASSERT_EQ(done.sent.size(), 2u);
      for (const Client::Sent& one : done.sent) EXPECT_TRUE(sequences.insert(one.sequence).second);
    }
  }
  EXPECT_EQ(sequences.size(), 2000u);
  EXPECT_EQ(client.counts(*queue)->visible, 2000u);
}

TEST_F(ClientToServer, SendsABatchAgainThatTheServerAcceptsOnce) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const Client::Outgoing batch[] = {{.body = "a"}, {.body = "b"}};
  const Client::BatchNumbers numbers{Client::random_producer(), 5, 5};
  std::vector<Client::Completion> completions;
  std::vector<std::uint64_t> sequences;
  for (int i = 0; i < 2; ++i) {
    const auto ticket = client.submit_send_once(*queue, numbers, batch);
    ASSERT_TRUE(ticket);
    ASSERT_TRUE(client.poll(completions, 1s));
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].ticket, *ticket);
    ASSERT_EQ(completions[0].sent.size(), 2u);
    for (const Client::Sent& sent : completions[0].sent) sequences.push_back(sent.sequence);
  }
  EXPECT_EQ(sequences[2], sequences[0]);
  EXPECT_EQ(sequences[3], sequences[1]);
  EXPECT_NE(sequences[0], sequences[1]);
  EXPECT_EQ(client.counts(*queue)->visible, 2u);
}

TEST_F(ClientToServer, SendsNothingOnceToAServerThatDoesNotKnowProducers) {
  server_.limit_features(~feature_send_once);
  Client client = connect();
  const auto queue = client.create_queue("q");
  const Client::Outgoing one[] = {{.body = "a"}};
  EXPECT_EQ(client.submit_send_once(*queue, {7, 1, 1}, one).error().code, Code::not_supported);
  EXPECT_TRUE(client.submit_send(*queue, one));
}

TEST_F(ClientToServer, CountsBytesAgainstItsCreditToo) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const std::string body(400'000, 'a');
  const Client::Outgoing one[] = {{.body = body}};
  ASSERT_TRUE(client.submit_send(*queue, one));
  ASSERT_TRUE(client.submit_send(*queue, one));
  EXPECT_EQ(client.submit_send(*queue, one).error().code, Code::would_block);
  const Client::Outgoing small[] = {{.body = "a"}};
  EXPECT_TRUE(client.submit_send(*queue, small)) << "the credit is enough for this one";
  std::vector<Client::Completion> completions;
  while (client.outstanding() > 0) ASSERT_TRUE(client.poll(completions, 5s));
  const std::string more(1 << 20, 'a');  // with its frame, beyond the credit of 1 MiB
  const Client::Outgoing large[] = {{.body = more}};
  EXPECT_TRUE(client.submit_send(*queue, large)) << "one frame may always go";
  while (client.outstanding() > 0) ASSERT_TRUE(client.poll(completions, 5s));
  EXPECT_EQ(client.counts(*queue)->visible, 4u);
}

TEST_F(ClientToServer, SpinsWhenToldTo) {
  Client::Options with = options();
  with.spin = 1s;
  Client client = connect(with);
  EXPECT_TRUE(client.ping());
}

// --- a server that misbehaves ---

TEST_F(ClientToServer, CompletesEveryTicketOnceWhenTheConnectionBreaks) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  server_.misbehave(BinaryOp::send, Fault::hang_up);
  std::set<Client::Ticket> waiting;
  for (int i = 0; i < 3; ++i) waiting.insert(*client.submit_receive(*queue, {.wait = 20s}));
  const Client::Outgoing one[] = {{.body = "a"}};
  waiting.insert(*client.submit_send(*queue, one));
  std::vector<Client::Completion> completions;
  while (!waiting.empty()) {
    ASSERT_TRUE(client.poll(completions, 1s));
    for (const Client::Completion& done : completions) {
      EXPECT_EQ(done.error.code, Code::broken);
      EXPECT_EQ(waiting.erase(done.ticket), 1u);
    }
  }
  EXPECT_FALSE(client.connected());
  EXPECT_EQ(client.descriptor(), -1);
  EXPECT_EQ(client.poll(completions, 0ms).error().code, Code::broken);
  EXPECT_EQ(client.submit_send(*queue, one).error().code, Code::broken);
  EXPECT_EQ(client.flush().error().code, Code::broken);
  EXPECT_EQ(client.ping().error().code, Code::broken);
}

TEST_F(ClientToServer, BreaksOffWhenAnAnswerCannotBeRight) {
  struct Case {
    Fault fault;
    Code code;
  };
  constexpr Case cases[] = {
      {Fault::hang_up,        Code::broken    },
      {Fault::garbage,        Code::bad_answer},
      {Fault::foreign_answer, Code::bad_answer},
      {Fault::flipped_bit,    Code::bad_answer},
      {Fault::say_nothing,    Code::timed_out },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.fault));
    server_.misbehave(BinaryOp::stats, Fault::none);
    Client::Options with = options();
    with.request_timeout = 200ms;
    with.checksum = true;
    Client client = connect(with);
    const auto queue = client.create_queue("q");
    server_.misbehave(BinaryOp::stats, c.fault);
    const auto counts = client.counts(*queue);
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, c.code);
    EXPECT_FALSE(client.connected());
    EXPECT_EQ(client.ping().error().code, c.code) << "for good";
  }
}

TEST_F(ClientToServer, GivesUpOnAServerThatDoesNotGreet) {
  server_.misbehave(BinaryOp::hello, Fault::say_nothing);
  Client::Options with = options();
  with.connect_timeout = 50ms;
  EXPECT_EQ(Client::connect(with).error().code, Code::timed_out);
}

TEST(ClientCode, HasANameForEach) {
  for (const int code :
       {0, 1000, 1107, 2005, 3004, 9000, 9001, 9002, 9003, 9004, 9005, 9006, 9007}) {
    EXPECT_NE(Client::name_of(static_cast<Code>(code)), "unknown") << code;
  }
  EXPECT_EQ(Client::name_of(static_cast<Code>(1999)), "unknown");
}

TEST(ClientMessage, KeepsItsTextsWhenItIsCopiedAndMoved) {
  std::string body = "body";
  Client::MessageView view;
  view.body = body;
  Client::Message first(view);
  const Client::Message copy(first);
  const Client::Message moved(std::move(first));
  body = "????";
  EXPECT_EQ(copy.body, "body");
  EXPECT_EQ(moved.body, "body");
}

}  // namespace
}  // namespace pawl
