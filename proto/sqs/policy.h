// SPDX-License-Identifier: Apache-2.0
// Queue policies: the Policy attribute, changes by AddPermission and RemovePermission, and access
// checks for other accounts.
//
//   a statement has   Effect | Principal | Action | Resource | Condition
//   and is supported if each part has a form below. A part that is not supported never
//   allows, and in a Deny it denies:
//
//   Principal  "*", {"AWS": "*" | "<account>" | "arn:aws:iam::<account>:root" | a list}
//   Action     "*", "SQS:*", "sqs:SendMessage", "sqs:Get*" | a list; case-insensitive
//   Resource   the queue's ARN, with * and ? | a list
//   Condition, NotPrincipal, NotAction, NotResource, unknown members: not supported
//
// A Deny overrides every Allow. A batch action needs the permission of its single action. The
// queue's owner is not checked here: it may do everything to its own queues.
//
// Limits: permission_label_max, permission_actions_max, permission_accounts_max,
//         policy_statements_max, policy_bytes_max.
// Errors: a Refusal with AWS's text. An unreadable policy allows nothing.
// Owner:  values; one JSON parser per thread.
// Source: SQS API Reference, AddPermission and RemovePermission; IAM, "Policy evaluation logic".
//         The form of the policy text was recorded from AWS.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "proto/errors/sqs_errors.h"

namespace pawl {

inline constexpr std::size_t permission_label_max = 80;
inline constexpr std::size_t permission_actions_max = 7;
inline constexpr std::size_t permission_accounts_max = 64;
inline constexpr std::size_t policy_statements_max = 20;
inline constexpr std::size_t policy_bytes_max = 8192;

// The parameters of AddPermission, not validated yet.
struct PermissionGrant {
  std::string_view label;
  std::span<const std::string_view> accounts;  // 12 digits each
  std::span<const std::string_view> actions;   // "SendMessage", or "*"
};

// `policy` is the queue's current Policy, empty if it has none; `out` becomes the new one.
[[nodiscard]] bool add_permission(std::string_view policy, std::string_view queue_arn,
                                  const PermissionGrant& grant, std::string& out, Refusal& refusal);
// `out` becomes empty if no statement is left: the queue then has no Policy.
[[nodiscard]] bool remove_permission(std::string_view policy, std::string_view label,
                                     std::string& out, Refusal& refusal);

// The permission that an action needs: "SendMessage" for SendMessageBatch. Empty for actions of the
// owner only and for unknown names.
std::string_view permission_for(std::string_view action);

struct PolicyQuestion {
  std::string_view account;     // the caller's
  std::string_view permission;  // from permission_for()
  std::string_view queue_arn;
};
bool policy_allows(std::string_view policy, const PolicyQuestion& question);

}  // namespace pawl
