// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/policy.h"

#include <algorithm>
#include <vector>

#include "proto/text/json.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;

// Actions that may be allowed to other accounts. All other actions are the owner's.
constexpr std::string_view grantable[] = {
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
    "StartMessageMoveTask",
    "CancelMessageMoveTask",
    "ListMessageMoveTasks",
};
constexpr std::string_view owners_only[] = {
    "AddPermission",    "CreateQueue",        "DeleteQueue", "ListQueues", "ListQueueTags",
    "RemovePermission", "SetQueueAttributes", "TagQueue",    "UntagQueue",
};

// The object that the text is; nothing for any other text.
std::optional<JsonValue> parse(std::string_view text) {
  thread_local JsonDom dom;
  const auto policy = dom.parse(text);
  return policy && policy->is_object() ? policy : std::nullopt;
}

// Repeated keys are ambiguous: JsonDom finds the first, another parser may find the last.
bool keys_differ(const JsonValue& object) {
  std::vector<std::string_view> keys;
  for (const JsonField member : object.members()) keys.push_back(member.key);
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) == keys.end();
}

// "Statement" may be a list or a single statement.
bool statements_of(const JsonValue& policy, std::vector<JsonValue>& out) {
  if (!keys_differ(policy)) return false;
  const auto value = policy.member("Statement");
  if (!value) return false;
  if (value->is_object()) {
    out.push_back(*value);
    return true;
  }
  if (!value->is_list()) return false;
  for (const JsonValue item : value->items()) {
    if (!item.is_object()) return false;
    out.push_back(item);
  }
  return true;
}

// The statements of a policy text; an empty text has none. False: it is not a policy.
bool read_policy(std::string_view text, std::optional<JsonValue>& root,
                 std::vector<JsonValue>& statements) {
  if (text.empty()) return true;
  root = parse(text);
  return root && statements_of(*root, statements);
}

// --- writing ---

std::string_view label_of(const JsonValue& statement) {
  const auto sid = statement.member("Sid");
  return sid ? sid->text().value_or("") : std::string_view();
}

// Writes one text alone, several as a list; each is enclosed in `before` and `after`.
void append_texts(JsonWriter& json, std::string_view before,
                  std::span<const std::string_view> texts, std::string_view after) {
  const auto whole = [&](std::string_view text) {
    return std::string(before).append(text).append(after);
  };
  if (texts.size() == 1) return json.value(std::string_view(whole(texts.front())));
  json.begin_array();
  for (const std::string_view text : texts) json.value(std::string_view(whole(text)));
  json.end_array();
}

void append_statement(std::string& out, std::string_view queue_arn, const PermissionGrant& grant) {
  JsonWriter json(out);
  json.begin_object();
  json.member("Sid", grant.label);
  json.member("Effect", "Allow");
  json.key("Principal");
  json.begin_object();
  json.key("AWS");
  append_texts(json, "arn:aws:iam::", grant.accounts, ":root");
  json.end_object();
  json.key("Action");
  append_texts(json, "SQS:", grant.actions, "");
  json.member("Resource", queue_arn);
  json.end_object();
}

// The policy with its statements replaced.
std::string with_statements(const JsonValue& policy, std::string_view statements) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto [key, value] : policy.members()) {
    json.key(key);
    if (key == "Statement") {
      out.append("[").append(statements).append("]");
    } else {
      out += value.compact();
    }
  }
  json.end_object();
  return out;
}

std::string default_policy(std::string_view queue_arn, std::string_view statements) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("Version", "2008-10-17");
  json.member("Id", std::string_view(std::string(queue_arn) + "/SQSDefaultPolicy"));
  json.key("Statement");
  out.append("[").append(statements).append("]");
  json.end_object();
  return out;
}

bool refuse_json(Refusal& refusal) {
  return refusal.because(F::invalid_attribute_value, "Invalid value for the parameter Policy.");
}

// --- checking a grant ---

bool check_label(std::string_view label, Refusal& refusal) {
  if (label.empty()) {
    return refusal.because(F::missing_parameter, "The request must contain the parameter Label.");
  }
  const bool good = label.size() <= permission_label_max && is_plain_name(label);
  return good ||
         refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter Label is invalid. Reason: Can only include "
                         "alphanumeric characters, hyphens, or underscores. 1 to 80 in "
                         "length.",
                         shown(label));
}

bool listed(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool check_granted_action(std::string_view action, Refusal& refusal) {
  if (action == "*" || listed(grantable, action)) return true;
  const char* const why = listed(owners_only, action)
                              ? "Only the queue owner is allowed to invoke this action."
                              : "Please refer to the appropriate WSDL for a list of valid actions.";
  return refusal.because(F::invalid_parameter_value,
                         "Value SQS:{} for parameter ActionName is invalid. Reason: {}",
                         shown(action), why);
}

bool check_accounts(std::span<const std::string_view> accounts, Refusal& refusal) {
  if (accounts.size() > permission_accounts_max) {
    return refusal.because(F::over_limit, "{} AWSAccountIds were found, maximum allowed is {}.",
                           accounts.size(), permission_accounts_max);
  }
  const auto bad = std::ranges::find_if_not(accounts, is_account_id);
  if (!accounts.empty() && bad == accounts.end()) return true;
  return refusal.because(F::invalid_parameter_value,
                         "Value [{}] for parameter PrincipalId is invalid. Reason: Unable to "
                         "verify.",
                         accounts.empty() ? std::string_view() : shown(*bad));
}

bool check_grant(const PermissionGrant& grant, Refusal& refusal) {
  if (!check_label(grant.label, refusal)) return false;
  if (grant.actions.empty()) {
    return refusal.because(F::missing_parameter, "The request must contain the parameter Actions.");
  }
  if (!check_accounts(grant.accounts, refusal)) return false;
  if (grant.actions.size() > permission_actions_max) {
    return refusal.because(F::over_limit, "{} Actions were found, maximum allowed is {}.",
                           grant.actions.size(), permission_actions_max);
  }
  return std::ranges::all_of(grant.actions, [&](std::string_view action) {
    return check_granted_action(action, refusal);
  });
}

// --- evaluating ---

// Whether a part of a statement applies to the question. The order makes the minimum of several
// parts the worst, and the maximum of several alternatives the best.
enum class Match : std::uint8_t { no, unknown, yes };

// * matches any characters, ? matches one.
bool glob(std::string_view pattern, std::string_view text, bool ignoring_case) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  const auto same = [&](char a, char b) {
    return a == '?' || (ignoring_case ? lower(a) == lower(b) : a == b);
  };
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && same(pattern[p], text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// The match of a text, or the best match in a list of texts.
template <typename Matches>
Match best_of(const JsonValue& value, const Matches& matches) {
  if (const auto text = value.text()) return matches(*text);
  if (!value.is_list()) return Match::unknown;
  Match best = Match::no;
  for (const JsonValue item : value.items()) {
    const auto text = item.text();
    best = std::max(best, text ? matches(*text) : Match::unknown);
  }
  return best;
}

Match matches_pattern(std::string_view pattern, std::string_view text, bool ignoring_case) {
  if (pattern.contains("${")) return Match::unknown;  // a policy variable
  return glob(pattern, text, ignoring_case) ? Match::yes : Match::no;
}

// Access keys stand for whole accounts: for a user or role within one, the match is unknown.
Match matches_principal(std::string_view principal, std::string_view account) {
  constexpr std::string_view head = "arn:aws:iam::", tail = ":root";
  if (principal == "*" || principal == account) return Match::yes;
  if (principal.starts_with(head) && principal.ends_with(tail) &&
      principal.size() == head.size() + account.size() + tail.size() &&
      principal.substr(head.size(), account.size()) == account) {
    return Match::yes;
  }
  return principal.contains(account) || principal.contains('*') ? Match::unknown : Match::no;
}

Match match_principals(const JsonValue& value, std::string_view account) {
  if (!value.is_object()) return value.text() == "*" ? Match::yes : Match::unknown;
  if (!keys_differ(value)) return Match::unknown;
  Match best = Match::no;
  for (const auto [kind, principals] : value.members()) {
    if (kind == "Service" || kind == "Federated") continue;  // neither is an account
    best = std::max(
        best, kind != "AWS" ? Match::unknown : best_of(principals, [&](std::string_view text) {
          return matches_principal(text, account);
        }));
  }
  return best;
}

struct Question {
  std::string_view account, action, queue_arn;  // action as "sqs:SendMessage"
};

Match match_statement(const JsonValue& statement, const Question& q) {
  Match principal = Match::unknown, action = Match::unknown, resource = Match::unknown;
  Match rest = Match::yes;
  for (const auto [key, value] : statement.members()) {
    if (key == "Principal") {
      principal = match_principals(value, q.account);
    } else if (key == "Action") {
      action = best_of(
          value, [&](std::string_view text) { return matches_pattern(text, q.action, true); });
    } else if (key == "Resource") {
      resource = best_of(
          value, [&](std::string_view text) { return matches_pattern(text, q.queue_arn, false); });
    } else if (key != "Sid" && key != "Effect") {
      rest = Match::unknown;
    }
  }
  return std::min({principal, action, resource, rest});
}

}  // namespace

bool add_permission(std::string_view policy, std::string_view queue_arn,
                    const PermissionGrant& grant, std::string& out, Refusal& refusal) {
  if (!check_grant(grant, refusal)) return false;
  std::optional<JsonValue> root;
  std::vector<JsonValue> statements;
  if (!read_policy(policy, root, statements)) return refuse_json(refusal);
  if (std::ranges::find(statements, grant.label, label_of) != statements.end()) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter Label is invalid. Reason: Already exists.",
                           grant.label);
  }
  if (statements.size() >= policy_statements_max) {
    return refusal.because(F::over_limit, "{} Statements were found, maximum allowed is {}.",
                           statements.size() + 1, policy_statements_max);
  }
  std::string list;
  for (const JsonValue& statement : statements) list.append(statement.compact()) += ',';
  append_statement(list, queue_arn, grant);
  out = policy.empty() ? default_policy(queue_arn, list) : with_statements(*root, list);
  return out.size() <= policy_bytes_max ||
         refusal.because(F::over_limit, "The policy would have {} bytes, maximum allowed is {}.",
                         out.size(), policy_bytes_max);
}

bool remove_permission(std::string_view policy, std::string_view label, std::string& out,
                       Refusal& refusal) {
  if (!check_label(label, refusal)) return false;
  std::optional<JsonValue> root;
  std::vector<JsonValue> statements;
  if (!read_policy(policy, root, statements)) return refuse_json(refusal);
  if (std::erase_if(statements, [&](const JsonValue& s) { return label_of(s) == label; }) == 0) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter Label is invalid. Reason: can't find label.",
                           label);
  }
  std::string list;
  for (const JsonValue& statement : statements) {
    if (!list.empty()) list += ',';
    list += statement.compact();
  }
  out = list.empty() ? std::string() : with_statements(*root, list);
  return true;
}

std::string_view permission_for(std::string_view action) {
  constexpr std::string_view batch = "Batch";
  if (action.ends_with(batch)) action.remove_suffix(batch.size());
  const auto it = std::ranges::find(grantable, action);
  return it == std::end(grantable) ? std::string_view() : *it;
}

bool policy_allows(std::string_view policy, const PolicyQuestion& question) {
  if (policy.empty() || question.permission.empty()) return false;
  std::optional<JsonValue> root;
  std::vector<JsonValue> statements;
  if (!read_policy(policy, root, statements)) return false;
  const std::string action = std::string("sqs:").append(question.permission);
  const Question q{question.account, action, question.queue_arn};
  bool allowed = false;
  for (const JsonValue& statement : statements) {
    const auto given = statement.member("Effect");
    const std::string_view effect = given ? given->text().value_or("") : std::string_view();
    if (!keys_differ(statement) || (effect != "Allow" && effect != "Deny")) return false;
    const Match match = match_statement(statement, q);
    if (effect == "Deny" && match != Match::no) return false;
    allowed |= effect == "Allow" && match == Match::yes;
  }
  return allowed;
}

}  // namespace pawl
