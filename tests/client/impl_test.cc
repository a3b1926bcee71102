// SPDX-License-Identifier: Apache-2.0
// The implementation of the client: its handles, the requests that it refuses itself, and the
// arrays of its completions.
#include "net/client/impl.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

using Code = Client::Code;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST_F(ClientToServer, RefusesTheQueueOfAnotherClient) {
  Client first = connect(), second = connect();
  const auto orders = first.create_queue("orders");
  const auto audit = second.create_queue("audit");
  ASSERT_TRUE(orders && audit);
  ASSERT_EQ(orders->handle, audit->handle);  // the same number, another queue
  const Client::Outgoing message{.body = "m"};
  const Client::Receipt receipt{};
  const auto codes = [&](Client& client, const Client::Queue& queue) {
    const auto code_of = [](const auto& result) { return result ? Code::ok : result.error().code; };
    return std::vector<Code>{code_of(client.send(queue, "m")),
                             code_of(client.receive(queue, {.max = 1})),
                             code_of(client.delete_message(queue, receipt)),
                             code_of(client.purge(queue)),
                             code_of(client.counts(queue)),
                             code_of(client.submit_send(queue, std::span(&message, 1))),
                             code_of(client.submit_send_once(queue, {7, 1, 1}, {&message, 1})),
                             code_of(client.submit_receive(queue, {.max = 1})),
                             code_of(client.delete_queue(queue))};
  };
  const std::vector<Code> refused(9, Code::bad_handle);
  EXPECT_EQ(codes(first, *audit), refused);
  EXPECT_EQ(codes(second, *orders), refused);
  EXPECT_EQ(codes(first, Client::Queue{}), refused);
  Client moved = std::move(first);
  EXPECT_TRUE(moved.send(*orders, "m"));
  EXPECT_EQ(second.counts(*audit)->visible, 0u);
}

TEST_F(ClientToServer, RefusesBatchesThatNoServerWouldTake) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const std::string huge(1 << 24, 'a');
  const Client::Attribute eleven[11] = {};
  EXPECT_EQ(client.send(*queue, std::span<const Client::Outgoing>()).error().code, Code::invalid);
  EXPECT_EQ(client.send(*queue, std::vector<Client::Outgoing>(1025, {.body = "a"})).error().code,
            Code::invalid);
  EXPECT_EQ(client.submit_send_once(*queue, {7, 1, 1}, {}).error().code, Code::invalid);
  EXPECT_EQ(client.send(*queue, huge).error().code, Code::too_large);
  EXPECT_EQ(client.send(*queue, {.body = "a", .attributes = eleven}).error().code,
            Code::bad_attributes);
  const std::vector<Client::Outgoing> seventeen(
      17, {.body = std::string_view(huge).substr(0, 1 << 20)});
  EXPECT_EQ(client.send(*queue, seventeen).error().code, Code::too_large);
  EXPECT_EQ(client.delete_message(*queue, std::span<const Client::Receipt>()).error().code,
            Code::invalid);
  EXPECT_TRUE(client.send(*queue, "and goes on")) << "nothing of the refused went out";
}

TEST_F(ClientToServer, CompletesOutOfOrderAndKeepsViewsUntilTheNextCall) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  const auto waiting = client.submit_receive(*queue, {.max = 10, .wait = 20s});
  ASSERT_TRUE(waiting);
  EXPECT_EQ(client.ping().error().code, Code::busy);
  std::vector<Client::Completion> completions;
  EXPECT_EQ(client.poll(completions, 20ms), 0u);

  const Client::Outgoing batch[] = {{.body = "one"}, {.body = "two"}};
  const auto sending = client.submit_send(*queue, batch);
  ASSERT_TRUE(sending);
  std::vector<Client::Receipt> receipts;
  std::set<Client::Ticket> seen;
  while (seen.size() < 2) {
    ASSERT_TRUE(client.poll(completions, 1s));
    for (const Client::Completion& done : completions) {
      seen.insert(done.ticket);
      EXPECT_EQ(done.sent.size(), done.ticket == *sending ? 2u : 0u);
      if (done.ticket != *waiting) continue;
      ASSERT_EQ(done.messages.size(), 2u);
      EXPECT_EQ(done.messages[0].body, "one");
      EXPECT_EQ(done.messages[1].body, "two");
      for (const Client::MessageView& message : done.messages) receipts.push_back(message.receipt);
    }
  }
  receipts.push_back({});
  ASSERT_TRUE(client.submit_change_visibility(*queue, receipts, 30s));
  ASSERT_TRUE(client.submit_delete_message(*queue, receipts));
  std::size_t codes = 0;
  while (client.outstanding() > 0) {
    ASSERT_TRUE(client.poll(completions, 1s));
    for (const Client::Completion& done : completions) {
      ASSERT_EQ(done.codes.size(), 3u);
      EXPECT_EQ(done.codes[0], Code::ok);
      EXPECT_EQ(done.codes[2], Code::receipt_invalid);
      codes += done.codes.size();
    }
  }
  EXPECT_EQ(codes, 6u);
}

}  // namespace
}  // namespace pawl
