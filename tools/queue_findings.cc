// SPDX-License-Identifier: Apache-2.0
#include "tools/queue_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::int64_t visibility_most = 43'200, retention_most = 1'209'600;  // SQS's
constexpr std::int64_t few_receives_most = 2;
constexpr std::size_t name_most = 80;
constexpr std::string_view fifo_end = ".fifo";

// A queue among the others of its account.
struct QueueInContext {
  const QueueReading& queue;
  const QueueReading* dead_letters;  // null: it has none, or not in this list
  bool is_dead_letter_queue;
  std::string_view options;
  const std::map<std::string, const QueueReading*, std::less<>>& by_name;

  std::string set(std::string_view name, std::string_view what) const {
    return fmt::format("pawl queue set {} {}{}", shell_word(name), what, options);
  }
};

struct Mistake {
  std::string finding, command;
};
using Checked = std::optional<Mistake>;

Checked short_visibility(const QueueInContext& c) {
  const QueueReading& queue = c.queue;
  if (!queue.counted) return std::nullopt;
  const QueueCounted& counted = *queue.counted;
  const double timeout = static_cast<double>(queue.visibility_s), p99 = counted.lease_p99_s;
  // More than 1 of 100 deletes came too late, and the settings have not made up for it since.
  const bool late =
      counted.deleted_late * 100 > counted.deleted && (counted.leases == 0 || p99 * 2 > timeout);
  if (!late && (counted.leases == 0 || p99 <= timeout)) return std::nullopt;
  const std::int64_t wanted = std::max(queue.visibility_s, std::lround(std::ceil(p99))) * 2;
  const std::int64_t longer = std::clamp<std::int64_t>(wanted, 1, visibility_most);
  std::string finding =
      late ? fmt::format("{} of {} deletes came after the visibility timeout of {} s",
                         counted.deleted_late, counted.deleted, queue.visibility_s)
           : fmt::format(
                 "consumers hold messages for {:.1f} s (p99), but they are visible again "
                 "after {} s",
                 p99, queue.visibility_s);
  if (longer <= queue.visibility_s) return Mistake{std::move(finding), ""};
  return Mistake{std::move(finding),
                 c.set(queue.name, fmt::format("--set VisibilityTimeout={}", longer))};
}

// The same region and account: then --dead-letters finds the queue by its name.
bool are_neighbours(std::string_view one, std::string_view other) {
  return one.substr(0, one.rfind(':')) == other.substr(0, other.rfind(':'));
}

Checked few_receives(const QueueInContext& c) {
  const QueueReading& queue = c.queue;
  if (queue.dead_letter_arn.empty() || queue.max_receives > few_receives_most) return std::nullopt;
  const std::string name = queue.dead_letter_arn.substr(queue.dead_letter_arn.rfind(':') + 1);
  const std::string policy = fmt::format(
      R"(RedrivePolicy={{"deadLetterTargetArn":"{}","maxReceiveCount":5}})", queue.dead_letter_arn);
  return Mistake{
      fmt::format("a message moves to the dead-letter queue after {} {}: a restarted consumer is "
                  "enough",
                  queue.max_receives, queue.max_receives == 1 ? "receive" : "receives"),
      are_neighbours(queue.arn, queue.dead_letter_arn)
          ? c.set(queue.name, fmt::format("--dead-letters {} --max-receives 5", shell_word(name)))
          : c.set(queue.name, "--set " + shell_word(policy))};
}

Checked no_dead_letter_queue(const QueueInContext& c) {
  const QueueReading& queue = c.queue;
  if (!queue.dead_letter_arn.empty() || c.is_dead_letter_queue) return std::nullopt;
  const std::string_view end = queue.fifo ? fifo_end : std::string_view();
  const std::string dead =
      queue.name.substr(0, queue.name.size() - end.size()) + "-dead" + std::string(end);
  Mistake mistake{"no dead-letter queue: a message that fails is received again until it expires",
                  ""};
  if (dead.size() > name_most) return mistake;
  if (c.by_name.find(dead) == c.by_name.end())
    mistake.command = fmt::format("pawl queue create {} --set MessageRetentionPeriod={}{} && ",
                                  shell_word(dead), retention_most, c.options);
  mistake.command += c.set(queue.name, "--dead-letters " + shell_word(dead));
  return mistake;
}

Checked short_dead_letter_retention(const QueueInContext& c) {
  if (c.dead_letters == nullptr || c.dead_letters->retains_from_move ||
      c.dead_letters->retention_s > c.queue.retention_s)
    return std::nullopt;
  const std::string finding = fmt::format(
      "its dead-letter queue {} retains messages for {} s, not longer than its {} s: a "
      "dead letter keeps its age",
      c.dead_letters->name, c.dead_letters->retention_s, c.queue.retention_s);
  if (c.queue.retention_s < retention_most)
    return Mistake{finding, c.set(c.dead_letters->name,
                                  fmt::format("--set MessageRetentionPeriod={}", retention_most))};
  constexpr std::int64_t shorter = retention_most / 7 * 5;
  return Mistake{finding + "; both have the most, and the command shortens this one",
                 c.set(c.queue.name, fmt::format("--set MessageRetentionPeriod={}", shorter))};
}

Checked chained_dead_letters(const QueueInContext& c) {
  if (!c.is_dead_letter_queue || c.queue.dead_letter_arn.empty()) return std::nullopt;
  return Mistake{
      "a dead-letter queue with a dead-letter queue of its own: receives of a dead letter move it "
      "on",
      c.set(c.queue.name, "--set RedrivePolicy=")};
}

Checked short_polls(const QueueInContext& c) {
  if (c.queue.wait_s != 0 || c.is_dead_letter_queue) return std::nullopt;
  return Mistake{"a receive does not wait for messages: consumers ask an empty queue all the time",
                 c.set(c.queue.name, "--set ReceiveMessageWaitTimeSeconds=20")};
}

Checked near_expiry(const QueueInContext& c) {
  const QueueReading& queue = c.queue;
  if (!queue.counted || queue.retention_s == 0) return std::nullopt;
  const double age = queue.counted->oldest_s;
  if (age * 2 <= static_cast<double>(queue.retention_s)) return std::nullopt;
  const std::string finding = fmt::format("its oldest message is {:.0f} s old, and deleted at {} s",
                                          age, queue.retention_s);
  const std::int64_t longer =
      std::min(retention_most, std::max(queue.retention_s * 2, std::lround(age * 4)));
  CHECK(longer <= retention_most, "a retention of {} s", longer);
  if (longer == queue.retention_s)
    return Mistake{finding, c.is_dead_letter_queue ? fmt::format("pawl dlq redrive {}{}",
                                                                 shell_word(queue.name), c.options)
                                                   : std::string()};
  return Mistake{finding,
                 c.set(queue.name, fmt::format("--set MessageRetentionPeriod={}", longer))};
}

struct QueueCheck {
  std::string_view name;
  Checked (*find)(const QueueInContext& c);
  bool of_figures;
};

constexpr QueueCheck checks[] = {
    {"short-visibility",            short_visibility,            true },
    {"near-expiry",                 near_expiry,                 true },
    {"few-receives",                few_receives,                false},
    {"no-dead-letter-queue",        no_dead_letter_queue,        false},
    {"short-dead-letter-retention", short_dead_letter_retention, false},
    {"chained-dead-letters",        chained_dead_letters,        false},
    {"short-polls",                 short_polls,                 false},
};

std::vector<std::string_view> names_of_checks(bool all) {
  std::vector<std::string_view> names;
  for (const QueueCheck& check : checks)
    if (all || check.of_figures) names.push_back(check.name);
  return names;
}

}  // namespace

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const std::vector<std::string_view>& queue_checks() {
  static const std::vector<std::string_view> names = names_of_checks(true);
  return names;
}

const std::vector<std::string_view>& checks_of_figures() {
  static const std::vector<std::string_view> names = names_of_checks(false);
  return names;
}

std::vector<QueueFinding> findings_of(const std::vector<QueueReading>& readings,
                                      std::string_view options) {
  std::map<std::string, const QueueReading*, std::less<>> by_name, by_arn, targets;
  for (const QueueReading& reading : readings) {
    by_name[reading.name] = by_arn[reading.arn] = &reading;
    if (!reading.dead_letter_arn.empty()) targets[reading.dead_letter_arn] = &reading;
  }
  std::vector<QueueFinding> found;
  for (const QueueReading& reading : readings) {
    const auto dead = by_arn.find(reading.dead_letter_arn);
    const QueueInContext context{
        .queue = reading,
        .dead_letters =
            reading.dead_letter_arn.empty() || dead == by_arn.end() ? nullptr : dead->second,
        .is_dead_letter_queue = targets.find(reading.arn) != targets.end(),
        .options = options,
        .by_name = by_name};
    for (const QueueCheck& check : checks) {
      Checked mistake = check.find(context);
      if (!mistake) continue;
      CHECK(!mistake->finding.empty(), "{} of {} says nothing", check.name, reading.name);
      found.push_back(
          {reading.name, check.name, std::move(mistake->finding), std::move(mistake->command)});
    }
  }
  return found;
}

}  // namespace pawl
