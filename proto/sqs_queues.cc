#include <algorithm>
#include <string>

#include "proto/base64.h"
#include "proto/sqs_actions.h"
#include "proto/text.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = SqsCall::Next;

constexpr std::string_view fifo_suffix = ".fifo";
constexpr std::size_t queue_name_max = 80;
constexpr std::int64_t list_max = 1000;

bool good_name(std::string_view name, bool fifo) {
  if (name.size() > queue_name_max) return false;
  if (fifo) name.remove_suffix(fifo_suffix.size());
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
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
  if (fifo) {
    return s.refusal.because(F::invalid_parameter_value,
                             "The name of a FIFO queue can only include alphanumeric characters, "
                             "hyphens, or underscores, must end with .fifo suffix and be 1 to 80 "
                             "in length");
  }
  return s.refusal.because(F::invalid_parameter_value,
                           "Can only include alphanumeric characters, hyphens, or underscores. 1 "
                           "to 80 in length");
}

bool is_true(std::string_view text) {
  return std::ranges::equal(text, std::string_view("true"),
                            [](char c, char want) { return (c | 0x20) == want; });
}

bool wants_fifo(const SqsInput& input) {
  return std::ranges::any_of(input.queue_attributes, [](const SqsInput::Pair& pair) {
    return pair.first == "FifoQueue" && is_true(pair.second);
  });
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool read_tags(SqsState& s, std::string_view queue, Tags& out) {
  constexpr std::size_t tags_max = 50, key_max = 128, value_max = 256;
  out.clear();
  for (const auto& [key, value] : s.input.tags) {
    if (key.empty() || count_characters(key) > key_max || check_text(key) != TextFault::none) {
      return s.refusal.because(F::invalid_parameter_value,
                               "Tag keys must be between 1 and 128 characters in length.");
    }
    if (count_characters(value) > value_max || check_text(value) != TextFault::none) {
      return s.refusal.because(F::invalid_parameter_value,
                               "Tag values must be between 0 and 256 characters in length.");
    }
    const auto it = std::ranges::lower_bound(out, key, {}, &Tags::value_type::first);
    if (it != out.end() && it->first == key) {
      it->second = value;
    } else {
      out.emplace(it, key, value);
    }
    if (out.size() > tags_max) {
      return s.refusal.because(F::invalid_parameter_value, "Too many tags added for queue {}.",
                               queue);
    }
  }
  return true;
}

bool check_supported(SqsState& s, bool fifo) {
  if (fifo) {
    return s.refusal.because(F::unsupported_operation, "This version of pawl has no FIFO queues.");
  }
  if (!s.changes.unsupported.empty()) {
    return s.refusal.because(F::unsupported_operation, "This version of pawl has no {}.",
                             s.changes.unsupported);
  }
  return true;
}

// A policy that only differs in spaces or order from the one the queue has is the same policy: it is
// asked for in the words the broker has it in.
void adopt_equal_texts(const QueueConfig& queue, std::vector<AttributeChange>& changes) {
  for (AttributeChange& change : changes) {
    if (change.attribute != Attribute::policy) continue;
    const std::string_view has = queue.text(change.attribute);
    if (has != change.text && same_json(has, change.text)) change.text = has;
  }
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

// A token is the last name of the page before, in base64.
bool read_token(SqsState& s, std::string& after) {
  const SqsScalar& token = s.input[M::next_token];
  after.clear();
  if (token.text.empty()) return true;
  if (decode_base64(token.text, after) && good_name(after, after.ends_with(fifo_suffix))) {
    return true;
  }
  return s.refusal.because(F::invalid_parameter_value, "Invalid or expired next token.");
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
  const bool fifo = name.ends_with(fifo_suffix) && wants_fifo(s.input);
  if (!check_new_name(s, name, fifo) ||
      !read_queue_attributes(s.input.queue_attributes, fifo, s.changes, s.refusal) ||
      !read_tags(s, name, s.spec.tags) || !check_supported(s, fifo)) {
    return Next::respond;
  }
  s.spec.account = s.config->account;
  s.spec.name = name;
  s.spec.changes = std::move(s.changes.changes);
  if (const ConfigPtr* there = s.directory->find(s.spec.account, name)) {
    adopt_equal_texts(**there, s.spec.changes);
  }
  s.request.spec = &s.spec;
  return s.route(Op::create_queue, control_shard);
}

void create_queue_result(SqsState& s, SqsResult& result) {
  write_queue_url(s, *s.request.config, result);
}

Next get_queue_url(SqsState& s) {
  if (!check_name_given(s)) return Next::respond;
  const SqsScalar& owner = s.input[M::queue_owner];
  const std::string_view account = owner.text.empty() ? s.config->account : owner.text;
  if (const ConfigPtr* queue = s.directory->find(account, s.input[M::queue_name].text)) {
    s.found = *queue;
  } else {
    refuse(s.refusal, Errc::no_such_queue, {});
  }
  return Next::respond;
}

void get_queue_url_result(SqsState& s, SqsResult& result) { write_queue_url(s, *s.found, result); }

Next list_queues(SqsState& s) {
  std::int64_t max = 0;
  std::string after;
  if (!check_max_results(s, max) || !read_token(s, after)) return Next::respond;
  const auto page = static_cast<std::size_t>(max == 0 ? list_max : max);
  s.listed =
      s.directory->list(s.config->account, s.input[M::queue_name_prefix].text, after, page + 1);
  // Only who asks for pages is told of a next one.
  s.more_listed = s.listed.size() > page && max != 0;
  if (s.listed.size() > page) s.listed.resize(page);
  return Next::respond;
}

void list_queues_result(SqsState& s, SqsResult& result) {
  if (s.listed.empty()) return;
  std::string text;
  result.begin_list("QueueUrls");
  for (const ConfigPtr& queue : s.listed) {
    text.clear();
    append_queue_url(text, s, queue->account, queue->name);
    result.text_item("QueueUrl", text);
  }
  result.end_list();
  if (!s.more_listed) return;
  const std::string& last = s.listed.back()->name;
  text.clear();
  append_base64(text, {reinterpret_cast<const std::uint8_t*>(last.data()), last.size()});
  result.text("NextToken", text);
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
  write_queue_attributes(s.selected, *s.found, s.request.counts, s.config->region, result);
}

Next set_queue_attributes(SqsState& s) {
  if (s.input.queue_attributes.empty()) {
    s.refusal.because(F::missing_parameter,
                      "The request must contain the parameter Attribute.Name.");
    return Next::respond;
  }
  if (!read_queue_attributes(s.input.queue_attributes, false, s.changes, s.refusal) ||
      !check_supported(s, false)) {
    return Next::respond;
  }
  s.request.changes = s.changes.changes;
  return s.route(Op::set_attributes, control_shard);
}

}  // namespace pawl::sqs
