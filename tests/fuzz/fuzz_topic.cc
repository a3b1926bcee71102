// SPDX-License-Identifier: Apache-2.0
// Topics as the directory stores them: any text reads as some topic, and that topic, written and
// read again, is the same.
//
// Input: lines. The first is the attribute; each further one is the text of a TopicRow.
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "proto/sns/topic.h"

namespace {

using pawl::Attribute;
using pawl::QueueConfig;
using pawl::SnsTopic;

void add_row(QueueConfig& config, std::string text) {
  config.rows.push_back(
      std::make_shared<const pawl::TopicRow>(config.rows.size() + 1, std::move(text)));
}

SnsTopic read_lines(std::string_view input) {
  QueueConfig config;
  bool first = true;
  for (const auto line : std::views::split(input, '\n')) {
    std::string text(line.begin(), line.end());
    if (!std::exchange(first, false)) {
      add_row(config, std::move(text));
    } else if (!text.empty()) {
      config.texts.emplace_back(Attribute::topic, std::move(text));
    }
  }
  return SnsTopic::from(config);
}

SnsTopic read_again(const SnsTopic& topic) {
  QueueConfig config;
  config.texts.emplace_back(Attribute::topic, topic.json());
  for (const auto& subscription : topic.subscriptions) add_row(config, subscription.json());
  return SnsTopic::from(config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const SnsTopic topic = read_lines({reinterpret_cast<const char*>(data), size});
  const SnsTopic again = read_again(topic);
  CHECK(again.json() == topic.json(), "{} became {}", topic.json(), again.json());
  CHECK(again.subscriptions.size() == topic.subscriptions.size());
  for (std::size_t i = 0; i < again.subscriptions.size(); ++i) {
    CHECK(again.subscriptions[i].json() == topic.subscriptions[i].json());
    CHECK(again.subscriptions[i].usable == topic.subscriptions[i].usable);
  }
  return 0;
}
