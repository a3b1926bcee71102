// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/model.h"

#include <iterator>

#include "core/check.h"

namespace pawl {
namespace {

using M = SqsMember;
using Kind = SqsMemberKind;

// The order is that of SqsMember.
constexpr SqsMemberInfo members[] = {
    {"Id",                           "Id",                           Kind::text      },
    {"MessageBody",                  "MessageBody",                  Kind::text      },
    {"DelaySeconds",                 "DelaySeconds",                 Kind::integer   },
    {"MessageDeduplicationId",       "MessageDeduplicationId",       Kind::text      },
    {"MessageGroupId",               "MessageGroupId",               Kind::text      },
    {"ReceiptHandle",                "ReceiptHandle",                Kind::text      },
    {"VisibilityTimeout",            "VisibilityTimeout",            Kind::integer   },
    {"QueueUrl",                     "QueueUrl",                     Kind::text      },
    {"QueueName",                    "QueueName",                    Kind::text      },
    {"QueueOwnerAWSAccountId",       "QueueOwnerAWSAccountId",       Kind::text      },
    {"QueueNamePrefix",              "QueueNamePrefix",              Kind::text      },
    {"MaxResults",                   "MaxResults",                   Kind::integer   },
    {"NextToken",                    "NextToken",                    Kind::text      },
    {"MaxNumberOfMessages",          "MaxNumberOfMessages",          Kind::integer   },
    {"WaitTimeSeconds",              "WaitTimeSeconds",              Kind::integer   },
    {"ReceiveRequestAttemptId",      "ReceiveRequestAttemptId",      Kind::text      },
    {"Label",                        "Label",                        Kind::text      },
    {"SourceArn",                    "SourceArn",                    Kind::text      },
    {"DestinationArn",               "DestinationArn",               Kind::text      },
    {"MaxNumberOfMessagesPerSecond", "MaxNumberOfMessagesPerSecond", Kind::integer   },
    {"TaskHandle",                   "TaskHandle",                   Kind::text      },
    {"AttributeNames",               "AttributeName",                Kind::list      },
    {"MessageSystemAttributeNames",  "MessageSystemAttributeName",   Kind::list      },
    {"MessageAttributeNames",        "MessageAttributeName",         Kind::list      },
    {"TagKeys",                      "TagKey",                       Kind::list      },
    {"AWSAccountIds",                "AWSAccountId",                 Kind::list      },
    {"Actions",                      "ActionName",                   Kind::list      },
    {"Attributes",                   "Attribute",                    Kind::map       },
    {"tags",                         "Tag",                          Kind::map       },
    {"Tags",                         "Tag",                          Kind::map       },
    {"MessageAttributes",            "MessageAttribute",             Kind::attributes},
    {"MessageSystemAttributes",      "MessageSystemAttribute",       Kind::attributes},
    {"Entries",                      "",                             Kind::entries   },
};

constexpr SqsMemberSet set_of(auto... m) { return (SqsMemberSet{0} | ... | bit(m)); }

constexpr SqsMemberSet queue = set_of(M::queue_url);
constexpr SqsMemberSet message = set_of(M::body, M::delay_seconds, M::deduplication_id, M::group_id,
                                        M::message_attributes, M::system_attributes);
constexpr SqsMemberSet batch = queue | set_of(M::entries);
constexpr SqsMemberSet deletion = set_of(M::receipt_handle);
constexpr SqsMemberSet change = deletion | set_of(M::visibility_timeout);
constexpr SqsMemberSet id = set_of(M::id);
constexpr SqsMemberSet pages = set_of(M::max_results, M::next_token);

constexpr SqsActionInfo queue_action(std::string_view name, SqsMemberSet with,
                                     SqsMemberSet entry = 0) {
  return {name, queue | with, entry, true};
}
constexpr SqsActionInfo account_action(std::string_view name, SqsMemberSet with) {
  return {name, with, 0, false};
}

// The order is that of SqsAction.
constexpr SqsActionInfo actions[] = {
    {},
    account_action("CreateQueue", set_of(M::queue_name, M::queue_attributes, M::tags)),
    account_action("GetQueueUrl", set_of(M::queue_name, M::queue_owner)),
    account_action("ListQueues", pages | set_of(M::queue_name_prefix)),
    queue_action("DeleteQueue", 0),
    queue_action("PurgeQueue", 0),
    queue_action("GetQueueAttributes", set_of(M::attribute_names)),
    queue_action("SetQueueAttributes", set_of(M::queue_attributes)),
    queue_action("SendMessage", message),
    queue_action("SendMessageBatch", batch, id | message),
    queue_action("ReceiveMessage",
                 set_of(M::attribute_names, M::system_attribute_names, M::message_attribute_names,
                        M::max_messages, M::visibility_timeout, M::wait_seconds, M::attempt_id)),
    queue_action("DeleteMessage", deletion),
    queue_action("DeleteMessageBatch", batch, id | deletion),
    queue_action("ChangeMessageVisibility", change),
    queue_action("ChangeMessageVisibilityBatch", batch, id | change),
    queue_action("ListDeadLetterSourceQueues", pages),
    queue_action("TagQueue", set_of(M::new_tags)),
    queue_action("UntagQueue", set_of(M::tag_keys)),
    queue_action("ListQueueTags", 0),
    queue_action("AddPermission", set_of(M::label, M::account_ids, M::action_names)),
    queue_action("RemovePermission", set_of(M::label)),
    account_action("StartMessageMoveTask", set_of(M::source_arn, M::destination_arn, M::move_rate)),
    account_action("CancelMessageMoveTask", set_of(M::task_handle)),
    account_action("ListMessageMoveTasks", set_of(M::source_arn, M::max_results)),
};
static_assert(std::size(actions) ==
              static_cast<std::size_t>(SqsAction::list_message_move_tasks) + 1);
static_assert(static_cast<std::size_t>(M::queue_url) == sqs_entry_scalars);
static_assert(static_cast<std::size_t>(M::attribute_names) == sqs_entry_scalars + sqs_call_scalars);
static_assert(std::size(members) == static_cast<std::size_t>(M::entries) + 1);

}  // namespace

const SqsMemberInfo& info(SqsMember member) { return members[static_cast<std::size_t>(member)]; }

const SqsActionInfo& info(SqsAction action) {
  const auto i = static_cast<std::size_t>(action);
  CHECK(i < std::size(actions), "action {}", i);
  return actions[i];
}

SqsAction action_named(std::string_view name) {
  if (name.empty()) return SqsAction::none;
  for (std::size_t i = 1; i < std::size(actions); ++i) {
    if (actions[i].name == name) return static_cast<SqsAction>(i);
  }
  return SqsAction::none;
}

}  // namespace pawl
