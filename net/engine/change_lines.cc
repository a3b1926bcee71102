// SPDX-License-Identifier: Apache-2.0
#include "net/engine/change_lines.h"

#include "core/base/check.h"

namespace pawl {

bool ChangeLines::enter(Request& request) {
  Line& line = lines_[request.queue];
  if (line.first != nullptr && line.first != &request) {
    line.waiting.push_back(&request);
    return false;
  }
  CHECK(line.first == nullptr || line.answered, "a change is submitted twice");
  line.first = &request;
  line.answered = false;
  return true;
}

bool ChangeLines::answered(const Request& request) {
  const auto found = lines_.find(request.queue);
  if (found == lines_.end() || found->second.first != &request) return false;
  CHECK(!found->second.answered, "a change is answered twice");
  found->second.answered = true;
  return true;
}

Request* ChangeLines::next(QueueId row) {
  const auto found = lines_.find(row);
  CHECK(found != lines_.end(), "row {} has no line", raw(row));
  Line& line = found->second;
  if (!line.answered) return nullptr;
  if (line.waiting.empty()) {
    lines_.erase(found);
    return nullptr;
  }
  Request* const request = line.waiting.front();
  line.waiting.pop_front();
  line.first = request;
  line.answered = false;
  return request;
}

}  // namespace pawl
