// SPDX-License-Identifier: Apache-2.0
#include "tests/core/script.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/base/format.h"
#include "core/shard/peek.h"
#include "tests/core/secret.h"

namespace pawl::test {

void run(std::string_view steps, const ShardLimits& limits) { Script(limits).run(steps); }

void Script::run(std::string_view steps) {
  int number = 0;
  while (!steps.empty()) {
    const std::size_t bar = std::min(steps.find('|'), steps.size());
    const std::string text(steps.substr(0, bar));
    steps.remove_prefix(std::min(bar + 1, steps.size()));
    SCOPED_TRACE(fmt::format("step {}: {}", ++number, text));
    const Step step = parse(text);
    ASSERT_EQ(perform(step), step.expected);
  }
}

Script::Step Script::parse(std::string_view text) {
  Step step;
  std::istringstream in{std::string(text)};
  std::string word;
  bool answer = false;
  in >> step.verb;
  while (in >> word) {
    const std::size_t equals = word.find('=');
    if (word == "->") {
      answer = true;
    } else if (answer) {
      step.expected += (step.expected.empty() ? "" : " ") + word;
    } else if (word == "as") {
      in >> step.options["as"];
    } else if (equals != std::string::npos) {
      step.options[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      step.words.push_back(word);
    }
  }
  if (!answer) step.expected = step.options.contains("as") ? "pending" : "ok";
  return step;
}

Duration Script::duration(const std::string& text) {
  std::size_t digits = 0;
  const std::int64_t n = std::stoll(text, &digits);
  const std::string unit = text.substr(digits);
  if (unit == "ms") return milliseconds(n);
  if (unit.empty() || unit == "s") return seconds(n);
  if (unit == "m") return seconds(n * 60);
  if (unit == "h") return seconds(n * 3600);
  if (unit == "d") return seconds(n * 86400);
  ADD_FAILURE() << "no such unit: " << text;
  return {};
}

std::vector<AttributeChange> Script::attributes(const Step& step) {
  static const std::map<std::string, Attribute> names = {
      {"delay",          Attribute::delay_seconds                    },
      {"retention",      Attribute::message_retention_period         },
      {"wait",           Attribute::receive_message_wait_time_seconds},
      {"visibility",     Attribute::visibility_timeout               },
      {"fifo",           Attribute::fifo_queue                       },
      {"scope",          Attribute::deduplication_scope              },
      {"max_receive",    Attribute::max_receive_count                },
      {"durability",     Attribute::durability                       },
      {"dead_at",        Attribute::dead_letter_at                   },
      {"max_delay",      Attribute::max_delay                        },
      {"max_visibility", Attribute::max_visibility                   },
      {"ttl",            Attribute::message_ttl                      },
      {"dlq_on_expiry",  Attribute::dlq_on_expiry                    },
      {"from_move",      Attribute::retention_from                   },
      {"pass",           Attribute::fifo_delay                       },
  };
  std::vector<AttributeChange> changes;
  for (const auto& [name, value] : step.options) {
    if (name == "dlq") {
      changes.push_back({.attribute = Attribute::dead_letter_target,
                         .text = value.empty() ? "" : "000000000000/" + value});
      continue;
    }
    if (name == "backoff") {  // none:1000,2000
      std::string plan = value;
      std::ranges::replace(plan, ':', ' ');
      changes.push_back({.attribute = Attribute::backoff_plan, .text = plan});
      continue;
    }
    changes.push_back(
        {.attribute = names.at(name), .number = duration(value).ms / 1000, .text = {}});
  }
  return changes;
}

GroupedMessage Script::message(QueueId queue, const std::string& word) {
  std::vector<std::string> parts;
  std::istringstream in(word);
  for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
  const ConfigPtr* const config = world_.shard().directory().find(queue);
  const bool fifo = config != nullptr && (*config)->is_fifo();
  if (parts.size() < 2) return {.body = word};
  return {.body = parts[1],
          .group = parts[0],
          .dedup_id = parts.size() > 2 ? parts[2]
                      : fifo           ? parts[1]
                                       : ""};
}

std::string Script::perform(const Step& step) {
  if (const auto it = waiting_.find(step.verb); it != waiting_.end()) return outcome(*it->second);
  if (step.verb == "cancel") {
    Ask& ask = *waiting_.at(step.words.at(0));
    return world_.shard().cancel(ask.request) ? "ok" : "not waiting";
  }
  if (step.verb == "stored") return std::to_string(world_.stored());
  if (step.words.empty() || !queues_.contains(step.words[0])) {
    if (step.verb != "queue") return perform_on_disk(step);
  }
  return perform_request(step);
}

std::string Script::perform_on_disk(const Step& step) {
  if (step.verb == "advance") {
    world_.advance(duration(step.words.at(0)));
  } else if (step.verb == "jump") {
    world_.jump(duration(step.words.at(0)));
  } else if (step.verb == "hold") {
    world_.hold();
  } else if (step.verb == "flush") {
    world_.flush();
  } else if (step.verb == "flush_one") {
    world_.flush_one();
  } else if (step.verb == "gather") {
    world_.gather();
  } else if (step.verb == "go") {
    world_.go();
  } else if (step.verb == "crash" || step.verb == "restart") {
    if (step.verb == "restart") world_.flush();
    world_.crash(step.words.empty() ? Duration{} : duration(step.words[0]));
  } else if (step.verb == "rotate") {
    world_.rotate();
  } else if (step.verb == "slice") {
    return world_.slice() ? "more" : "ok";
  } else {
    return "no such step, or no such queue: " + step.verb;
  }
  return "ok";
}

std::string Script::perform_request(const Step& step) {
  const std::string& name = step.words.at(0);
  if (step.verb == "queue") {
    Ask& ask = world_.create(name, attributes(step));
    if (ask.request.config != nullptr) queues_[name] = ask.request.config->id;
    return outcome(ask);
  }
  const QueueId id = queues_.at(name);
  if (step.verb == "slow") {
    world_.slow(id, step.words.at(1));
    return "ok";
  }
  if (step.verb == "set_aside" || step.verb == "damage") {
    step.verb == "damage" ? world_.damage(id, step.words.at(1))
                          : world_.set_aside(id, step.words.at(1));
    return "ok";
  }
  if (step.verb == "numbers_left") {
    world_.plain(Op::count, id);  // makes the shard create its state of the queue
    const Seq left = std::stoull(step.words.at(1));
    world_.shard().restore(HeadRecord{.queue = id, .next_seq = seq_newest_max + 1 - left});
    return "ok";
  }
  if (step.verb == "set") return outcome(world_.set(id, attributes(step)));
  if (step.verb == "drop") return outcome(world_.plain(Op::delete_queue, id));
  if (step.verb == "purge") return outcome(world_.plain(Op::purge, id));
  if (step.verb == "count") return outcome(world_.plain(Op::count, id));
  if (step.verb == "send") {
    const auto delay = step.options.find("delay"), ttl = step.options.find("ttl");
    std::vector<GroupedMessage> messages;
    for (std::size_t i = 1; i < step.words.size(); ++i)
      messages.push_back(message(id, step.words[i]));
    return outcome(
        world_.send_grouped(id, std::move(messages),
                            delay == step.options.end() ? queue_default : duration(delay->second),
                            ttl == step.options.end() ? Duration{} : duration(ttl->second)));
  }
  if (step.verb == "once") return send_once(step);
  if (step.verb == "receive") return receive(step);
  if (step.verb == "peek") return peek(step);
  if (step.verb == "fill" || step.verb == "take") return in_bulk(step);
  if (step.verb == "delete") return with_handles(Op::delete_message, step);
  if (step.verb == "change") return with_handles(Op::change_visibility, step);
  if (step.verb == "snooze") return with_handles(Op::change_visibility, step);
  if (step.verb == "cancel_id") return by_number(Op::delete_message, step);
  if (step.verb == "plan") return by_number(Op::change_visibility, step);
  if (step.verb == "undeliver") return with_handles(Op::undeliver, step);
  return perform_move(step);
}

std::string Script::perform_move(const Step& step) {
  const QueueId id = queues_.at(step.words.at(0));
  if (step.verb == "move") {
    const auto to = step.options.find("to"), rate = step.options.find("rate");
    return outcome(world_.start_move(
        id, to == step.options.end() ? "" : "000000000000/" + to->second,
        rate == step.options.end() ? 0 : static_cast<std::uint32_t>(std::stoul(rate->second))));
  }
  if (step.verb == "stop_move") {
    const Ask& ask =
        world_.cancel_move(id, static_cast<std::uint32_t>(std::stoul(step.words.at(1))));
    const std::string said = outcome(ask);
    return said == "ok" ? std::to_string(ask.request.move.moved) : said;
  }
  if (step.verb != "moves") return "no such step: " + step.verb;
  std::vector<std::string> said;
  for (const MoveTask& task : world_.plain(Op::list_moves, id).request.move.tasks) {
    static constexpr const char* names[] = {"running", "completed", "cancelled", "failed"};
    said.push_back(fmt::format("{}:{}:{}/{}", task.number, names[static_cast<int>(task.status)],
                               task.moved, task.to_move));
    if (task.failure != Errc::ok) said.back() += fmt::format(":{}", name_of(task.failure));
  }
  return join_texts(said, " ");
}

std::string Script::send_once(const Step& step) {
  const auto option = [&](const char* name) {
    const auto at = step.options.find(name);
    return at == step.options.end() ? 1 : std::stoull(at->second);
  };
  const auto delay = step.options.find("delay");
  return outcome(
      world_.send_once(queues_.at(step.words[0]), {option("by"), option("floor")}, option("first"),
                       {step.words.begin() + 1, step.words.end()},
                       delay == step.options.end() ? queue_default : duration(delay->second)));
}

std::string Script::receive(const Step& step) {
  ReceiveParams params;
  for (const auto& [key, value] : step.options) {
    if (key == "max") params.max = static_cast<std::uint32_t>(std::stoul(value));
    if (key == "visibility") params.visibility = duration(value);
    if (key == "wait") params.wait = duration(value);
    if (key == "attempt") params.attempt = value;
    if (key == "by") params.consumer[0] = static_cast<std::uint8_t>(std::stoul(value));
  }
  Ask& ask = world_.receive(queues_.at(step.words[0]), params);
  if (const auto as = step.options.find("as"); as != step.options.end())
    waiting_[as->second] = &ask;
  return outcome(ask);
}

// Applied outside of a turn, so that it shows whether a peek leaves anything to do.
std::string Script::peek(const Step& step) {
  const auto option = [&](const char* name, Seq otherwise) {
    const auto at = step.options.find(name);
    return at == step.options.end() ? otherwise : std::stoull(at->second);
  };
  PeekSlice slice{.from = option("from", 0),
                  .looks = static_cast<std::uint32_t>(option("looks", PeekSlice::looks_max)),
                  .states = static_cast<std::uint32_t>(option("states", PeekSlice::all_states))};
  std::vector<Delivery> bodies(option("space", PeekSlice::looks_max));
  Request request{.op = Op::peek, .queue = queues_.at(step.words[0]), .deliveries = bodies};
  request.peek = &slice;
  Effects effects;
  world_.shard().apply(request, world_.now(), effects);
  EXPECT_EQ(effects.replies.size(), 1u);
  EXPECT_FALSE(effects.replies.front().after_flush || effects.has_records());
  EXPECT_TRUE(effects.freed.empty() && effects.transfers.empty());
  if (request.error != Errc::ok) return std::string(name_of(request.error));
  static constexpr const char* names[] = {"not_durable", "delayed", "visible",
                                          "in_flight",   "moving",  "unreadable"};
  const std::span<Delivery> found = request.deliveries.first(request.delivered);
  for (const Delivery& delivery : found) {
    const SendRecord& sent = world_.sent_at(delivery.position).record;
    add_record(slice, delivery.seq,
               {.deliver_at = sent.deliver_at, .aged_apart = sent.aged_apart, .fire = {}});
  }
  std::vector<std::string> said;
  const Delivery* body = bodies.data();
  for (const PeekedMessage& message : slice.messages) {
    const bool stored = body != bodies.data() + request.delivered && body->seq == message.seq;
    said.push_back(fmt::format(
        "{}:{}", stored ? world_.body_at((body++)->position) : std::to_string(message.seq),
        names[static_cast<int>(message.state)]));
    if (message.receive_count > 0) said.back() += fmt::format("#{}", message.receive_count);
    if (message.until != Instant{})
      said.back() += fmt::format("+{}", (message.until - world_.now()).ms);
    if (message.behind != 0) said.back() += fmt::format("<{}", message.behind);
    if (message.consumer[0] != 0) said.back() += fmt::format("@{}", message.consumer[0]);
    if (message.tenant_in_flight != 0)
      said.back() +=
          fmt::format("&{}{}", message.tenant_in_flight, message.tenant_is_noisy ? "!" : "");
    if (message.deduplicates_until != Instant{} && step.options.contains("dedup"))
      said.back() += fmt::format("={}", (message.deduplicates_until - world_.now()).ms);
  }
  if (slice.next != 0) said.push_back(fmt::format("next={}", slice.next));
  if (step.options.contains("gone"))
    said.push_back(
        fmt::format("expired<{} gone<{}{}{}", slice.gone.expired_below, slice.gone.below,
                    slice.gone.purged == Instant{}
                        ? ""
                        : fmt::format(" purged-{}", (world_.now() - slice.gone.purged).ms),
                    slice.gone.by_age ? " by_age" : ""));
  return said.empty() ? "none" : join_texts(said, " ");
}

// Sends or receives in batches of 1000, until `words[1]` messages are done.
std::string Script::in_bulk(const Step& step) {
  const QueueId id = queues_.at(step.words[0]);
  for (std::size_t left = std::stoul(step.words.at(1)); left > 0;) {
    const std::size_t batch = std::min<std::size_t>(left, 1000);
    left -= batch;
    if (step.verb == "fill") {
      Ask& ask = world_.send(id, std::vector<std::string>(batch, "x"));
      if (outcome(ask) != "ok") return outcome(ask);
    } else {
      Ask& ask = world_.receive(id, {.max = static_cast<std::uint32_t>(batch)});
      if (ask.request.delivered != batch)
        return fmt::format("{} of {}", ask.request.delivered, batch);
    }
  }
  return "ok";
}

std::string Script::with_handles(Op op, const Step& step) {
  auto word = step.words.begin() + 1;
  Duration visibility{};
  if (op == Op::change_visibility) visibility = duration(*word++);
  std::vector<ReceiptEntry> entries;
  for (; word != step.words.end(); ++word) {
    if (!handles_.contains(*word)) return "no such handle: " + *word;
    entries.push_back({.handle = handles_.at(*word),
                       .uncounted = step.verb == "snooze",
                       .visibility = visibility});
  }
  const auto attempt = step.options.find("attempt");
  return outcome(world_.receipts(op, queues_.at(step.words[0]), std::move(entries),
                                 attempt == step.options.end() ? "" : attempt->second));
}

// Messages of the queue by the ids that belong to their numbers.
std::string Script::by_number(Op op, const Step& step) {
  using By = ReceiptEntry::By;
  const QueueId queue = queues_.at(step.words[0]);
  const By by = step.options.contains("even") ? By::id_even_in_flight : By::id;
  auto word = step.words.begin() + 1;
  Duration wait{};
  if (op == Op::change_visibility) wait = duration(*word++);
  std::vector<ReceiptEntry> entries;
  for (; word != step.words.end(); ++word)
    entries.push_back(
        {.id = message_id(test_secret(), queue, std::stoull(*word)), .by = by, .visibility = wait});
  const Ask& ask = world_.receipts(op, queue, std::move(entries));
  if (op == Op::change_visibility || !ask.answered || ask.request.error != Errc::ok)
    return outcome(ask);
  std::vector<std::string> said;
  for (const ReceiptEntry& entry : ask.request.receipts)
    said.emplace_back(entry.error != Errc::ok ? name_of(entry.error)
                      : entry.cancelled       ? "ok"
                                              : "gone");
  return std::ranges::all_of(said, [](const std::string& s) { return s == "ok"; })
             ? "ok"
             : join_texts(said, " ");
}

std::string Script::outcome(const Ask& ask) {
  const Request& request = ask.request;
  if (!ask.answered) return "pending";
  if (request.error != Errc::ok) return std::string(name_of(request.error));
  if (request.op == Op::receive) return deliveries(ask);
  if (request.op == Op::count) {
    return fmt::format("{}/{}/{}", request.counts.visible, request.counts.in_flight,
                       request.counts.delayed);
  }
  std::vector<std::string> errors;
  for (const SendEntry& entry : request.sends) {
    errors.push_back(entry.duplicate ? fmt::format("same_as_{}", entry.seq)
                                     : std::string(name_of(entry.error)));
  }
  for (const ReceiptEntry& entry : request.receipts) errors.emplace_back(name_of(entry.error));
  if (std::ranges::all_of(errors, [](const std::string& e) { return e == "ok"; })) return "ok";
  return join_texts(errors, " ");
}

std::string Script::deliveries(const Ask& ask) {
  std::vector<std::string> names;
  for (const Delivery& delivery : ask.request.deliveries.first(ask.request.delivered)) {
    names.push_back(
        fmt::format("{}#{}", world_.body_at(delivery.position), delivery.receive_count));
    handles_[names.back()] = delivery.handle;
  }
  return names.empty() ? "none" : join_texts(names, " ");
}

}  // namespace pawl::test
