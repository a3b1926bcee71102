// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/call.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sns/state.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using Next = CallStep;

constexpr std::string_view xml_namespace = "xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"";

constexpr SnsAction actions[] = {
    {"AddPermission",             sns::add_permission             },
    {"ConfirmSubscription",       sns::confirm_subscription       },
    {"CreateTopic",               sns::create_topic               },
    {"DeleteTopic",               sns::delete_topic               },
    {"GetDataProtectionPolicy",   sns::get_data_protection_policy },
    {"GetSubscriptionAttributes", sns::get_subscription_attributes},
    {"GetTopicAttributes",        sns::get_topic_attributes       },
    {"ListSubscriptions",         sns::list_subscriptions         },
    {"ListSubscriptionsByTopic",  sns::list_subscriptions_by_topic},
    {"ListTagsForResource",       sns::list_tags_for_resource     },
    {"ListTopics",                sns::list_topics                },
    {"Publish",                   sns::publish                    },
    {"PublishBatch",              sns::publish_batch              },
    {"PutDataProtectionPolicy",   sns::put_data_protection_policy },
    {"RemovePermission",          sns::remove_permission          },
    {"SetSubscriptionAttributes", sns::set_subscription_attributes},
    {"SetTopicAttributes",        sns::set_topic_attributes       },
    {"Subscribe",                 sns::subscribe                  },
    {"TagResource",               sns::tag_resource               },
    {"Unsubscribe",               sns::unsubscribe                },
    {"UntagResource",             sns::untag_resource             },
};

// In the order of SnsFault.
constexpr SnsFaultInfo faults[] = {
    {},
    {"InvalidParameter", 400, true},
    {"ParameterValueInvalid", 400, true},
    {"ValidationError", 400, true},
    {"NotFound", 404, true},
    {"AuthorizationError", 403, true},
    {"FilterPolicyLimitExceeded", 403, true},
    {"SubscriptionLimitExceeded", 403, true},
    {"TopicLimitExceeded", 403, true},
    {"TagLimitExceeded", 400, true},
    {"EmptyBatchRequest", 400, true},
    {"TooManyEntriesInBatchRequest", 400, true},
    {"BatchEntryIdsNotDistinct", 400, true},
    {"InvalidBatchEntryId", 400, true},
    {"BatchRequestTooLong", 400, true},
    {"InvalidAction", 400, true},
    {"Throttled", 429, false},
    {"InternalError", 500, false},
};
static_assert(std::size(faults) == static_cast<std::size_t>(SnsFault::internal_error) + 1);

}  // namespace

const SnsFaultInfo& info(SnsFault fault) {
  const auto i = static_cast<std::size_t>(fault);
  CHECK(i < std::size(faults), "fault {}", i);
  return faults[i];
}

bool SnsRefusal::broker(Errc code) {
  Refusal in_words_of_sqs;
  refuse(in_words_of_sqs, code, {});
  if (code == Errc::directory_full)  // topics and their rows share one limit
    return because(SnsFault::topic_limit, "{}", in_words_of_sqs.text);
  const bool later = in_words_of_sqs.fault == SqsFault::request_throttled ||
                     in_words_of_sqs.fault == SqsFault::over_limit;
  return because(later ? SnsFault::throttled : SnsFault::internal_error, "{}",
                 in_words_of_sqs.text);
}

SnsCall::SnsCall() : state_(std::make_unique<SnsState>()) {}
SnsCall::~SnsCall() = default;

Next SnsCall::begin(const Form& form, std::string_view action, const SnsContext& context) {
  *state_ = SnsState{};
  SnsState& s = *state_;
  s.directory = context.directory;
  s.config = context.config;
  s.account = context.account;
  s.base_url = context.base_url;
  s.request_id = context.request_id;
  s.now = s.config->shift->wall(context.now);
  s.request_number = context.request_number;
  append_trace_header(s.trace, context.trace);
  const auto* const found = std::ranges::find(actions, action, &SnsAction::name);
  if (found == std::end(actions)) {
    s.refusal.because(SnsFault::invalid_action, "The action {} is not valid for this endpoint.",
                      shown(action));
    return Next::respond;
  }
  s.action = found;
  return found->begin(s, form);
}

std::span<const CallRoute> SnsCall::routes() const {
  CHECK(state_->routes.size() <= routes_max, "{} routes", state_->routes.size());
  return state_->routes;
}

Next SnsCall::resume(const Directory& directory) {
  SnsState& s = *state_;
  CHECK(!s.routes.empty(), "a call that routed nothing is resumed");
  CHECK(!s.refusal, "a call that was refused is resumed");
  s.directory = &directory;
  return s.messages.empty() ? sns::topic_changed(s) : sns::published(s);
}

std::string_view SnsCall::action() const {
  return state_->action == nullptr ? std::string_view() : state_->action->name;
}

std::uint16_t SnsCall::status() const {
  return state_->refusal ? info(state_->refusal.fault).status : 200;
}

std::string_view SnsCall::error_code() const {
  return state_->refusal ? info(state_->refusal.fault).code : std::string_view();
}

std::size_t SnsCall::memory() const {
  const SnsState& s = *state_;
  std::size_t bytes = sizeof(SnsState) + s.result.capacity() + s.request.route.copied.capacity();
  bytes += s.numbers.capacity() * sizeof(SendEntry);
  for (const SnsMessage& message : s.messages)
    bytes += sizeof message + message.text.capacity() + message.attributes.capacity() +
             message.notification.capacity() + message.dedup_by.capacity();
  for (const FilterBody& body : s.filter_bodies) bytes += sizeof body + body.memory();
  for (const SnsDelivery& delivery : s.deliveries)
    bytes += sizeof delivery + delivery.messages.capacity() * sizeof delivery.messages[0];
  for (const SnsSend& send : s.sends)
    bytes += sizeof send + send.body.capacity() +
             send.targets.capacity() * (sizeof send.targets[0] + sizeof send.deliveries[0]);
  return bytes;
}

void SnsCall::write_body(std::string& out) const {
  SnsState& s = *state_;
  XmlWriter xml(out);
  if (s.refusal) {
    make_printable(s.refusal.text);
    const SnsFaultInfo& fault = info(s.refusal.fault);
    xml.open("ErrorResponse", xml_namespace);
    xml.open("Error");
    xml.element("Type", fault.sender ? "Sender" : "Receiver");
    xml.element("Code", fault.code);
    xml.element("Message", s.refusal.text);
    xml.close("Error");
    xml.element("RequestId", s.request_id);
    return xml.close("ErrorResponse");
  }
  CHECK(s.action != nullptr, "a response to no action");
  const std::string response = std::string(s.action->name) + "Response";
  xml.open(response, xml_namespace);
  if (s.has_result) {
    const std::string result = std::string(s.action->name) + "Result";
    xml.open(result);
    out += s.result;
    xml.close(result);
  }
  xml.open("ResponseMetadata");
  xml.element("RequestId", s.request_id);
  xml.close("ResponseMetadata");
  xml.close(response);
}

}  // namespace pawl
