// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/model.h"

#include <iterator>

#include "core/base/check.h"

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

static_assert(static_cast<std::size_t>(M::queue_url) == sqs_entry_scalars);
static_assert(static_cast<std::size_t>(M::attribute_names) == sqs_entry_scalars + sqs_call_scalars);
static_assert(std::size(members) == static_cast<std::size_t>(M::entries) + 1);

}  // namespace

const SqsMemberInfo& info(SqsMember member) { return members[static_cast<std::size_t>(member)]; }

}  // namespace pawl
