// Queue policies: the Policy attribute, what AddPermission makes of it, and what it lets other accounts do.
//
//   a statement says  Effect | Principal | Action | Resource | Condition
//   and is understood when each part is of the forms below; what is not understood never allows, and
//   in a Deny it denies:
//
//   Principal  "*", {"AWS": "*" | "<account>" | "arn:aws:iam::<account>:root" | a list of these}
//   Action     "*", "SQS:*", "sqs:SendMessage", "sqs:Get*" | a list; capitals do not count
//   Resource   the queue's ARN, with * and ? | a list
//   Condition, NotPrincipal, NotAction, NotResource, members unknown to us: not understood
//
// A statement that denies wins over any that allows. A batch is allowed by the name of its single.
// The owner of a queue is not asked about here: it may do everything to its own queues.
//
// Limits: permission_actions_max, policy_statements_max, label_max, policy_bytes_max.
// Errors: a Refusal, in AWS's words. A policy that cannot be read allows nothing.
// Owner:  values; one JSON parser per thread.
// Source: SQS API Reference, AddPermission and RemovePermission; IAM, "Policy evaluation logic". The form
//         of the text is as recorded from AWS.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "proto/sqs_errors.h"

namespace pawl {

inline constexpr std::size_t permission_label_max = 80;
inline constexpr std::size_t permission_actions_max = 7;
inline constexpr std::size_t permission_accounts_max = 64;
inline constexpr std::size_t policy_statements_max = 20;
inline constexpr std::size_t policy_bytes_max = 8192;

// What AddPermission is asked for, as it was given.
struct PermissionGrant {
  std::string_view label;
  std::span<const std::string_view> accounts;  // 12 digits each
  std::span<const std::string_view> actions;   // "SendMessage", or "*"
};

// `policy` is the queue's Policy as it is, empty when it has none; `out` becomes the one it is to have.
[[nodiscard]] bool add_permission(std::string_view policy, std::string_view queue_arn,
                                  const PermissionGrant& grant, std::string& out, Refusal& refusal);
// `out` is empty when no statement is left: the queue then has no Policy.
[[nodiscard]] bool remove_permission(std::string_view policy, std::string_view label,
                                     std::string& out, Refusal& refusal);

// The name that permission for an action is granted under: "SendMessage" for SendMessageBatch. Empty for
// what only the owner of a queue may do, and for what is no action.
std::string_view permission_for(std::string_view action);

struct PolicyQuestion {
  std::string_view account;     // who asks
  std::string_view permission;  // what for: of permission_for()
  std::string_view queue_arn;
};
bool policy_allows(std::string_view policy, const PolicyQuestion& question);

}  // namespace pawl
