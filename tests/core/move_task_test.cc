// SPDX-License-Identifier: Apache-2.0
// The life of a task: its end, and how long it is remembered.
#include "core/queue/move_task.h"

#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

TEST(MoveTask, OfAnEmptyQueueIsDoneAtOnce) { run("queue d | move d | moves d -> 1:completed:0/0"); }

TEST(MoveTask, IsRememberedForTenTasks) {
  Script script;
  script.run("queue d | moves d -> ");
  for (int i = 0; i < 12; ++i) script.run("move d");
  const char* ten =
      "moves d -> 12:completed:0/0 11:completed:0/0 10:completed:0/0 9:completed:0/0 "
      "8:completed:0/0 7:completed:0/0 6:completed:0/0 5:completed:0/0 4:completed:0/0 "
      "3:completed:0/0";
  script.run(ten);
  script.run("rotate | restart");
  script.run(ten);
  script.run("stop_move d 2 -> no_such_task | move d");
}

TEST(MoveTask, EndsWithItsQueue) {
  run("queue d | queue t | fill d 10 | move d to=t rate=1 | hold | advance 1s | drop d -> pending "
      "| flush | "
      "advance 10s | count t -> 2/0/0 | stored -> 2 | restart | count t -> 2/0/0 | stored -> 2");
}

}  // namespace
}  // namespace pawl::test
