// SPDX-License-Identifier: Apache-2.0
#include "proto/call.h"

#include <algorithm>

#include "core/free_memory.h"
#include "proto/auth/sigv4.h"
#include "proto/http/strictness.h"
#include "proto/sqs/access.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/state.h"
#include "proto/text/form.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = SqsCall::Next;

constexpr std::string_view health_text =
    "pawl is up. It speaks the protocols of Amazon SQS at this address.\n";
constexpr std::string_view target_prefix = "AmazonSQS.";

// Two rounds of SplitMix64's mixer: random-looking values, different for different numbers.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

Next plain(SqsState& s, std::uint16_t status, std::string_view body) {
  s.protocol = SqsProtocol::plain;
  s.plain_status = status;
  s.plain_type = body.starts_with('<') ? "text/xml" : "text/plain; charset=utf-8";
  s.plain_body = body;
  return Next::respond;
}

// True if Accept names JSON before any type of XML.
bool accepts_json(std::string_view accept) {
  while (!accept.empty()) {
    const std::size_t comma = std::min(accept.find(','), accept.size());
    std::string_view type = accept.substr(0, comma);
    type = type.substr(0, type.find(';'));
    while (type.starts_with(' ')) type.remove_prefix(1);
    while (type.ends_with(' ')) type.remove_suffix(1);
    if (equals_ignoring_case(type, "application/json")) return true;
    if (equals_ignoring_case(type, "text/xml") || equals_ignoring_case(type, "application/xml"))
      return false;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return false;
}

// A GET without an action gets no JSON: AWS answers it before reading Accept.
bool wants_query_json(const HttpRequest& http) {
  const auto* accept = http.header("accept");
  if (accept == nullptr || !accepts_json(*accept)) return false;
  return http.method == "POST" || http.query.starts_with("Action=") ||
         http.query.contains("&Action=");
}

void note_request(SqsState& s, const HttpRequest& http, std::uint64_t request_number) {
  s.keep_alive = http.keep_alive;
  s.head_only = http.method == "HEAD";
  s.version_minor = http.version_minor;
  s.request_id = uuid_text({mix(request_number), mix(~request_number)});
  if (const auto* host = http.header("host")) s.host = *host;
  if (!http.public_host.empty()) s.host = http.public_host;
  s.scheme = http.scheme;
  s.accepts_json = wants_query_json(http);
  s.cors_origin = http.cors_origin;
  s.preflight = http.method == "OPTIONS";
  if (const auto* trace = http.header("x-amzn-trace-id")) s.trace = *trace;
  if (const auto* mode = http.header("x-amzn-query-mode")) s.query_mode = *mode == "true";
}

// Finds the queue named by QueueUrl or, without one, by the request path.
bool find_queue(SqsState& s, const QueuePath& path) {
  const SqsScalar& url = s.input[M::queue_url];
  if (url.text.empty() && path.name.empty()) {
    return s.refusal.because(F::missing_parameter,
                             "The request must contain the parameter QueueUrl.");
  }
  const auto [account, name] = url.text.empty() ? path : queue_path(url.text);
  const ConfigPtr* queue = sqs::allowed_queue(s, account, name, url.text.empty() ? name : url.text);
  if (queue == nullptr) return false;
  s.use(**queue);
  return true;
}

Next start(SqsState& s, const QueuePath& path) {
  const SqsActionInfo& action = info(s.action);
  if (s.input.entries.size() > s.entries.size()) s.entries.resize(s.input.entries.size());
  if (action.on_queue && !find_queue(s, path)) return Next::respond;
  return handler(s.action).begin(s);
}

// Any web page can make a browser send a GET, with an <img>. Without keys, a GET may therefore only
// read, unless it has an Authorization header, which no page can add.
bool check_method(SqsState& s, const HttpRequest& http, std::string_view action) {
  const bool reads = action.starts_with("Get") || action.starts_with("List");
  if (reads || http.method == "POST" || s.config->keys != nullptr ||
      http.header("authorization") != nullptr)
    return true;
  s.query_mode = true;  // the status is 403, as in deny()
  return s.refusal.because(F::access_denied,
                           "The action {} is not served to an unsigned {}, which any web page can "
                           "send: only Get* and List* are. Send it as POST, or sign it.",
                           shown(action), http.method);
}

bool check_action(SqsState& s, SqsAction action, std::string_view name) {
  s.action = action;
  return action != SqsAction::none ||
         s.refusal.because(F::invalid_action, "The action {} is not valid for this endpoint.",
                           shown(name));
}

Next begin_json(SqsState& s, const HttpRequest& http, std::string_view target) {
  s.protocol = SqsProtocol::json;
  const bool ours = target.starts_with(target_prefix);
  const std::string_view name = ours ? target.substr(target_prefix.size()) : target;
  if (!check_action(s, ours ? action_named(name) : SqsAction::none, name) ||
      !check_method(s, http, name))
    return Next::respond;
  if (!read_json(http.body, info(s.action), s.input, s.refusal)) return Next::respond;
  return start(s, queue_path(http.path));
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

// Handles a request without an action.
Next begin_nothing(SqsState& s, const HttpRequest& http, const QueuePath& path) {
  const bool health = path.name.empty() || http.path == "/health";
  if (http.method != "POST" && health) return plain(s, 200, health_text);
  if (!path.name.empty()) return plain(s, 404, "<UnknownOperationException/>");
  s.refusal.because(F::missing_action, "The request must contain the parameter Action.");
  return Next::respond;
}

Next begin_sns(SqsState& s, const Form& form, std::string_view action, Instant now,
               std::uint64_t request_number) {
  s.protocol = SqsProtocol::sns;
  s.scratch.clear();
  append_base_url(s.scratch, s);
  if (s.sns == nullptr) s.sns = std::make_unique<SnsCall>();
  return s.sns->begin(form, action,
                      {.directory = s.directory,
                       .config = s.config,
                       .account = s.account,
                       .base_url = s.scratch,
                       .request_id = s.request_id_text(),
                       .now = now,
                       .request_number = request_number});
}

Next begin_query(SqsState& s, const HttpRequest& http, Instant now, std::uint64_t request_number) {
  thread_local Form form;
  s.protocol = SqsProtocol::query;
  const QueuePath path = queue_path(http.path);
  const std::string_view* name = nullptr;
  // The parameters are in the body of a POST, or in the query string (GET, presigned).
  if (http.method == "POST") {
    if (!check_form(s, form.parse(http.body))) return Next::respond;
    name = form.find("Action");
  }
  if (name == nullptr) {
    if (!check_form(s, form.parse(http.query))) return Next::respond;
    name = form.find("Action");
  }
  if (name == nullptr) return begin_nothing(s, http, path);
  if (const auto* version = form.find("Version");
      version != nullptr && *version == SnsCall::version) {
    return check_method(s, http, *name) ? begin_sns(s, form, *name, now, request_number)
                                        : Next::respond;
  }
  if (!check_action(s, action_named(*name), *name)) return Next::respond;
  const SqsActionInfo& action = info(s.action);
  if (!action.on_queue && s.action != SqsAction::get_queue_url && !path.account.empty()) {
    s.refusal.because(F::invalid_action, "The action {} is not valid for this endpoint.",
                      action.name);
    return Next::respond;
  }
  if (!check_method(s, http, action.name) || !read_query(form, action, s.input, s.refusal))
    return Next::respond;
  return start(s, path);
}

// True for a JSON body: without an action, its error must be JSON too. Some clients declare JSON
// but send a form.
bool is_json(const HttpRequest& http) {
  const auto* type = http.header("content-type");
  if (type == nullptr || http.method != "POST") return false;
  const bool says_so =
      type->starts_with("application/x-amz-json") || type->starts_with("application/json");
  return says_so && (http.body.empty() || http.body.front() == '{');
}

SqsProtocol protocol_of(const HttpRequest& http) {
  const bool json = http.header("x-amz-target") != nullptr || is_json(http);
  return json ? SqsProtocol::json : SqsProtocol::query;
}

Next dispatch(SqsState& s, const HttpRequest& http, Instant now, std::uint64_t request_number) {
  if (http.method == "OPTIONS") return plain(s, 204, "");
  if (const auto* target = http.header("x-amz-target")) return begin_json(s, http, *target);
  if (is_json(http)) return begin_json(s, http, "");
  return begin_query(s, http, now, request_number);
}

Errc outcome_of(const SqsState& s) {
  const Request& request = s.request;
  if (request.error != Errc::ok || s.is_batch()) return request.error;
  if (!request.sends.empty()) return request.sends.front().error;
  if (!request.receipts.empty()) return request.receipts.front().error;
  return Errc::ok;
}

// True if a change that conflicted with another one is to be retried on the queue's current config.
bool change_again(SqsState& s) {
  constexpr unsigned retries_max = 8;
  if (handler(s.action).change == nullptr || s.retries == retries_max) return false;
  ++s.retries;
  s.found = std::move(s.request.config);
  s.request.error = Errc::ok;
  return s.found != nullptr;
}

template <typename T>
void clear_and_trim(T& container, std::size_t keep_max) {
  container.clear();
  if (container.capacity() > keep_max) container.shrink_to_fit();
}

}  // namespace

void SqsState::use(const QueueConfig& the_queue) {
  queue = &the_queue;
  queue_name = input.arena.copy(queue->name);
  queue_account = input.arena.copy(queue->account);
  fifo = queue->is_fifo();
  request.queue = queue->id;
}

void SqsState::reset() {
  constexpr std::size_t text_keep_max = 4096;
  protocol = SqsProtocol::plain;
  query_mode = accepts_json = false;
  host = trace = account = cors_origin = {};
  preflight = verified = false;
  auth_fault = AuthFault::none;
  action = SqsAction::none;
  input.clear();
  refusal.clear();
  queue = nullptr;
  queue_name = queue_account = {};
  fifo = false;
  free_memory(request.copied);  // the assignment below would keep its memory
  request = {};
  for (SqsEntry& entry : entries) {
    entry.refusal.clear();
    clear_and_trim(entry.message.attributes, text_keep_max);
    clear_and_trim(entry.message.system, text_keep_max);
  }
  sends.clear();
  receipts.clear();
  deliveries.clear();
  tags.clear();
  retries = 0;
  found.reset();
  listed.clear();
  clear_and_trim(scratch, text_keep_max);
  clear_and_trim(result, 0);
  answered = 0;
}

SqsCall::SqsCall() : state_(std::make_unique<SqsState>()) {}
SqsCall::~SqsCall() = default;
SqsCall::SqsCall(SqsCall&&) noexcept = default;
SqsCall& SqsCall::operator=(SqsCall&&) noexcept = default;

Next SqsCall::begin(const HttpRequest& http, const Directory& directory, const SqsConfig& config,
                    Instant now, std::uint64_t request_number) {
  SqsState& s = *state_;
  s.reset();
  s.directory = &directory;
  s.config = &config;
  note_request(s, http, request_number);
  if (!sqs::know_caller(s, http)) {
    s.protocol = protocol_of(http);
    return Next::respond;
  }
  return dispatch(s, http, now, request_number);
}

std::size_t SqsCall::body_bytes_max(const HttpRequest& head) {
  if (head.method != "POST") return small_body_bytes_max;
  const auto* target = head.header("x-amz-target");
  if (target == nullptr) return form_bytes_max;  // a form names its action itself
  if (!target->starts_with(target_prefix)) return small_body_bytes_max;
  const SqsAction action = action_named(target->substr(target_prefix.size()));
  const bool sends = action == SqsAction::send_message || action == SqsAction::send_message_batch;
  return sends ? HttpParser::body_bytes_max : small_body_bytes_max;
}

SqsCall::Head SqsCall::check_head(const HttpRequest& http, const SqsConfig& config,
                                  std::uint64_t request_number) {
  SqsState& s = *state_;
  s.reset();
  s.config = &config;
  note_request(s, http, request_number);
  if (!sqs::check_head(s, http)) {
    s.protocol = protocol_of(http);
    return Head::refused;
  }
  return s.verified || config.keys == nullptr ? Head::verified : Head::unverified;
}

void SqsCall::deny(const HttpRequest& http, const SqsConfig& config, int status,
                   std::string_view why, std::uint64_t request_number) {
  SqsState& s = *state_;
  s.reset();
  s.config = &config;
  note_request(s, http, request_number);
  s.protocol = protocol_of(http);
  s.query_mode = true;  // every client understands 403
  const F fault = status == 413   ? F::request_entity_too_large
                  : status == 415 ? F::unsupported_media_type
                                  : F::access_denied;
  s.refusal.because(fault, "{}", why);
}

std::span<const SqsRoute> SqsCall::routes() const {
  if (state_->protocol == SqsProtocol::sns) return state_->sns->routes();
  return {&state_->routed, 1};
}

Next SqsCall::resume(const Directory& directory, const SqsConfig&) {
  SqsState& s = *state_;
  if (s.protocol == SqsProtocol::sns) return s.sns->resume(directory);
  if (s.request.op == Op::undeliver) return sqs::give_back_rest(s);
  const Errc outcome = outcome_of(s);
  if (outcome == Errc::changed_meanwhile && change_again(s)) {
    return handler(s.action).change(s);
  }
  if (outcome != Errc::ok) {
    static const SqsEntryInput none;
    refuse(s.refusal, outcome,
           sqs::subjects_of(s, s.input.entries.empty() ? none : s.input.entries.front()));
  } else if (s.is_batch()) {
    sqs::settle_batch(s);
  } else if (s.action == SqsAction::receive_message) {
    return sqs::give_back_rest(s);
  }
  return Next::respond;
}

void SqsCall::clear() {
  state_->reset();
  state_->sns.reset();
}

std::size_t SqsCall::memory() const {
  const SqsState& s = *state_;
  std::size_t bytes =
      sizeof(SqsState) + s.input.memory() + s.entries.capacity() * sizeof(SqsEntry) +
      s.sends.capacity() * sizeof(SendEntry) + s.receipts.capacity() * sizeof(ReceiptEntry) +
      s.deliveries.capacity() * sizeof(Delivery) + s.request.copied.capacity() +
      s.listed.capacity() * sizeof(ConfigPtr) + s.scratch.capacity() + s.result.capacity();
  for (const SqsEntry& entry : s.entries)
    bytes += entry.message.attributes.capacity() + entry.message.system.capacity();
  return bytes + (s.sns == nullptr ? 0 : s.sns->memory());
}

void SqsCall::write_response(std::string& out, std::string_view date, bool may_stay) {
  state_->keep_alive = state_->keep_alive && may_stay;
  write_answer(*state_, out, date);
}

bool SqsCall::keep_alive() const { return state_->keep_alive; }
AuthFault SqsCall::auth_fault() const { return state_->auth_fault; }
bool SqsCall::verified() const { return state_->verified; }
std::string_view SqsCall::action() const {
  if (state_->protocol == SqsProtocol::sns) return state_->sns->action();
  return info(state_->action).name;
}
std::uint16_t SqsCall::status() const { return status_of(*state_); }

}  // namespace pawl
