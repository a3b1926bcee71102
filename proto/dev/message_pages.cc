// SPDX-License-Identifier: Apache-2.0
#include "proto/dev/message_pages.h"

#include <fmt/core.h>

#include <array>
#include <optional>

#include "core/base/check.h"
#include "proto/http/accept.h"
#include "proto/pawl/peeked_writer.h"
#include "proto/sqs/state.h"
#include "proto/text/json.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"
#include "proto/text/xml.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

constexpr std::string_view no_such_queue = "AWS.SimpleQueueService.NonExistentQueue";

bool is_true(std::string_view text) { return equals_ignoring_case(text, "true") || text == "1"; }

bool begins_like(const HttpRequest& http, std::string_view type) {
  const auto* given = http.header(HeaderName::content_type);
  return given != nullptr && http.method == "POST" && starts_with_ignoring_case(*given, type);
}

// The account and name at the end of a URL or path; nothing: another text.
std::optional<QueuePath> queue_of(std::string_view text) {
  const QueuePath found = queue_path(text);
  return is_account_id(found.account) && !found.name.empty() ? std::optional(found) : std::nullopt;
}

}  // namespace

CallStep MessagePages::begin(const HttpRequest& http, std::string_view account,
                             const Directory& directory, const CallSettings& settings) {
  settings_ = &settings;
  status_ = 200;
  limit_ = messages_max;
  count_ = 0;
  from_ = 0;
  states_ = PeekSlice::all_states;
  items_.clear();
  body_.clear();
  own_ = !http.path.starts_with(localstack_path);
  return own_ ? begin_own(http, account, directory) : begin_localstack(http, directory);
}

// --- pawl's own page ---

CallStep MessagePages::begin_own(const HttpRequest& http, std::string_view account,
                                 const Directory& directory) {
  form_ = SqsForm::json;
  behind_ = true;
  limit_ = messages_default;
  Form form;
  std::string_view queue;
  if (form.parse(http.query) != Form::Fault::none)
    return refuse(400, fmt::format("The query \"{}\" is not of the form name=value, each name "
                                   "once.",
                                   http.query));
  if (!read_own(form, queue, account)) return CallStep::respond;
  return look_into(directory, account, queue);
}

bool MessagePages::read_own(const Form& form, std::string_view& queue, std::string_view& account) {
  for (const auto& [key, value] : form.params()) {
    const auto number = decimal_number(value);
    const std::uint32_t state = state_bit(value);
    if (key == "queue" && !value.empty()) {
      queue = value;
    } else if (key == "account" && is_account_id(value)) {
      account = value;
    } else if (key == "state" && state != 0) {
      states_ = state;
    } else if (key == "from" && number && *number <= seq_max) {
      from_ = *number;
    } else if (key == "limit" && number && *number >= 1 && *number <= messages_max) {
      limit_ = *number;
    } else {
      refuse(400, fmt::format("{}={} is not valid. This page has queue=NAME, account=ID, "
                              "state=visible (or in_flight, delayed, moving, unreadable, "
                              "not_durable), from=NUMBER, and limit=1 to {} ({} without it).",
                              key, value, messages_max, messages_default));
      return false;
    }
  }
  if (queue.empty()) refuse(400, "This page needs queue=NAME.");
  return !queue.empty();
}

// --- LocalStack's page ---

CallStep MessagePages::begin_localstack(const HttpRequest& http, const Directory& directory) {
  const auto* accept = http.header(HeaderName::accept);
  form_ = http.header(HeaderName::x_amz_target) != nullptr ? SqsForm::json
          : accept != nullptr && accepts_json(*accept)     ? SqsForm::tree
                                                           : SqsForm::xml;
  Form form;
  std::string url;
  if (!read_localstack(http, form, url)) return CallStep::respond;
  const auto shown = [&](std::string_view name) {
    const std::string_view* const value = form.find(name);
    return value != nullptr && is_true(*value);
  };
  behind_ = shown("ShowInvisible");
  states_ = PeekSlice::bit(State::visible);
  if (behind_) states_ |= PeekSlice::bit(State::in_flight) | PeekSlice::bit(State::moving);
  if (shown("ShowDelayed")) states_ |= PeekSlice::bit(State::delayed);
  std::string_view path = http.path.substr(localstack_path.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.empty() ? find_by_url(url, directory) : find_by_path(path, directory);
}

// Reads the parameters, wherever they are. False: this is no call that the page accepts.
bool MessagePages::read_localstack(const HttpRequest& http, Form& form, std::string& url) {
  std::string action = "ReceiveMessage";
  if (const auto* target = http.header(HeaderName::x_amz_target)) {
    action = target->substr(target->rfind('.') + 1);
    const auto members = json_members(http.body);
    if (!members) {
      refuse(400, "InvalidRequest", "The body is not a JSON object.");
      return false;
    }
    for (const JsonMember& member : *members)
      if (member.key == "QueueUrl") url = member.text;
  } else {
    const bool has_form = begins_like(http, "application/x-www-form-urlencoded");
    if (form.parse(has_form ? http.body : http.query) != Form::Fault::none) {
      refuse(400, "InvalidRequest", "The parameters are not of the form name=value, each once.");
      return false;
    }
    if (const auto* named = form.find("Action")) action = *named;
    if (const auto* named = form.find("QueueUrl")) url = *named;
  }
  if (action == "ReceiveMessage") return true;
  refuse(400, "InvalidRequest", "This endpoint only accepts ReceiveMessage calls");
  return false;
}

// `path` is /REGION/ACCOUNT/QUEUE.
CallStep MessagePages::find_by_path(std::string_view path, const Directory& directory) {
  CHECK(path.starts_with('/'), "the path {} has no region", path);
  const std::size_t region_end = path.find('/', 1);
  const auto found = region_end == path.npos ? std::nullopt : queue_of(path.substr(region_end));
  if (!found || path.substr(1, region_end - 1) != settings_->region)
    return refuse(400, no_such_queue,
                  fmt::format("There is no queue {}. The path is {}/{}/ACCOUNT/QUEUE here.", path,
                              localstack_path, settings_->region));
  return look_into(directory, found->account, found->name);
}

CallStep MessagePages::find_by_url(std::string_view url, const Directory& directory) {
  if (url.empty())
    return refuse(400, no_such_queue, "Name a queue: QueueUrl=http://HOST/ACCOUNT/QUEUE.");
  const auto found = queue_of(url);
  if (!found)
    return refuse(404, "InvalidAddress",
                  fmt::format("{} is not the URL of a queue: http://HOST/ACCOUNT/QUEUE.", url));
  return look_into(directory, found->account, found->name);
}

// --- the messages ---

CallStep MessagePages::look_into(const Directory& directory, std::string_view account,
                                 std::string_view name) {
  const ConfigPtr* const found = directory.find(account, name);
  if (found == nullptr) {
    return refuse(
        own_ ? 404 : 400, no_such_queue,
        fmt::format("There is no queue {} of account {}. Create it first.", name, account));
  }
  return series_.begin(*found, from_, states_, UINT32_MAX);
}

CallStep MessagePages::resume() {
  const CallStep step = series_.resume([&](const PeekedMessage& message, const Delivery* delivery) {
    if (!shows(message, delivery)) return true;
    if (count_ == limit_ || items_.size() >= bytes_max) return false;
    if (count_++ > 0 && form_ != SqsForm::xml) items_ += ',';
    PeekedWriter writer(series_.queue(), *settings_, form_, items_, scratch_);
    if (own_) {
      writer.write(message, delivery);
      return true;
    }
    const bool visible = message.state == State::visible;
    const bool delayed = message.state == State::delayed;
    const std::array<MessageWriter::Pair, 2> localstacks = {
        {{"IsVisible", visible ? "true" : "false"}, {"IsDelayed", delayed ? "true" : "false"}}
    };
    writer.write(*delivery, localstacks);
    return true;
  });
  if (series_.error() == Errc::no_such_queue)
    return refuse(own_ ? 404 : 400, no_such_queue, "The queue was deleted meanwhile.");
  if (series_.error() != Errc::ok)
    return refuse(503, "ServiceUnavailable",
                  fmt::format("The server answered {}. Retry.", name_of(series_.error())));
  return step == CallStep::route ? step : finish();
}

// LocalStack's page has no message without a body.
bool MessagePages::shows(const PeekedMessage& message, const Delivery* delivery) const {
  return (behind_ || message.behind == 0) && (own_ || delivery != nullptr);
}

CallStep MessagePages::finish() {
  CHECK(count_ <= limit_, "{} messages of {}", count_, limit_);
  if (own_) {
    body_ = fmt::format(R"({{"messages":[{}])", items_);
    if (series_.next() != 0) body_ += fmt::format(R"(,"next":{})", series_.next());
    body_ += '}';
    return CallStep::respond;
  }
  if (series_.next() != 0)
    return refuse(
        400, "InvalidRequest",
        fmt::format("The queue has more than this page shows: {} messages and {} MiB. "
                    "GET /_pawl/messages?queue={}&account={} shows them page by page.",
                    messages_max, bytes_max >> 20, series_.queue().name, series_.queue().account));
  const bool list = count_ > 1 || form_ == SqsForm::json;
  const std::string_view name = form_ == SqsForm::json ? "Messages" : "Message";
  std::string messages;
  if (count_ > 0 && form_ != SqsForm::xml)
    messages = fmt::format(R"("{}":{}{}{})", name, list ? "[" : "", items_, list ? "]" : "");
  if (form_ == SqsForm::json) {
    body_ = fmt::format("{{{}}}", messages);
  } else if (form_ == SqsForm::tree) {
    body_ =
        fmt::format(R"({{"ReceiveMessageResponse":{{"ReceiveMessageResult":{{{}}}}}}})", messages);
  } else {
    body_ = fmt::format(
        "{}<ReceiveMessageResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">"
        "<ReceiveMessageResult>{}</ReceiveMessageResult></ReceiveMessageResponse>",
        xml_declaration, items_);
  }
  return CallStep::respond;
}

// --- errors ---

CallStep MessagePages::refuse(std::uint16_t status, std::string why) {
  make_printable(why);
  CHECK(status >= 400, "status {}", status);
  status_ = status;
  body_ = std::move(why);
  return CallStep::respond;
}

CallStep MessagePages::refuse(std::uint16_t status, std::string_view code, std::string_view why) {
  refuse(status, std::string(why));
  if (own_) return CallStep::respond;
  const std::string text = std::move(body_);
  body_.clear();
  if (form_ == SqsForm::xml) {
    XmlWriter xml(body_ = xml_declaration);
    xml.open("ErrorResponse");
    xml.open("Error");
    xml.element("Type", status < 500 ? "Sender" : "Receiver");
    xml.element("Code", code);
    xml.element("Message", text);
    xml.close("Error");
    xml.close("ErrorResponse");
    return CallStep::respond;
  }
  JsonWriter json(body_);
  json.begin_object();
  if (form_ == SqsForm::json) {
    const std::string_view shape = code == no_such_queue ? "QueueDoesNotExist" : code;
    json.member("__type", "com.amazonaws.sqs#" + std::string(shape));
    json.member("message", std::string_view(text));
  } else {
    json.key("ErrorResponse");
    json.begin_object();
    json.key("Error");
    json.begin_object();
    json.member("Code", code);
    json.member("Message", std::string_view(text));
    json.end_object();
    json.end_object();
  }
  json.end_object();
  return CallStep::respond;
}

std::string_view MessagePages::content_type() const {
  if (own_ && status_ >= 400) return "text/plain; charset=utf-8";
  if (own_ || form_ == SqsForm::tree) return "application/json";
  return form_ == SqsForm::json ? "application/x-amz-json-1.0" : xml_type;
}

std::size_t MessagePages::memory() const {
  return sizeof *this + series_.memory() + items_.capacity() + scratch_.capacity() +
         body_.capacity();
}

}  // namespace pawl
