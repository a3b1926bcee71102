// SPDX-License-Identifier: Apache-2.0
// ChangeLines: the changes of one directory row that wait for each other in a shard.
//
//   absent --enter()--> under way --answered()--> asked again | ended --next()--> the next one
//              \--> waits ------------------------------------------------------------/
//
// A change is computed from the row as its connection's shard knows it (Request::based_on), and the
// control shard refuses it if the row has changed meanwhile. So of many changes computed at once
// one would succeed, and all others be computed again. Here one of a shard is under way at a time;
// changes of different shards still meet in the control shard.
//
// Limits: one request a connection.
// Errors: none.
// Owner:  the shard loop. Requests that wait belong to it like those under way.
#pragma once

#include <deque>
#include <unordered_map>

#include "core/queue/request.h"

namespace pawl {

class ChangeLines {
 public:
  // True: a change that waits for others, and others for it.
  static bool concerns(const Request& request) {
    return request.op == Op::set_attributes && request.based_on != nullptr;
  }
  // Call it when the request is submitted, for the first time or again. False: it waits until
  // next() returns it.
  bool enter(Request& request);
  // Call it when the answer has come, before its owner hears it. False: no line has the request.
  bool answered(const Request& request);
  // Call it when the owner of the answer has been told. The next change of the row, which is under
  // way from now on; null: there is none, or the owner has asked again.
  Request* next(QueueId row);
  bool empty() const { return lines_.empty(); }

 private:
  struct Line {
    const Request* first = nullptr;
    bool answered = false;
    std::deque<Request*> waiting;
  };
  std::unordered_map<QueueId, Line> lines_;
};

}  // namespace pawl
