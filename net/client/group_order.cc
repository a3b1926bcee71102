// SPDX-License-Identifier: Apache-2.0
#include "net/client/group_order.h"

#include <utility>

#include "core/base/check.h"

namespace pawl::client {

bool GroupOrder::take(std::string_view group, Index message) {
  const auto row = groups_.try_emplace(std::string(group)).first;
  if (row->second.active != none || !row->second.waiting.empty()) {
    row->second.waiting.push_back(message);
    return false;
  }
  row->second.active = message;
  active_[message] = &*row;
  return true;
}

void GroupOrder::end(Index message) {
  const auto found = active_.find(message);
  if (found == active_.end()) return;  // of a queue without order
  Groups::value_type* const row = found->second;
  CHECK(row->second.active == message, "message {} ends the turn of {}", message,
        row->second.active);
  active_.erase(found);
  row->second.active = none;
  if (row->second.waiting.empty()) {
    groups_.erase(groups_.find(row->first));
  } else {
    ready_.push_back(row);
  }
}

std::vector<GroupOrder::Index> GroupOrder::stop(Index message) {
  const auto found = active_.find(message);
  if (found == active_.end()) return {};
  const std::deque<Index> waiting = std::exchange(found->second->second.waiting, {});
  end(message);
  return {waiting.begin(), waiting.end()};
}

GroupOrder::Index GroupOrder::next() {
  if (ready_.empty()) return none;
  Groups::value_type* const row = ready_.front();
  ready_.pop_front();
  CHECK(row->second.active == none && !row->second.waiting.empty(), "no turn is due");
  const Index message = row->second.waiting.front();
  row->second.waiting.pop_front();
  row->second.active = message;
  active_[message] = row;
  return message;
}

void GroupOrder::clear() {
  groups_.clear();
  active_.clear();
  ready_.clear();
}

}  // namespace pawl::client
