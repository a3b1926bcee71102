// SPDX-License-Identifier: Apache-2.0
// The statements of a topic's Policy, and the other policies that pawl keeps without effect.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using Next = CallStep;

constexpr std::string_view data_protection = "DataProtectionPolicy";
constexpr std::size_t statements_max = 20;
constexpr std::string_view grantable_actions[] = {
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission",
    "DeleteTopic",        "Subscribe",          "Publish",       "ListSubscriptionsByTopic"};

struct Statement {
  std::string_view label;
  std::vector<std::string_view> accounts, actions;
};

std::vector<std::string_view> texts_of(const Form& form, std::string_view list) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::string_view> texts;
  if (!form.indexes(list, numbers)) return texts;
  for (const std::uint32_t number : numbers) {
    if (const auto* const text = form.find(list, number)) texts.push_back(*text);
  }
  return texts;
}

bool check_statement(SnsState& s, const Statement& statement) {
  if (!is_plain_name(statement.label)) return s.refusal.parameter("Label");
  if (statement.accounts.empty() || !std::ranges::all_of(statement.accounts, is_account_id))
    return s.refusal.parameter("AWSAccountId");
  const auto known = [](std::string_view action) {
    return std::ranges::find(grantable_actions, action) != std::end(grantable_actions);
  };
  if (statement.actions.empty()) return s.refusal.parameter("ActionName");
  return std::ranges::all_of(statement.actions, known) ||
         s.refusal.parameter("Policy statement action out of service scope!");
}

// One text alone, several as a list; each behind `prefix` and before `suffix`.
void write_texts(JsonWriter& json, std::string_view prefix,
                 const std::vector<std::string_view>& texts, std::string_view suffix) {
  const auto write = [&](std::string_view text) {
    json.value(std::string_view(fmt::format("{}{}{}", prefix, text, suffix)));
  };
  if (texts.size() == 1) return write(texts.front());
  json.begin_array();
  for (const std::string_view text : texts) write(text);
  json.end_array();
}

std::string text_of_statement(const SnsState& s, const Statement& statement) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("Sid", statement.label);
  json.member("Effect", "Allow");
  json.key("Principal");
  json.begin_object();
  json.key("AWS");
  write_texts(json, "arn:aws:iam::", statement.accounts, ":root");
  json.end_object();
  json.key("Action");
  write_texts(json, "SNS:", statement.actions, "");
  json.member("Resource", std::string_view(s.topic_arn));
  json.end_object();
  return out;
}

// The labels and texts of a policy's statements, which may be a list or a single one.
using Labelled = std::vector<std::pair<std::string, std::string>>;
Labelled statements_of(const JsonValue& policy) {
  Labelled found;
  const auto add = [&](const JsonValue& statement) {
    const auto label = statement.member("Sid");
    found.emplace_back(label ? std::string(label->text().value_or("")) : "", statement.compact());
  };
  const auto all = policy.member("Statement");
  if (all && all->is_object()) add(*all);
  if (all && all->is_list())
    for (const JsonValue item : all->items()) add(item);
  return found;
}

std::string with_statements(const JsonValue& policy, const Labelled& statements) {
  std::string list, out;
  for (const auto& [label, text] : statements) list += (list.empty() ? "" : ",") + text;
  JsonWriter json(out);
  json.begin_object();
  for (const auto [key, value] : policy.members()) {
    json.key(key);
    out += key == "Statement" ? "[" + list + "]" : value.compact();
  }
  json.end_object();
  return out;
}

// Changes the statements of the topic's Policy.
Next change_statements(SnsState& s, std::function<bool(Labelled&)> change) {
  return change_topic(s, [&s, change = std::move(change)](SnsTopic& topic) {
    const std::string_view kept = value_of(topic.attributes, "Policy");
    const std::string policy = kept.empty() ? default_policy(s) : std::string(kept);
    thread_local JsonDom dom;
    const auto json = dom.parse(policy);
    if (!json || !json->is_object()) return s.refusal.parameter("Policy: failed to parse JSON");
    Labelled statements = statements_of(*json);
    if (!change(statements)) return false;
    set_value(topic.attributes, "Policy", with_statements(*json, statements));
    return true;
  });
}

}  // namespace

Next add_permission(SnsState& s, const Form& form) {
  std::string_view arn, label;
  if (!need(s, form, "TopicArn", arn) || !need(s, form, "Label", label)) return Next::respond;
  const Statement statement{label, texts_of(form, "AWSAccountId.member"),
                            texts_of(form, "ActionName.member")};
  if (!check_statement(s, statement) || !find_topic(s, arn)) return Next::respond;
  return change_statements(s, [&s, label = std::string(label),
                               text = text_of_statement(s, statement)](Labelled& statements) {
    if (std::ranges::find(statements, label, &Labelled::value_type::first) != statements.end())
      return s.refusal.parameter("Statement already exists");
    if (statements.size() >= statements_max) {
      return s.refusal.parameter("Policy: {} statements, maximum allowed is {}",
                                 statements.size() + 1, statements_max);
    }
    statements.emplace_back(label, text);
    return true;
  });
}

Next remove_permission(SnsState& s, const Form& form) {
  std::string_view arn, label;
  if (!need(s, form, "TopicArn", arn) || !need(s, form, "Label", label) || !find_topic(s, arn))
    return Next::respond;
  return change_statements(s, [&s, label = std::string(label)](Labelled& statements) {
    return std::erase_if(statements, [&](const auto& one) { return one.first == label; }) > 0 ||
           s.refusal.parameter("Label Reason: can't find label {}", shown(label));
  });
}

// A subscription of a queue of this server is confirmed when it is made: no token is valid.
Next confirm_subscription(SnsState& s, const Form& form) {
  std::string_view arn, token;
  if (need(s, form, "TopicArn", arn) && need(s, form, "Token", token) && find_topic(s, arn))
    s.refusal.parameter("Token");
  return Next::respond;
}

Next get_data_protection_policy(SnsState& s, const Form& form) {
  std::string_view arn;
  if (!need(s, form, "ResourceArn", arn) || !find_topic(s, arn)) return Next::respond;
  s.answer().element(data_protection, value_of(topic_of(s.row)->attributes, data_protection));
  return Next::respond;
}

Next put_data_protection_policy(SnsState& s, const Form& form) {
  std::string_view arn;
  if (!need(s, form, "ResourceArn", arn)) return Next::respond;
  const std::string value(text_of(form, data_protection));
  std::string compact;
  if (!value.empty() && !compact_json_object(value, "", compact)) {
    s.refusal.parameter("{}: failed to parse JSON", data_protection);
    return Next::respond;
  }
  if (!check_value(s, data_protection, value) || !find_topic(s, arn)) return Next::respond;
  return change_topic(s, [value](SnsTopic& topic) {
    set_value(topic.attributes, data_protection, value);
    return true;
  });
}

}  // namespace pawl::sns
