// SPDX-License-Identifier: Apache-2.0
#include "proto/dev/dev_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/check.h"
#include "proto/text/duration.h"
#include "proto/text/form.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::string_view plain_text = "text/plain; charset=utf-8", json_text = "application/json";

// The text of the member "advance"; no value: the body is not such an object.
std::optional<std::string> advance_of(std::string_view body) {
  const auto members = json_members(body);
  if (!members || members->size() != 1 || members->front().key != "advance") return std::nullopt;
  const JsonMember& member = members->front();
  const bool simple =
      member.kind == JsonMember::Kind::text || member.kind == JsonMember::Kind::number;
  return simple ? std::optional(member.text) : std::nullopt;
}

}  // namespace

struct DevCall::Page {
  std::string_view path;
  std::string_view action;
  std::string_view method;  // GET allows HEAD too; GET or POST allows all three
  CallStep (DevCall::*begin)(const HttpRequest&, const Directory&, DevControl&);
  bool below = false;  // paths below this one are the page too

  bool is(std::string_view asked) const {
    return asked == path || (below && asked.starts_with(path) && asked[path.size()] == '/');
  }
};

const DevCall::Page DevCall::pages[] = {
    {"/_localstack/health", "DevHealth", "GET", &DevCall::health},
    {"/_pawl/reset", "DevReset", "POST", &DevCall::reset},
    {"/_pawl/clock", "DevClock", "POST", &DevCall::clock},
    {"/_pawl/wait", "DevWait", "GET", &DevCall::wait},
    {"/_pawl/messages", "DevMessages", "GET", &DevCall::messages},
    {MessagePages::localstack_path, "DevMessages", "GET or POST", &DevCall::messages, true},
};

CallStep DevCall::begin(const HttpRequest& http, std::string_view account,
                        const Directory& directory, const CallSettings& settings, Instant now) {
  action_ = {};
  wait_ = {};
  caller_ = account;
  settings_ = &settings;
  now_ = now;
  routes_.clear();
  declared_.reset();
  directory_ = &directory;
  if (settings.dev == nullptr) {
    return refuse(404, fmt::format("{} is a path of development servers. Start the server with "
                                   "--dev to use it.",
                                   http.path));
  }
  const Page* const page =
      std::ranges::find_if(pages, [&](const Page& one) { return one.is(http.path); });
  if (page == std::end(pages)) {
    std::string paths;
    for (const Page& one : pages) paths += fmt::format(" {} {}", one.method, one.path);
    return refuse(404, fmt::format("There is no page {}. There are{}.", http.path, paths));
  }
  action_ = page->action;
  const std::string_view method = http.method == "HEAD" ? "GET" : http.method;
  if (method != page->method &&
      (page->method != "GET or POST" || (method != "GET" && method != "POST")))
    return refuse(405, fmt::format("{} must be a {}.", page->path, page->method));
  return (this->*page->begin)(http, directory, *settings.dev);
}

CallStep DevCall::answer(std::uint16_t status, std::string body, std::string_view content_type) {
  CHECK(status >= 200 && status < 600, "status {}", status);
  status_ = status;
  body_ = std::move(body);
  body_ += '\n';
  content_type_ = content_type;
  return CallStep::respond;
}

CallStep DevCall::refuse(std::uint16_t status, std::string why) {
  make_printable(why);
  return answer(status, std::move(why), plain_text);
}

std::size_t DevCall::memory() const {
  return sizeof *this + body_.capacity() + (messages_ == nullptr ? 0 : messages_->memory()) +
         doomed_.capacity() * sizeof(QueueId) + requests_.capacity() * sizeof(Request) +
         routes_.capacity() * sizeof(CallRoute);
}

CallStep DevCall::resume() {
  if (action_ == "DevMessages") return follow_messages(messages_->resume());
  if (declared_ != nullptr) return follow_declared(declared_->resume());
  const auto failed = std::ranges::find_if(requests_, [](const Request& request) {
    return request.error != Errc::ok && request.error != Errc::no_such_queue;
  });
  CHECK(!requests_.empty(), "a call that routed nothing is resumed");
  if (failed != requests_.end())
    return refuse(503, fmt::format("The server answered {}. Retry.", name_of(failed->error)));
  if (wait_.queue != QueueId::none) return judge_counts();
  if (deleted_ < doomed_.size()) return delete_next();
  if (action_ == "DevReset") return declare();
  return answer(200, "{}", json_text);
}

// --- the pages ---

CallStep DevCall::health(const HttpRequest&, const Directory&, DevControl&) {
  return answer(200, R"({"services":{"sqs":"running","sns":"running"},"edition":"pawl"})",
                json_text);
}

CallStep DevCall::reset(const HttpRequest& http, const Directory& directory, DevControl&) {
  Form form;
  std::string_view account;
  if (form.parse(http.query) != Form::Fault::none)
    return refuse(400, fmt::format("The query \"{}\" is not of the form account=ID.", http.query));
  for (const Form::Param& param : form.params()) {
    if (param.key != "account" || !is_account_id(param.value))
      return refuse(400, fmt::format("{}={} is not valid: account=ID names an account of 12 "
                                     "digits. Without it all accounts are reset.",
                                     param.key, param.value));
    account = param.value;
  }
  reset_account_ = account;
  doomed_.clear();
  deleted_ = 0;
  directory.for_each([&](const ConfigPtr& config) {
    if (account.empty() || owning_account(config->account) == account)
      doomed_.push_back(config->id);
  });
  return doomed_.empty() ? declare() : delete_next();
}

// Makes the declared queues anew.
CallStep DevCall::declare() {
  CHECK(declared_ == nullptr, "a reset declares once");
  CHECK(deleted_ == doomed_.size(), "{} of {} queues are deleted", deleted_, doomed_.size());
  if (settings_->declare == nullptr) return answer(200, "{}", json_text);
  declared_ = settings_->declare(reset_account_);
  return follow_declared(declared_->begin(*directory_, now_));
}

CallStep DevCall::follow_declared(CallStep step) {
  const auto routes = declared_->routes();
  routes_.assign(routes.begin(), routes.end());
  if (step == CallStep::route) return step;
  return declared_->fault().empty() ? answer(200, "{}", json_text)
                                    : refuse(503, std::string(declared_->fault()));
}

CallStep DevCall::delete_next() {
  CHECK(deleted_ < doomed_.size(), "all {} queues are deleted", doomed_.size());
  const std::size_t end = std::min(doomed_.size(), deleted_ + routes_max);
  requests_.assign(end - deleted_, Request{});
  routes_.clear();
  for (Request& request : requests_) {
    request.op = Op::delete_queue;
    request.queue = doomed_[deleted_++];
    routes_.push_back({&request, control_shard});
  }
  return CallStep::route;
}

// Answers when every shard has had a turn after the change.
CallStep DevCall::clock(const HttpRequest& http, const Directory&, DevControl& control) {
  const std::optional<std::string> text = advance_of(http.body);
  if (!text) return refuse(400, R"(The body must be as {"advance":"15m"}.)");
  const std::optional<Duration> by = parse_duration(*text);
  if (!by) {
    return refuse(400,
                  fmt::format("\"{}\" is not a time to advance the clock by: write {}, at most "
                              "{} days.",
                              *text, duration_forms, duration_max.ms / 86'400'000));
  }
  control.advance_clock(*by);
  doomed_.clear();
  deleted_ = 0;
  requests_.assign(control.shards(), Request{});
  routes_.clear();
  // Each shard answers when none of its timers is due any more.
  for (Request& request : requests_) request.receive.wait = Duration{0};
  for (std::uint32_t shard = 0; shard < control.shards(); ++shard)
    routes_.push_back({&requests_[shard], ShardId{static_cast<std::uint8_t>(shard)}});
  CHECK(!routes_.empty(), "a server without shards");
  return CallStep::route;
}

// Reads the parameters into `wait_`. `route`: they are valid.
CallStep DevCall::read_wait(const Form& form, std::string_view& queue, std::string_view& account) {
  bool has_visible = false;
  wait_.left = wait_default;
  for (const auto& [key, value] : form.params()) {
    if (key == "queue" && !value.empty()) {
      queue = value;
    } else if (key == "account" && is_account_id(value)) {
      account = value;
    } else if (const auto number = decimal_number(value); key == "visible" && number) {
      wait_.visible = *number;
      has_visible = true;
    } else if (const auto time = parse_duration(value);
               key == "timeout" && time && *time <= wait_max) {
      wait_.left = *time;
    } else {
      return refuse(400, fmt::format("{}={} is not valid. A wait has queue=NAME, visible=NUMBER, "
                                     "timeout={}, at most {} s (5 s without it), and account=ID.",
                                     key, value, duration_forms, wait_max.ms / 1000));
    }
  }
  if (queue.empty() || !has_visible)
    return refuse(400, "A wait needs queue=NAME and visible=NUMBER.");
  return CallStep::route;
}

CallStep DevCall::wait(const HttpRequest& http, const Directory& directory, DevControl&) {
  Form form;
  if (form.parse(http.query) != Form::Fault::none)
    return refuse(
        400,
        fmt::format("The query \"{}\" is not of the form name=value, each name once.", http.query));
  std::string_view queue, account = caller_;
  if (read_wait(form, queue, account) == CallStep::respond) return CallStep::respond;
  const ConfigPtr* const found = directory.find(account, queue);
  if (found == nullptr) {
    return refuse(
        404, fmt::format("There is no queue {} of account {}. Create it first.", queue, account));
  }
  wait_.queue = (*found)->id;
  wait_.shard = (*found)->owner;
  doomed_.clear();
  deleted_ = 0;
  return route_one(Op::count);
}

CallStep DevCall::messages(const HttpRequest& http, const Directory& directory, DevControl&) {
  if (messages_ == nullptr) messages_ = std::make_unique<MessagePages>();
  return follow_messages(messages_->begin(http, caller_, directory, *settings_));
}

CallStep DevCall::follow_messages(CallStep step) {
  CHECK(messages_ != nullptr, "a page of messages that has not begun");
  if (step == CallStep::respond)
    return answer(messages_->status(), std::move(messages_->body()), messages_->content_type());
  routes_.assign(1, messages_->route());
  return step;
}

CallStep DevCall::route_one(Op op) {
  CHECK(wait_.queue != QueueId::none, "a wait for no queue");
  requests_.assign(1, Request{});
  Request& request = requests_.front();
  request.op = op;
  request.queue = wait_.queue;
  if (op == Op::none) request.receive.wait = rest;
  routes_.assign(1, {&request, wait_.shard});
  return CallStep::route;
}

// Called after a count, and after a rest.
CallStep DevCall::judge_counts() {
  CHECK(requests_.size() == 1, "a wait with {} requests", requests_.size());
  const Request& request = requests_.front();
  if (request.op == Op::none) return route_one(Op::count);
  if (request.error == Errc::no_such_queue)
    return refuse(404, "The queue was deleted during the wait.");
  const auto& [visible, in_flight, delayed, state_bytes] = request.counts;
  const bool holds =
      wait_.visible > 0 ? visible >= wait_.visible : visible + in_flight + delayed == 0;
  if (!holds && wait_.left.ms > 0) {
    wait_.left = Duration{std::max<std::int64_t>(0, wait_.left.ms - rest.ms)};
    return route_one(Op::none);
  }
  return answer(
      holds ? 200 : 408,
      fmt::format(R"({{"visible":{},"in_flight":{},"delayed":{}}})", visible, in_flight, delayed),
      json_text);
}

}  // namespace pawl
