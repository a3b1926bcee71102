// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_config.h"

#include <algorithm>
#include <utility>

#include "core/base/mutant.h"

#include "core/base/check.h"

namespace pawl {

std::string QueueName::text() const {
  std::string text(account);
  text += '/';
  text += name;
  return text;
}

QueueName QueueName::from_text(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {{}, text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

ConfigKind kind_of(std::string_view row_account) {
  if (row_account.starts_with(scheduler_mark)) return ConfigKind::schedule;
  return row_account.contains('/') ? ConfigKind::topic : ConfigKind::queue;
}

std::string_view owning_account(std::string_view row_account) {
  return row_account.substr(row_account.rfind('/') + 1);
}

void QueueConfig::set_name(std::string_view row_account, std::string_view row_name) {
  account = row_account;
  name = row_name;
  kind = kind_of(account);
}

std::string_view QueueConfig::text(Attribute a) const {
  CHECK(is_text(a), "attribute {} is a number", static_cast<int>(a));
  for (const auto& [key, value] : texts) {
    if (key == a) return value;
  }
  return {};
}

const TopicRow* QueueConfig::row(std::uint64_t number) const {
  const auto it = std::ranges::lower_bound(
      rows, number, {}, [](const std::shared_ptr<const TopicRow>& row) { return row->number; });
  return it == rows.end() || (*it)->number != number ? nullptr : it->get();
}

void QueueConfig::apply_row(const AttributeChange& change) {
  const auto number = static_cast<std::uint64_t>(change.number);
  const auto it = std::ranges::lower_bound(
      rows, number, {}, [](const std::shared_ptr<const TopicRow>& row) { return row->number; });
  const bool found = it != rows.end() && (*it)->number == number;
  if (change.text.empty()) {
    if (found) rows.erase(it);
    return;
  }
  CHECK(change.number > 0, "row {}", change.number);
  auto row = std::make_shared<const TopicRow>(number, change.text);
  if (found) {
    *it = std::move(row);
  } else {
    rows.insert(it, std::move(row));
  }
}

bool QueueConfig::set_number(Attribute a, std::int64_t value) {
  CHECK(!is_text(a), "attribute {} is a text", static_cast<int>(a));
  if (a == Attribute::deduplication_scope_since) {
    scope_since_ms = value;
    return true;
  }
  if (!std::in_range<std::int32_t>(value)) return false;
  numbers[static_cast<std::size_t>(a)] = static_cast<std::int32_t>(value);
  return true;
}

void QueueConfig::apply(const AttributeChange& change) {
  if (change.attribute == Attribute::topic_row) return apply_row(change);
  if (!is_text(change.attribute)) {
    CHECK(static_cast<std::size_t>(change.attribute) < number_attributes, "attribute {}",
          static_cast<int>(change.attribute));
    const bool set = set_number(change.attribute, change.number);
    CHECK(set, "attribute {} of {}", static_cast<int>(change.attribute), change.number);
    if (change.attribute == Attribute::sqs_managed_sse_enabled && change.number == 1) {
      apply({Attribute::kms_master_key_id, -1, {}});
      numbers[static_cast<std::size_t>(Attribute::kms_data_key_reuse_period_seconds)] = -1;
    }
    return;
  }
  auto it = std::ranges::lower_bound(texts, change.attribute, {},
                                     &std::pair<Attribute, std::string>::first);
  const bool found = it != texts.end() && it->first == change.attribute;
  if (change.text.empty()) {
    if (found) texts.erase(it);
  } else if (found) {
    it->second = change.text;
  } else {
    texts.insert(it, {change.attribute, change.text});
  }
  if (change.attribute == Attribute::kms_master_key_id && !change.text.empty()) {
    numbers[static_cast<std::size_t>(Attribute::sqs_managed_sse_enabled)] = 0;
  }
}

DeduplicationScope QueueConfig::scope_in_force(Instant now) const {
  const Instant since{number(Attribute::deduplication_scope_since)};
  const bool old = since.ms != 0 && now < since + dedup_window && !MUTANT(scope_at_once);
  return DeduplicationScope{
      number(old ? Attribute::deduplication_scope_before : Attribute::deduplication_scope)};
}

bool QueueConfig::both_scopes_count(Instant now) const {
  const Instant since{number(Attribute::deduplication_scope_since)};
  return since.ms != 0 && now < since + dedup_window * 2;
}

void QueueConfig::note_scope_change(const QueueConfig& before, Instant now) {
  if (number(Attribute::deduplication_scope) == before.number(Attribute::deduplication_scope))
    return;
  (void)set_number(Attribute::deduplication_scope_before,
                   static_cast<std::int64_t>(before.scope_in_force(now)));
  scope_since_ms = now.ms;
}

bool QueueConfig::has(const AttributeChange& change) const {
  if (is_text(change.attribute)) return text(change.attribute) == change.text;
  return number(change.attribute) == change.number;
}

}  // namespace pawl
