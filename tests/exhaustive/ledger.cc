// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace pawl::exhaustive {

std::size_t Ledger::add_queue(Queue queue) {
  queues.push_back(std::move(queue));
  return queues.size() - 1;
}

std::size_t Ledger::add_message(std::size_t queue, std::size_t bytes, std::string group) {
  const std::size_t number = messages.size();
  SentMessage message;
  message.queue = queue;
  message.queues = (std::uint64_t{1} << queue) | queues[queue].goes_to;
  Text text;
  text.body = fmt::format("{}:", number);
  for (std::size_t i = text.body.size(); i < bytes; ++i)
    text.body.push_back(static_cast<char>('a' + (number * 7 + i * (i / 26 + 1)) % 26));
  text.attributes = fmt::format("attributes of {}", number);
  text.group = std::move(group);
  if (queues[queue].fifo) text.dedup = fmt::format("dedup {}", number);
  message.text = std::make_shared<const Text>(std::move(text));
  messages.push_back(std::move(message));
  return number;
}

void Ledger::link(std::size_t from, std::size_t to) {
  queues[from].goes_to |= std::uint64_t{1} << to;
  for (SentMessage& message : messages) {
    if ((message.queues >> from & 1) != 0) message.queues |= std::uint64_t{1} << to;
  }
}

Content Ledger::content(std::size_t message) const {
  const Text& of = *messages[message].text;
  return {.body = of.body,
          .attributes = of.attributes,
          .sender = "me",
          .group = of.group,
          .dedup_id = of.dedup};
}

std::size_t Ledger::which(const Content& content) const {
  std::size_t number = 0;
  const char* const end = content.body.data() + content.body.size();
  const auto [rest, error] = std::from_chars(content.body.data(), end, number);
  if (error != std::errc() || rest == end || number >= messages.size()) return npos;
  const SentMessage& message = messages[number];
  const Text& text = *message.text;
  const bool same = content.body == text.body && content.attributes == text.attributes &&
                    content.group == text.group && content.sender == "me";
  return same && message.sent != Said::nothing ? number : npos;
}

std::string Ledger::check(const std::vector<Found>& found, std::uint64_t unreadable) const {
  std::vector<std::uint32_t> times(messages.size());
  for (const Found& f : found) {
    if (f.message == npos)
      return fmt::format("queue {} delivers what was never sent", queues[f.queue].name);
    if (++times[f.message] > 1) return fmt::format("message {} is there twice", f.message);
    if ((messages[f.message].queues >> f.queue & 1) == 0)
      return fmt::format("message {} is in queue {}", f.message, queues[f.queue].name);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const SentMessage& message = messages[i];
    const bool must = message.sent == Said::yes && message.gone == Said::nothing;
    const bool must_not = message.sent == Said::no || message.gone == Said::yes;
    if (must && times[i] == 0 && unreadable-- == 0)
      return fmt::format("message {} was acknowledged and is lost", i);
    if (must_not && times[i] > 0) return fmt::format("message {} is gone and came back", i);
  }
  return check_order(found);
}

std::string Ledger::check_order(const std::vector<Found>& found) const {
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> latest;
  for (const Found& f : found) {
    if (!queues[f.queue].fifo) continue;
    const auto [it, first] =
        latest.try_emplace({f.queue, messages[f.message].text->group}, f.message);
    if (!first && f.message < it->second)
      return fmt::format("message {} came after {} of its group", f.message, it->second);
    it->second = f.message;
  }
  return {};
}

}  // namespace pawl::exhaustive
