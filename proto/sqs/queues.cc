// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "proto/aws/message_rules.h"
#include "proto/sqs/access.h"
#include "proto/sqs/actions.h"
#include "proto/text/base64.h"
#include "proto/text/text.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

constexpr std::string_view fifo_suffix = ".fifo";
constexpr std::int64_t list_max = 1000;

bool good_name(std::string_view name, bool fifo) {
  if (name.size() > queue_name_max) return false;
  if (fifo) name.remove_suffix(fifo_suffix.size());
  return is_plain_name(name);
}

bool check_name_given(SqsState& s) {
  const SqsScalar& name = s.input[M::queue_name];
  if (!name.present) {
    return s.refusal.because(F::missing_parameter,
                             "Value for parameter QueueName is invalid. Reason: Must specify a "
                             "queue name.");
  }
  if (name.text.empty()) {
    return s.refusal.because(F::invalid_parameter_value, "Queue name cannot be empty");
  }
  return true;
}

bool check_new_name(SqsState& s, std::string_view name, bool fifo) {
  if (good_name(name, fifo)) return true;
  if (fifo) return refuse_fifo_name(s.refusal);
  return s.refusal.because(F::invalid_parameter_value,
                           "Can only include alphanumeric characters, hyphens, or underscores. 1 "
                           "to 80 in length");
}

bool wants_fifo(const SqsInput& input) {
  return std::ranges::any_of(input.queue_attributes, [](const SqsInput::Pair& pair) {
    return pair.first == "FifoQueue" && equals_ignoring_case(pair.second, "true");
  });
}

bool check_max_results(SqsState& s, std::int64_t& out) {
  const SqsScalar& given = s.input[M::max_results];
  if (given.present && !given.within(0, list_max)) {
    return s.refusal.because(F::invalid_parameter_value,
                             "Value for parameter MaxResults is invalid. Reason: MaxResults must "
                             "be an integer between 1 and 1000.");
  }
  out = given.number;
  return true;
}

// A token is the last name of the previous page, in base64.
bool read_token(SqsState& s, std::string& after) {
  const SqsScalar& token = s.input[M::next_token];
  after.clear();
  if (token.text.empty()) return true;
  if (decode_base64(token.text, after) && good_name(after, after.ends_with(fifo_suffix))) {
    return true;
  }
  return s.refusal.because(F::invalid_parameter_value, "Invalid or expired next token.");
}

// Lists one page of queues with find(after, max).
template <typename Find>
Next list(SqsState& s, const Find& find) {
  std::int64_t max = 0;
  std::string after;
  if (!check_max_results(s, max) || !read_token(s, after)) return Next::respond;
  const auto page = static_cast<std::size_t>(max == 0 ? list_max : max);
  s.listed = find(after, page + 1);
  // Only a request with MaxResults gets a NextToken.
  s.more_listed = s.listed.size() > page && max != 0;
  if (s.listed.size() > page) s.listed.resize(page);
  return Next::respond;
}

void write_list(SqsState& s, std::string_view json_name, SqsResult& result) {
  std::string text;
  result.begin_list(json_name);
  for (const ConfigPtr& queue : s.listed) {
    text.clear();
    append_queue_url(text, s, queue->account, queue->name);
    result.text_item("QueueUrl", text);
  }
  result.end_list();
  if (!s.more_listed) return;
  CHECK(!s.listed.empty(), "a page without queues has a next page");
  const std::string& last = s.listed.back()->name;
  text.clear();
  append_base64(text, {reinterpret_cast<const std::uint8_t*>(last.data()), last.size()});
  result.text("NextToken", text);
}

void write_queue_url(SqsState& s, const QueueConfig& queue, SqsResult& result) {
  std::string url;
  append_queue_url(url, s, queue.account, queue.name);
  result.text("QueueUrl", url);
}

}  // namespace

Next create_queue(SqsState& s) {
  if (!check_name_given(s)) return Next::respond;
  const std::string_view name = s.input[M::queue_name].text;
  const std::string_view account = s.account;
  CHECK(account.size() <= account_bytes_max, "{}", account.size());
  const bool fifo = name.ends_with(fifo_suffix) && wants_fifo(s.input);
  const ConfigPtr* there = s.directory->find(account, name);
  const AttributeSubject queue{.directory = *s.directory,
                               .account = account,
                               .name = name,
                               .fifo = fifo,
                               .queue = there == nullptr ? nullptr : there->get()};
  s.spec.tags.clear();
  if (!check_new_name(s, name, fifo) ||
      !read_queue_attributes(s.input.queue_attributes, queue, s.spec.changes, s.refusal) ||
      !add_tags(s, name, s.spec.tags)) {
    return Next::respond;
  }
  s.spec.account = account;
  s.spec.name = name;
  s.request.spec = &s.spec;
  return s.route(Op::create_queue, control_shard);
}

void create_queue_result(SqsState& s, SqsResult& result) {
  CHECK(s.request.config != nullptr, "a created queue has no settings");
  write_queue_url(s, *s.request.config, result);
}

Next get_queue_url(SqsState& s) {
  if (!check_name_given(s)) return Next::respond;
  const SqsScalar& owner = s.input[M::queue_owner];
  const ConfigPtr* queue = find_allowed_queue(s, owner.text, s.input[M::queue_name].text);
  if (queue != nullptr) {
    s.found = *queue;
  } else {
    refuse(s.refusal, Errc::no_such_queue, {});
  }
  return Next::respond;
}

void get_queue_url_result(SqsState& s, SqsResult& result) {
  CHECK(s.found != nullptr, "the URL of no queue");
  write_queue_url(s, *s.found, result);
}

Next list_queues(SqsState& s) {
  return list(s, [&](std::string_view after, std::size_t max) {
    return s.directory->list(s.account, s.input[M::queue_name_prefix].text, after, max);
  });
}

void list_queues_result(SqsState& s, SqsResult& result) {
  if (!s.listed.empty()) write_list(s, "QueueUrls", result);
}

Next list_dead_letter_source_queues(SqsState& s) {
  return list(s, [&](std::string_view after, std::size_t max) {
    return s.directory->sources_of(s.queue_account, s.queue_name, after, max);
  });
}

// AWS omits every other empty list, but not this one.
void list_dead_letter_source_queues_result(SqsState& s, SqsResult& result) {
  write_list(s, "queueUrls", result);
}

Next delete_queue(SqsState& s) { return s.route(Op::delete_queue, control_shard); }

Next purge_queue(SqsState& s) { return s.route(Op::purge, s.queue->owner); }

Next get_queue_attributes(SqsState& s) {
  if (!select_queue_attributes(s.input.attribute_names, s.selected, s.refusal)) {
    return Next::respond;
  }
  s.found = *s.directory->find(s.queue->id);
  return wants_counts(s.selected) ? s.route(Op::count, s.queue->owner) : Next::respond;
}

void get_queue_attributes_result(SqsState& s, SqsResult& result) {
  CHECK(s.found != nullptr, "the attributes of no queue");
  write_queue_attributes(s.selected, *s.found, s.request.counts, *s.config, result);
}

Next set_queue_attributes(SqsState& s) {
  if (s.input.queue_attributes.empty()) {
    s.refusal.because(F::missing_parameter,
                      "The request must contain the parameter Attribute.Name.");
    return Next::respond;
  }
  const AttributeSubject queue{.directory = *s.directory,
                               .account = s.queue_account,
                               .name = s.queue_name,
                               .fifo = s.fifo,
                               .queue = s.queue};
  if (!read_queue_attributes(s.input.queue_attributes, queue, s.changes, s.refusal)) {
    return Next::respond;
  }
  s.request.changes = s.changes;
  return s.route(Op::set_attributes, control_shard);
}

}  // namespace pawl::sqs
