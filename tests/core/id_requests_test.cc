// SPDX-License-Identifier: Apache-2.0
#include "core/shard/id_requests.h"

#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

void run(std::string_view steps) { Script().run(steps); }

// --- cancel ---

TEST(IdRequests, CancelAMessageThatWaitsOrIsDelayed) {
  run("queue q | send q a b | cancel_id q 1 | receive q max=9 -> b#1 | cancel_id q 1 -> gone");
  run("queue q | send q a delay=9 | cancel_id q 1 | count q -> 0/0/0 | advance 10s | "
      "receive q -> none | stored -> 0");
  run("queue q | send q a | receive q visibility=1 -> a#1 | advance 1s | cancel_id q 1 | "
      "receive q -> none");
  run("queue q | send q a | cancel_id q 1 7 -> ok gone | cancel_id q 7 -> gone");
}

TEST(IdRequests, CancelAcrossACrash) {
  run("queue q | send q a b delay=9 | cancel_id q 2 | crash | advance 9s | receive q max=9 -> a#1");
  run("queue q | send q a b delay=9 | rotate | cancel_id q 2 | crash | count q -> 0/0/1");
  run("queue q | send q a | hold | cancel_id q 1 -> pending");
}

TEST(IdRequests, RefuseToCancelAMessageInFlight) {
  run("queue q | send q a b | receive q -> a#1 | cancel_id q 1 2 -> message_in_flight ok | "
      "delete q a#1 | cancel_id q 1 -> gone");
  run("queue q | send q a b | receive q max=2 -> a#1 b#1 | cancel_id q 2 -> message_in_flight | "
      "count q -> 0/2/0");
}

TEST(IdRequests, EndAMessageInFlightWhenItComesBack) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | "
      "count q -> 0/1/0 | cancel_id q 1 even=1 | advance 30s | count q -> 0/0/0 | stored -> 0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | "
      "change q 0 a#1 | count q -> 0/0/0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | "
      "undeliver q a#1 | count q -> 0/0/0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | "
      "snooze q 5 a#1 | count q -> 0/0/0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | "
      "change q 60 a#1 | advance 59s | count q -> 0/1/0 | delete q a#1 | count q -> 0/0/0");
  run("queue q visibility=30 backoff=none:5000 | send q a | receive q -> a#1 | "
      "cancel_id q 1 even=1 | advance 30s | count q -> 0/0/0");
  run("queue d | queue q visibility=30 max_receive=1 dlq=d dead_at=1 | send q a | "
      "receive q -> a#1 | cancel_id q 1 even=1 | advance 30s | count q -> 0/0/0 | count d -> "
      "0/0/0");
}

TEST(IdRequests, EndAMessageInFlightAfterACrash) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | crash | "
      "count q -> 0/1/0 | advance 30s | count q -> 0/0/0 | crash | count q -> 0/0/0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | rotate | "
      "crash | advance 30s | count q -> 0/0/0");
  run("queue q visibility=30 | send q a | receive q -> a#1 | cancel_id q 1 even=1 | crash 40s | "
      "advance 1ms | count q -> 0/0/0");
}

TEST(IdRequests, FreeTheGroupOfACancelledMessage) {
  run("queue q fifo=1 visibility=30 | send q g:a g:b | cancel_id q 1 | receive q -> b#1");
  run("queue q fifo=1 visibility=30 | send q g:a g:b | receive q -> a#1 | cancel_id q 1 even=1 | "
      "receive q -> none | receive q wait=20 as w -> pending | change q 0 a#1 | w -> b#1");
}

// --- reschedule ---

TEST(IdRequests, SetTheNextDelivery) {
  run("queue q | send q a | plan q 9 1 | receive q -> none | count q -> 0/0/1 | advance 9s | "
      "receive q -> a#1");
  run("queue q | send q a delay=900 | plan q 0 1 | receive q -> a#1");
  run("queue q | send q a delay=900 | plan q 5 1 | advance 4999ms | receive q -> none | "
      "advance 1ms | receive q -> a#1");
  run("queue q | send q a | receive q wait=20 as w -> a#1");
  run("queue q | send q a delay=900 | receive q wait=20 as w -> pending | plan q 0 1 | w -> a#1");
  run("queue q | send q a | receive q visibility=1 -> a#1 | advance 1s | plan q 9 1 | "
      "peek q -> a:delayed#1+9000 | advance 9s | receive q -> a#2");
  run("queue q | plan q 9 1 -> message_gone | send q a | receive q -> a#1 | "
      "plan q 9 1 -> message_in_flight");
  run("queue q | send q a | plan q 0 1 | receive q -> a#1");
}

TEST(IdRequests, SetTheNextDeliveryAcrossACrash) {
  run("queue q | send q a | plan q 9 1 | crash | peek q -> a:delayed+9000 | advance 9s | "
      "receive q -> a#1");
  run("queue q | send q a delay=900 | plan q 0 1 | crash | receive q -> a#1");
  run("queue q | send q a delay=900 | plan q 9 1 | rotate | crash | peek q -> a:delayed+9000");
  run("queue q | send q a | hold | plan q 9 1 -> pending");
}

TEST(IdRequests, SetADeliveryThatTheDelayOfAFifoQueueLeaves) {
  run("queue q fifo=1 | send q g:a g:b | plan q 60 1 | receive q -> none | set q delay=1 | "
      "advance 59s | receive q -> none | advance 1s | receive q max=9 -> a#1 b#1");
  run("queue q fifo=1 | send q g:a | plan q 60 1 | crash | set q delay=1 | crash | "
      "peek q -> a:delayed+60000");
  run("queue q fifo=1 delay=9 | send q g:a | set q delay=0 | plan q 0 1 | set q delay=9 | crash | "
      "receive q -> a#1");
}

TEST(IdRequests, WorkBesideASetAsideMessage) {
  run("queue q | send q a b | set_aside q a | cancel_id q 1 | crash | count q -> 1/0/0");
}

// --- uncounted ---

TEST(ReceiptRequests, ReturnADeliveryAsUncounted) {
  run("queue q | send q a | receive q -> a#1 | snooze q 5 a#1 | count q -> 0/0/1 | advance 5s | "
      "receive q -> a#1 | snooze q 0 a#1 | receive q -> a#1");
  run("queue q visibility=1 | send q a | receive q -> a#1 | advance 1s | receive q -> a#2 | "
      "snooze q 5 a#2 | peek q -> a:delayed#1+5000 | crash | peek q -> a:delayed#1+5000");
  run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | snooze q 5 b#1 | "
      "rotate | crash | peek q -> a:in_flight#1+30000 b:delayed+5000 | advance 5s | "
      "receive q -> b#1");
}

TEST(ReceiptRequests, ReturnAsUncountedOnlyToItsConsumer) {
  run("queue q visibility=1 | send q a | receive q -> a#1 | advance 1s | "
      "snooze q 5 a#1 -> receipt_expired | receive q -> a#2 | snooze q 5 a#1 -> receipt_expired | "
      "snooze q 43201 a#2 -> visibility_beyond_max | snooze q 5 a#2 | delete q a#2 | "
      "snooze q 5 a#2 -> message_gone");
}

TEST(ReceiptRequests, ReturnAsUncountedOnceBesideAChange) {
  run("queue q visibility=1 | send q a | receive q -> a#1 | advance 1s | receive q -> a#2 | "
      "snooze q 0 a#2 | change q 5 a#2 | snooze q 0 a#2 -> receipt_expired | advance 5s | "
      "receive q -> a#2");
}

TEST(ReceiptRequests, LeaveAnUncountedReturnToItsTime) {
  run("queue q | send q a | receive q -> a#1 | snooze q 30 a#1 | change q 0 a#1 -> receipt_expired "
      "| "
      "change q 60 a#1 -> receipt_expired | peek q -> a:delayed+30000 | advance 30s | "
      "receive q -> a#1 | delete q a#1");
}

TEST(ReceiptRequests, ReturnAsUncountedWithoutBackOffOrDeadLetter) {
  run("queue q backoff=none:60000 | send q a | receive q -> a#1 | snooze q 2 a#1 | advance 2s | "
      "receive q -> a#1");
  run("queue d | queue q max_receive=1 dlq=d dead_at=1 | send q a | receive q -> a#1 | "
      "snooze q 2 a#1 | advance 2s | receive q -> a#1");
  run("queue q fifo=1 | send q g:a g:b | receive q -> a#1 | snooze q 2 a#1 | receive q -> none | "
      "advance 2s | receive q max=2 -> a#1 b#1");
}

// --- long leases ---

TEST(ReceiptRequests, HoldAMessageAsLongAsItsQueueAllows) {
  run("queue q | send q a | receive q -> a#1 | change q 12h a#1 | advance 1s | "
      "change q 12h a#1 -> visibility_beyond_max");
  run("queue q max_visibility=5d retention=14d | send q a | receive q -> a#1 | change q 5d a#1 | "
      "advance 1d | change q 5d a#1 -> visibility_beyond_max | change q 4d a#1 | "
      "advance 3d | count q -> 0/1/0");
}

TEST(ReceiptRequests, GiveBackAMessageEvenIfTheLimitIsLowerNow) {
  run("queue q max_visibility=5d retention=14d | send q a | receive q visibility=3d -> a#1 | "
      "advance 1d | set q max_visibility=0 | change q 3d a#1 -> visibility_beyond_max | "
      "change q 1h a#1 | change q 2h a#1 -> visibility_beyond_max | change q 0 a#1 | "
      "receive q -> a#2");
}

}  // namespace
}  // namespace pawl::test
