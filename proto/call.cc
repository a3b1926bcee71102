// SPDX-License-Identifier: Apache-2.0
#include "proto/call.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "proto/call_state.h"
#include "proto/http/accept.h"
#include "proto/sqs/call.h"
#include "proto/text/form.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using Api = HttpCallState::Api;

constexpr std::string_view health_text =
    "pawl is up. It speaks the protocols of Amazon SQS at this address.\n";

// Two rounds of SplitMix64's mixer: random-looking values, different for different numbers.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

CallStep plain(HttpCallState& s, std::uint16_t status, std::string_view body) {
  s.api = Api::plain;
  s.plain_status = status;
  s.plain_type = body.starts_with('<') ? xml_type : "text/plain; charset=utf-8";
  s.plain_body = body;
  return CallStep::respond;
}

// A GET without an action gets no JSON: AWS answers it before reading Accept.
bool wants_query_json(const HttpRequest& http) {
  const auto* accept = http.header(HeaderName::accept);
  if (accept == nullptr || !accepts_json(*accept)) return false;
  return http.method == "POST" || http.query.starts_with("Action=") ||
         http.query.contains("&Action=");
}

void note_request(HttpCallState& s, const HttpRequest& http, std::uint64_t request_number) {
  s.keep_alive = http.keep_alive;
  s.head_only = http.method == "HEAD";
  s.version_minor = http.version_minor;
  s.cors_origin = http.cors_origin;
  s.preflight = http.method == "OPTIONS";
  SqsState& sqs = s.sqs;
  sqs.request_id = uuid_text({mix(request_number), mix(~request_number)});
  if (const auto* host = http.header(HeaderName::host)) sqs.host = *host;
  if (!http.public_host.empty()) sqs.host = http.public_host;
  sqs.scheme = http.scheme;
  sqs.accepts_json = wants_query_json(http);
  if (const auto* trace = http.header(HeaderName::x_amzn_trace_id)) sqs.trace = *trace;
  if (const auto* mode = http.header(HeaderName::x_amzn_query_mode))
    sqs.query_mode = *mode == "true";
}

bool check_form(SqsState& s, Form::Fault fault) {
  switch (fault) {
    case Form::Fault::none:
      return true;
    case Form::Fault::too_many:
      return s.refusal.because(F::invalid_query_parameter,
                               "The request has more than {} parameters.", Form::params_max);
    case Form::Fault::bad_escape:
      return s.refusal.because(F::invalid_query_parameter,
                               "The request has a % that is not followed by two hex digits.");
    case Form::Fault::duplicate:
      return s.refusal.because(F::invalid_query_parameter,
                               "The request has a parameter more than once.");
  }
  return true;
}

CallStep begin_sns(HttpCallState& s, const Form& form, std::string_view action, Instant now,
                   std::uint64_t request_number) {
  SqsState& sqs = s.sqs;
  s.api = Api::sns;
  sqs.scratch.clear();
  append_base_url(sqs.scratch, sqs);
  if (s.sns == nullptr) s.sns = std::make_unique<SnsCall>();
  return s.sns->begin(form, action,
                      {.directory = sqs.directory,
                       .config = sqs.config,
                       .account = sqs.account,
                       .base_url = sqs.scratch,
                       .request_id = sqs.request_id_text(),
                       .now = now,
                       .request_number = request_number,
                       .trace = sqs.trace});
}

bool is_for_scheduler(const HttpCallState& s, const HttpRequest& http) {
  return SchedulerCall::is_for(http) && !s.sqs.config->strict_sqs;
}

CallStep begin_scheduler(HttpCallState& s, const HttpRequest& http, Instant now) {
  s.api = Api::scheduler;
  if (s.scheduler == nullptr) s.scheduler = std::make_unique<SchedulerCall>();
  return s.scheduler->begin(
      http,
      {.directory = s.sqs.directory, .config = s.sqs.config, .account = s.sqs.account, .now = now});
}

// Handles a request without an action.
CallStep begin_nothing(HttpCallState& s, const HttpRequest& http, Instant now) {
  if (is_for_scheduler(s, http)) return begin_scheduler(s, http, now);
  const bool names_queue = !queue_path(http.path).name.empty();
  const bool health = !names_queue || http.path == "/health";
  if (http.method != "POST" && health) return plain(s, 200, health_text);
  if (names_queue) return plain(s, 404, "<UnknownOperationException/>");
  s.sqs.refusal.because(F::missing_action, "The request must contain the parameter Action.");
  return CallStep::respond;
}

CallStep begin_query(HttpCallState& s, const HttpRequest& http, Instant now,
                     std::uint64_t request_number) {
  if (http.method != "POST") {
    if (is_for_scheduler(s, http)) return begin_scheduler(s, http, now);
    if (http.method == "PUT" || http.method == "DELETE") return plain(s, 405, {});
  }
  thread_local Form form;
  std::string both;  // the form refers to it
  const std::string_view* name = nullptr;
  // The parameters are in the body of a POST, in the query string (GET, presigned), or in both.
  if (http.method == "POST") {
    if (!check_form(s.sqs, form.parse(http.body))) return CallStep::respond;
    name = form.find("Action");
  }
  if (name == nullptr) {
    const bool in_both = http.method == "POST" && !http.body.empty() && !http.query.empty();
    if (in_both) both.assign(http.query).append("&").append(http.body);
    if (!check_form(s.sqs, form.parse(in_both ? both : http.query))) return CallStep::respond;
    name = form.find("Action");
  }
  if (name == nullptr) return begin_nothing(s, http, now);
  if (const auto* version = form.find("Version");
      version != nullptr && *version == SnsCall::version) {
    return sqs::check_method(s.sqs, http, *name) ? begin_sns(s, form, *name, now, request_number)
                                                 : CallStep::respond;
  }
  return sqs::begin_query(s.sqs, http, form, *name);
}

bool is_form(const HttpRequest& http) {
  const auto* type = http.header(HeaderName::content_type);
  return type != nullptr && http.method == "POST" &&
         starts_with_ignoring_case(*type, "application/x-www-form-urlencoded");
}

// True for a JSON body: without an action, its error must be JSON too. Some clients declare JSON
// but send a form.
bool is_json(const HttpRequest& http) {
  const auto* type = http.header(HeaderName::content_type);
  if (type == nullptr || http.method != "POST") return false;
  const bool says_so = starts_with_ignoring_case(*type, "application/x-amz-json") ||
                       starts_with_ignoring_case(*type, "application/json");
  return says_so && (http.body.empty() || http.body.front() == '{');
}

// The X-Amz-Target of a call in JSON, "" if it has none; nothing for a call in Query. A form is
// Query, also if it has a target: clients of other protocols add one.
std::optional<std::string_view> json_target(const HttpRequest& http) {
  if (is_form(http)) return std::nullopt;
  if (const auto* target = http.header(HeaderName::x_amz_target)) return *target;
  return is_json(http) ? std::optional<std::string_view>("") : std::nullopt;
}

// Chooses the protocol of an error for which no action is needed.
void choose_protocol(HttpCallState& s, const HttpRequest& http) {
  const auto target = json_target(http);
  const bool named = is_form(http) || (target && !target->empty());
  s.api = Api::sqs;
  s.sqs.protocol = target ? SqsProtocol::json : SqsProtocol::query;
  if (named || !is_for_scheduler(s, http)) return;
  s.api = Api::scheduler;
  if (s.scheduler == nullptr) s.scheduler = std::make_unique<SchedulerCall>();
}

CallStep begin_dev(HttpCallState& s, const HttpRequest& http, Instant now) {
  s.api = Api::dev;
  if (s.dev == nullptr) s.dev = std::make_unique<DevCall>();
  return s.dev->begin(http, s.sqs.account, *s.sqs.directory, *s.sqs.config, now);
}

CallStep begin_pawl(HttpCallState& s, const HttpRequest& http, std::string_view target,
                    Instant now) {
  s.api = Api::pawl;
  s.sqs.protocol = SqsProtocol::json;
  if (s.pawl == nullptr) s.pawl = std::make_unique<PawlCall>();
  return s.pawl->begin(s.sqs,
                       {.action = target.substr(PawlCall::target_prefix.size()),
                        .body = http.body,
                        .path = http.path,
                        .method = http.method},
                       now);
}

CallStep dispatch(HttpCallState& s, const HttpRequest& http, Instant now,
                  std::uint64_t request_number) {
  if (http.method == "OPTIONS") return plain(s, 204, "");
  if (DevCall::owns(http.path)) return begin_dev(s, http, now);
  s.api = Api::sqs;
  if (const auto target = json_target(http)) {
    if (target->empty() && is_for_scheduler(s, http)) return begin_scheduler(s, http, now);
    const bool ours = target->starts_with(PawlCall::target_prefix) && !s.sqs.config->strict_sqs;
    return ours ? begin_pawl(s, http, *target, now) : sqs::begin_json(s.sqs, http, *target);
  }
  return begin_query(s, http, now, request_number);
}

}  // namespace

void HttpCallState::reset() {
  api = Api::plain;
  cors_origin = {};
  preflight = verified = false;
  auth_fault = AuthFault::none;
  sqs.reset();
}

void HttpCallState::begin() {
  if (!cleared) reset();
  cleared = false;
}

void HttpCallState::clear() {
  if (!cleared) reset();
  sns.reset();
  pawl.reset();
  dev.reset();
  scheduler.reset();
  cleared = true;
}

HttpCall::HttpCall() : state_(std::make_unique<HttpCallState>()) {}
HttpCall::~HttpCall() = default;
HttpCall::HttpCall(HttpCall&&) noexcept = default;
HttpCall& HttpCall::operator=(HttpCall&&) noexcept = default;

CallStep HttpCall::begin(const HttpRequest& http, const Directory& directory,
                         const CallSettings& settings, Instant now, std::uint64_t request_number) {
  HttpCallState& s = *state_;
  s.begin();
  s.sqs.directory = &directory;
  s.sqs.config = &settings;
  s.sqs.now = now;
  note_request(s, http, request_number);
  if (!know_caller(s, http)) {
    choose_protocol(s, http);
    return CallStep::respond;
  }
  return dispatch(s, http, now, request_number);
}

std::size_t HttpCall::body_bytes_max(const HttpRequest& head) {
  if (head.method != "POST") return head.method == "PUT" ? form_bytes_max : small_body_bytes_max;
  const auto* target = head.header(HeaderName::x_amz_target);
  if (target == nullptr) return form_bytes_max;  // a form names its action itself
  const SqsAction action = sqs::target_action(*target);
  const bool sends = action == SqsAction::send_message || action == SqsAction::send_message_batch;
  return sends ? HttpParser::body_bytes_max : small_body_bytes_max;
}

HttpCall::Head HttpCall::check_head(const HttpRequest& http, const CallSettings& settings,
                                    std::uint64_t request_number) {
  HttpCallState& s = *state_;
  s.begin();
  s.sqs.config = &settings;
  note_request(s, http, request_number);
  if (!pawl::check_head(s, http)) {
    choose_protocol(s, http);
    return Head::refused;
  }
  return s.verified || settings.keys == nullptr ? Head::verified : Head::unverified;
}

void HttpCall::deny(const HttpRequest& http, const CallSettings& settings, int status,
                    std::string_view why, std::uint64_t request_number) {
  HttpCallState& s = *state_;
  s.begin();
  s.sqs.config = &settings;
  note_request(s, http, request_number);
  choose_protocol(s, http);
  s.sqs.query_mode = true;  // every client understands 403
  const F fault = status == 413   ? F::request_entity_too_large
                  : status == 415 ? F::unsupported_media_type
                  : status == 429 ? F::request_throttled
                                  : F::access_denied;
  s.sqs.refusal.because(fault, "{}", why);
}

std::span<const CallRoute> HttpCall::routes() const {
  CHECK(state_->api != Api::plain, "a call that routed nothing has no routes");
  CHECK(state_->api != Api::sns || state_->sns != nullptr, "a call of SNS has no state");
  if (state_->api == Api::sns) return state_->sns->routes();
  if (state_->api == Api::pawl) return state_->pawl->routes();
  if (state_->api == Api::dev) return state_->dev->routes();
  if (state_->api == Api::scheduler) return state_->scheduler->routes();
  return {&state_->sqs.routed, 1};
}

CallStep HttpCall::resume(const Directory& directory) {
  CHECK(state_->api != Api::plain, "a call that routed nothing is resumed");
  if (state_->api == Api::pawl) return state_->pawl->resume();
  if (state_->api == Api::dev) return state_->dev->resume();
  if (state_->api == Api::scheduler) return state_->scheduler->resume(directory);
  return state_->api == Api::sns ? state_->sns->resume(directory) : sqs::resume(state_->sqs);
}

void HttpCall::clear() { state_->clear(); }

std::size_t HttpCall::memory() const {
  const std::size_t own = sizeof(HttpCallState) - sizeof(SqsState) + state_->sqs.memory();
  return own + (state_->sns == nullptr ? 0 : state_->sns->memory()) +
         (state_->pawl == nullptr ? 0 : state_->pawl->memory()) +
         (state_->dev == nullptr ? 0 : state_->dev->memory()) +
         (state_->scheduler == nullptr ? 0 : state_->scheduler->memory());
}

void HttpCall::write_response(std::string& out, std::string_view date, bool may_stay) {
  state_->keep_alive = state_->keep_alive && may_stay;
  pawl::write_response(*state_, out, date);
}

bool HttpCall::keep_alive() const { return state_->keep_alive; }
AuthFault HttpCall::auth_fault() const { return state_->auth_fault; }
bool HttpCall::verified() const { return state_->verified; }
std::string_view HttpCall::action() const {
  if (state_->api == Api::sns) return state_->sns->action();
  if (state_->api == Api::pawl) return state_->pawl->action();
  if (state_->api == Api::dev) return state_->dev->action();
  if (state_->api == Api::scheduler && !state_->sqs.refusal) return state_->scheduler->action();
  return info(state_->sqs.action).name;
}
std::uint16_t HttpCall::status() const { return status_of(*state_); }

std::string_view HttpCall::protocol() const {
  switch (state_->api) {
    case Api::plain:
      return "http";
    case Api::sqs:
      return state_->sqs.protocol == SqsProtocol::json ? "json" : "query";
    case Api::sns:
      return "sns";
    case Api::pawl:
      return "pawl";
    case Api::dev:
      return "dev";
    case Api::scheduler:
      return "scheduler";
  }
  return "http";
}

std::string_view HttpCall::error_code() const { return error_code_of(*state_); }

}  // namespace pawl
