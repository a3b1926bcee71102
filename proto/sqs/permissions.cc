// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "proto/aws/arn.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/policy.h"

namespace pawl::sqs {
namespace {

using M = SqsMember;
using Next = CallStep;

// Computes the new Policy of `found`.
bool make_policy(SqsState& s, std::string& policy) {
  const std::string_view has = s.found->text(Attribute::policy);
  const std::string_view label = s.input[M::label].text;
  if (s.action == SqsAction::remove_permission) {
    return pawl::remove_permission(has, label, policy, s.refusal);
  }
  const PermissionGrant grant{
      .label = label, .accounts = s.input.account_ids, .actions = s.input.action_names};
  const std::string arn = arn_of(s.config->region, s.queue_account, s.queue_name);
  return pawl::add_permission(has, arn, grant, policy, s.refusal);
}

Next begin_change(SqsState& s) {
  s.found = *s.directory->find(s.queue->id);
  return change_permissions(s);
}

}  // namespace

Next add_permission(SqsState& s) { return begin_change(s); }
Next remove_permission(SqsState& s) { return begin_change(s); }

Next change_permissions(SqsState& s) {
  AttributeChange change{Attribute::policy, -1, {}};
  if (!make_policy(s, change.text)) return Next::respond;
  s.changes.clear();
  s.changes.push_back(std::move(change));
  s.request.changes = s.changes;
  s.request.based_on = s.found;
  return s.route(Op::set_attributes, control_shard);
}

}  // namespace pawl::sqs
