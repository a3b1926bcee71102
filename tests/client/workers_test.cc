// SPDX-License-Identifier: Apache-2.0
#include "net/client/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <string>
#include <vector>

namespace pawl::client {
namespace {

TEST(Workers, RunHandlersAtTheSameTimeAndDiscardTheQueueWhenStopped) {
  Readiness readiness;
  Verdicts verdicts(readiness);
  std::counting_semaphore<> entered(0), leave(0);
  std::atomic<int> handled = 0;
  Workers workers([&](const Client::MessageView& message, Consumer::Token) {
    ++handled;
    entered.release();
    leave.acquire();
    return message.body == "later" ? Verdict::later() : Verdict::done();
  });
  ASSERT_EQ(workers.start(2, verdicts), 0);
  std::string body = "done";
  Client::MessageView message;
  message.body = body;
  workers.push(message, {1, 1});
  body = "????";  // the message was copied
  message.body = "later";
  workers.push(message, {2, 1});
  message.body = "never";
  workers.push(message, {3, 1});
  entered.acquire();
  entered.acquire();
  EXPECT_EQ(handled, 2) << "two threads, the third message waits";
  std::thread stopping([&] { workers.stop(); });
  // The handlers return only after the queue was discarded.
  while (workers.queued() > 0) std::this_thread::yield();
  leave.release(2);
  stopping.join();
  EXPECT_EQ(handled, 2);
  std::vector<TokenVerdict> arrived;
  verdicts.collect(arrived);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].token.slot, 1u);
  workers.push(message, {4, 1});
  EXPECT_EQ(workers.queued(), 0u) << "nothing is queued after the stop";
}

}  // namespace
}  // namespace pawl::client
