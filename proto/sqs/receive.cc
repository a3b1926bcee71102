// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/aws/notification.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/message_writer.h"
#include "proto/text/md5_lanes.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

enum class Unknown : bool { refused, ignored };

bool select_system_names(const std::vector<std::string_view>& names, Unknown unknown,
                         std::uint32_t& out, Refusal& refusal) {
  for (const std::string_view name : names) {
    const std::uint32_t selected = name == "All" ? all_system_names : system_name_bit(name);
    if (selected == 0 && unknown == Unknown::refused) {
      return refusal.because(F::invalid_attribute_name, "Unknown Attribute {}.", shown(name));
    }
    out |= selected;
  }
  return true;
}

// `whose` follows a maximum that the queue has by an attribute.
bool check_range(const SqsScalar& given, std::string_view name, std::int64_t max,
                 std::string_view whose, Refusal& refusal) {
  if (!given.present || given.within(0, max)) return true;
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter {} is invalid. Reason: Must be >= 0 and <= {}, "
                         "{}if provided.",
                         shown(given.text), name, max, whose);
}

bool check_visibility(const SqsState& s, Refusal& refusal) {
  const bool lifted = s.queue->number(Attribute::max_visibility) > 0;
  return check_range(s.input.single()[M::visibility_timeout], "VisibilityTimeout",
                     s.visibility_max_s, lifted ? "the queue's x-max-visibility, " : "", refusal);
}

// Standard queues ignore the attempt id, because some clients send it to them.
bool check_attempt(SqsState& s) {
  const SqsScalar& attempt = s.input[M::attempt_id];
  if (!s.fifo || !attempt.present) return true;
  s.request.receive.attempt = attempt.text;
  return good_message_id(attempt.text) ||
         s.refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter ReceiveRequestAttemptId is invalid. Reason: "
                           "ReceiveRequestAttemptId can only include alphanumeric and punctuation "
                           "characters. 1 to 128 in length.",
                           shown(attempt.text));
}

bool check_parameters(SqsState& s) {
  const SqsScalar& max = s.input[M::max_messages];
  if (max.present && !max.within(1, sqs_entries_max)) {
    return s.refusal.because(F::invalid_parameter_value,
                             "Value {} for parameter MaxNumberOfMessages is invalid. Reason: Must "
                             "be between 1 and 10, if provided.",
                             shown(max.text));
  }
  return check_visibility(s, s.refusal) &&
         check_range(s.input[M::wait_seconds], "WaitTimeSeconds", 20, "", s.refusal) &&
         check_attempt(s) &&
         select_system_names(s.input.attribute_names, Unknown::refused, s.system_names,
                             s.refusal) &&
         select_system_names(s.input.system_attribute_names, Unknown::ignored, s.system_names,
                             s.refusal);
}

using BodyDigests = std::array<Md5, sqs_entries_max>;

// The digests of the delivered bodies. Messages sent over HTTP have theirs; those of the binary
// protocol are hashed here.
BodyDigests body_digests(std::span<const Delivery> deliveries) {
  BodyDigests out, made;
  std::array<std::string_view, sqs_entries_max> bodies;
  std::array<std::size_t, sqs_entries_max> places;
  std::size_t count = 0;
  CHECK(deliveries.size() <= out.size(), "{} deliveries", deliveries.size());
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const Content& content = deliveries[i].content;
    if (content.body_md5 != nullptr) {
      out[i] = *content.body_md5;
    } else {
      places[count] = i;
      bodies[count++] = content.body;
    }
  }
  md5_each(std::span(bodies).first(count), std::span(made).first(count));
  for (std::size_t i = 0; i < count; ++i) out[places[i]] = made[i];
  return out;
}

}  // namespace

Next receive_message(SqsState& s) {
  s.system_names = 0;
  if (!check_parameters(s)) return Next::respond;
  s.attribute_names = AttributeFilter(s.input.message_attribute_names);
  const SqsScalar& max = s.input[M::max_messages];
  const SqsScalar& visibility = s.input.single()[M::visibility_timeout];
  const SqsScalar& wait = s.input[M::wait_seconds];
  s.request.receive.max = max.present ? static_cast<std::uint32_t>(max.number) : 1;
  if (visibility.present) s.request.receive.visibility = seconds(visibility.number);
  if (wait.present) s.request.receive.wait = seconds(wait.number);
  s.deliveries.resize(s.request.receive.max);
  s.request.deliveries = s.deliveries;
  s.request.receive.bytes_max = receive_bytes_max;
  s.request.receive.times = (s.system_names & system_name_bit(times_name)) != 0;
  return s.route(Op::receive, s.queue->owner);
}

Next undeliver_rest(SqsState& s) {
  if (s.request.op == Op::undeliver)
    return Next::respond;  // messages not returned become visible after their timeout
  CHECK(s.request.unfetched <= s.request.delivered, "{} of {} are not fetched", s.request.unfetched,
        s.request.delivered);
  CHECK(s.request.delivered <= s.request.deliveries.size(), "{} of {} deliveries",
        s.request.delivered, s.request.deliveries.size());
  const std::uint32_t fetched = s.request.delivered - s.request.unfetched;
  put_in_envelopes(s.request.deliveries.first(fetched), s.envelopes);
  std::uint64_t bytes = 0;
  s.answered = 0;
  while (s.answered < fetched) {
    const Content& content = s.request.deliveries[s.answered].content;
    bytes += content.body.size() + content.attributes.size() + content.system.size();
    if (s.answered > 0 && bytes > receive_bytes_max) break;
    ++s.answered;
  }
  if (s.answered == s.request.delivered) return Next::respond;
  write_result(s, s.result);
  s.receipts.clear();
  for (const Delivery& d : s.request.deliveries.first(s.request.delivered).subspan(s.answered))
    s.receipts.push_back({.handle = d.handle});
  s.request.receipts = s.receipts;
  s.request.deliveries = {};
  s.request.delivered = 0;
  return s.route(Op::undeliver, s.routed.target);
}

void receive_message_result(SqsState& s, SqsResult& result) {
  if (s.answered == 0) return;
  MessageWriter writer({.settings = *s.config,
                        .queue = s.request.queue,
                        .account = s.queue_account,
                        .fifo = s.fifo,
                        .system_names = s.system_names,
                        .attributes = s.attribute_names},
                       result, s.scratch);
  const auto deliveries = s.request.deliveries.first(s.answered);
  const BodyDigests digests = body_digests(deliveries);
  result.begin_list("Messages");
  for (std::size_t i = 0; i < deliveries.size(); ++i) writer.write(deliveries[i], digests[i]);
  result.end_list();
}

}  // namespace pawl::sqs
