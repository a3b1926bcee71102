// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/access.h"

#include "proto/aws/arn.h"
#include "proto/sqs/policy.h"

namespace pawl::sqs {

bool may(const SqsState& s, SqsAction action, const QueueConfig& queue) {
  if (s.config->keys == nullptr || queue.account == s.account) return true;
  const std::string arn = arn_of(s.config->region, queue.account, queue.name);
  const PolicyQuestion question{
      .account = s.account, .permission = permission_for(info(action).name), .queue_arn = arn};
  return policy_allows(queue.text(Attribute::policy), question);
}

const ConfigPtr* find_allowed_queue(const SqsState& s, std::string_view account,
                                    std::string_view name) {
  if (kind_of(account) != ConfigKind::queue) return nullptr;
  const ConfigPtr* queue = s.directory->find(account.empty() ? s.account : account, name);
  if (queue == nullptr && s.config->keys == nullptr) queue = s.directory->find(s.account, name);
  return queue != nullptr && may(s, s.action, **queue) ? queue : nullptr;
}

const ConfigPtr* allowed_queue(SqsState& s, std::string_view account, std::string_view name,
                               std::string_view as_given) {
  if (const ConfigPtr* queue = find_allowed_queue(s, account, name)) return queue;
  if (account.empty() || account == s.account || s.config->keys == nullptr) {
    refuse(s.refusal, Errc::no_such_queue, {});
  } else {
    refuse(s.refusal, Errc::unauthorized, {.queue = shown(as_given)});
  }
  return nullptr;
}

}  // namespace pawl::sqs
