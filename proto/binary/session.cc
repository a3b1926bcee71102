// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/session.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "proto/auth/sigv4.h"
#include "proto/binary/queue_codec.h"

namespace pawl {
namespace {

constexpr std::size_t client_name_max = 64;
const ConfigPtr no_queue;

}  // namespace

// --- BinarySession ---

std::uint32_t BinarySession::intern(const ConfigPtr& config, const Directory& directory) {
  CHECK(config != nullptr, "a handle for no queue");
  forget_gone(directory);
  const auto known = handles_.find(raw(config->id));
  if (known != handles_.end()) {
    CHECK(known->second >= 1, "handle {}", known->second);
    CHECK(known->second <= queues_.size(), "handle {} of {}", known->second, queues_.size());
    queues_[known->second - 1].config = config;
    return known->second;
  }
  if (full()) return 0;
  queues_.push_back({config, directory.find(config->id) != nullptr});
  const auto handle = static_cast<std::uint32_t>(queues_.size());
  handles_.emplace(raw(config->id), handle);
  CHECK(handle <= handles_max, "handle {}", handle);
  CHECK(handles_.size() <= queues_.size(), "{} handles of {}", handles_.size(), queues_.size());
  return handle;
}

// Releases the settings of deleted queues, a few per call: no one else needs them.
void BinarySession::forget_gone(const Directory& directory) {
  constexpr std::size_t at_once = 16;
  for (std::size_t left = std::min(at_once, queues_.size()); left > 0; --left) {
    looked_at_ = (looked_at_ + 1) % queues_.size();
    Opened& opened = queues_[looked_at_];
    if (opened.config == nullptr) continue;
    const ConfigPtr* const current = directory.find(opened.config->id);
    if (current != nullptr) {
      opened = {*current, true};
    } else if (opened.known) {
      CHECK(handles_.erase(raw(opened.config->id)) == 1, "queue {} had no handle",
            raw(opened.config->id));
      opened.config.reset();
    }
  }
}

bool BinarySession::may_stay(const Keyring* keys) const {
  return !challenged_ || !greeted_ || (keys != nullptr && keys->holds(key_.id_digest, key_.print));
}

bool BinarySession::expects(BinaryOp op) const {
  if (greeted_) return op != BinaryOp::hello && op != BinaryOp::authenticate;
  return op == (challenged_ ? BinaryOp::authenticate : BinaryOp::hello);
}

const ConfigPtr* BinarySession::queue(std::uint32_t handle) const {
  return handle >= 1 && handle <= queues_.size() ? &queues_[handle - 1].config : nullptr;
}

// --- BinaryCall: in ---

BinaryCall::Next BinaryCall::begin(BinarySession& session, std::string_view frame,
                                   const Directory& directory, const BinarySettings& config) {
  CHECK(empty_ && subscription_ == nullptr, "a call in flight begins again");
  empty_ = false;
  status_ = Status::ok;
  detail_ = no_detail;
  config_ = &config;
  groups_ = session.groups_;
  undelivering_ = false;
  answer_bytes_max_ = SIZE_MAX;
  wait_later_ = Duration{0};
  answer_.clear();
  request_.home = config.home;
  header_ = FrameHeader{};
  verb_ = nullptr;
  frame_.assign(frame);

  const auto header = frame_.size() < frame_header_bytes ? std::nullopt : parse_header(frame_);
  if (!header) return hang_up(Status::bad_frame);
  header_ = *header;
  const auto payload = payload_of(header_, frame_);
  if (!payload) return hang_up(payload.error());
  if ((header_.flags & ~flag_checksum) != 0 || header_.status != 0)
    return session.greeted_ ? refuse(Status::bad_frame) : hang_up(Status::bad_frame);
  if (!session.expects(static_cast<BinaryOp>(header_.op))) return hang_up(Status::out_of_order);
  verb_ = verb(header_.op);
  if (verb_ == nullptr) return refuse(Status::unknown_op);
  const auto op = static_cast<BinaryOp>(header_.op);
  if (session.refuses_sends_ && (op == BinaryOp::send || op == BinaryOp::send_once))
    return refuse(Status::no_memory);
  BinaryReader in(*payload);
  return run(*verb_, session, in, directory, config);
}

// The verbs. A new one is a row here, an enumerator in frames.h, and its functions.
const BinaryCall::Verb* BinaryCall::verb(std::uint8_t op) {
  using Call = BinaryCall;
  static constexpr Verb rows[] = {
      {BinaryOp::hello, Handle::none, &Call::hello},
      {BinaryOp::ping, Handle::none, &Call::ping},
      {BinaryOp::open_queue, Handle::none, &Call::open_queue},
      {BinaryOp::create_queue, Handle::none, &Call::create_queue, &Call::created},
      {BinaryOp::delete_queue, Handle::queue, &Call::without_payload},
      {BinaryOp::set_attributes, Handle::queue, &Call::set_attributes},
      {BinaryOp::get_attributes, Handle::queue, &Call::get_attributes, &Call::counted},
      {BinaryOp::list_queues, Handle::none, &Call::list_queues},
      {BinaryOp::purge, Handle::queue, &Call::without_payload},
      {BinaryOp::stats, Handle::queue, &Call::without_payload, &Call::counted},
      {BinaryOp::get_tags, Handle::known, &Call::get_tags},
      {BinaryOp::set_tags, Handle::queue, &Call::set_tags},
      {BinaryOp::list_sources, Handle::known, &Call::list_sources},
      {BinaryOp::authenticate, Handle::none, &Call::authenticate},
      {BinaryOp::send, Handle::queue, &Call::send, nullptr, &Call::write_sent},
      {BinaryOp::receive, Handle::queue, &Call::receive, &Call::received, &Call::write_deliveries},
      {BinaryOp::delete_message, Handle::queue, &Call::receipts, nullptr, &Call::write_receipts},
      {BinaryOp::change, Handle::queue, &Call::receipts, nullptr, &Call::write_receipts},
      {BinaryOp::start_move, Handle::queue, &Call::start_move, &Call::task_answered},
      {BinaryOp::cancel_move, Handle::queue, &Call::cancel_task, &Call::task_answered},
      {BinaryOp::list_moves, Handle::queue, &Call::without_payload, &Call::moves_listed},
      {BinaryOp::start_replay, Handle::queue, &Call::start_replay, &Call::task_answered},
      {BinaryOp::cancel_replay, Handle::queue, &Call::cancel_task, &Call::task_answered},
      {BinaryOp::list_replays, Handle::queue, &Call::list_replays, &Call::replays_listed},
      {BinaryOp::subscribe, Handle::queue, &Call::subscribe, &Call::received},
      {BinaryOp::acknowledge, Handle::queue, &Call::receipts, nullptr, &Call::write_receipts},
      {BinaryOp::unsubscribe, Handle::none, &Call::unsubscribe},
      {BinaryOp::send_once, Handle::queue, &Call::send, nullptr, &Call::write_sent},
  };
  static constexpr auto by_op = [] {
    std::array<const Verb*, 256> all{};
    for (const Verb& row : rows) all[static_cast<std::uint8_t>(row.op)] = &row;
    return all;
  }();
  return by_op[op];
}

BinaryCall::Next BinaryCall::run(const Verb& verb, BinarySession& session, BinaryReader& in,
                                 const Directory& directory, const BinarySettings& config) {
  if (verb.handle == Handle::none)
    return (this->*verb.begin)({session, directory, config, in, no_queue});
  const ConfigPtr* opened = session.queue(header_.queue);
  if (!opened) return refuse(Status::bad_handle);
  if (*opened == nullptr) return refuse(Status::no_such_queue);
  // This shard may not know the queue yet, or it is deleted: the owner knows which, and responds.
  const ConfigPtr* current = directory.find((*opened)->id);
  if (current) opened = current;
  if (!current && verb.handle == Handle::known) return refuse(Status::no_such_queue);
  request_.queue = (*opened)->id;
  return (this->*verb.begin)({session, directory, config, in, *opened});
}

BinaryCall::Next BinaryCall::hello(const Context& call) {
  BinarySession& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  const auto magic = in.take<std::uint32_t>();
  const auto major = in.take<std::uint16_t>();
  session.minor_ = in.take<std::uint16_t>();
  const auto features = in.take<std::uint32_t>();
  const auto auth = in.take<std::uint8_t>();
  const std::string_view name = in.take_short();
  // Magic and major are checked first: the rest of another version's HELLO may be unknown.
  if (magic != binary_magic || major != binary_major) return hang_up(Status::protocol_version);
  if (!in.ok()) return hang_up(Status::bad_frame);
  // The queue that the client will use, since 1.5; further bytes belong to a later minor. Whether
  // the queue exists makes no difference: a stranger does not learn it.
  const std::string_view account = in.take_short();
  const std::string_view queue = in.take_short();
  const bool named = in.ok() && !queue.empty();
  target_ = named ? shard_of(account.empty() ? config.account : account, queue, config.shards)
                  : config.home;
  if (target_ != config.home) return Next::hand_over;
  if (auth > auth_key || (auth == auth_none && config.keys)) {
    session.fault_ = auth > auth_key ? AuthFault::bad_form : AuthFault::missing;
    return hang_up(Status::unauthorized);
  }
  session.challenged_ = config.keys != nullptr;
  session.greeted_ = !session.challenged_;
  session.client_ = name.substr(0, client_name_max);

  put(answer_, binary_major);
  put(answer_, binary_minor);
  session.groups_ = (features & feature_groups) != 0;
  put(answer_, features & features_known);
  put(answer_, frame_bytes_max);
  put(answer_, config.credit_frames);
  put(answer_, config.credit_bytes);
  put(answer_, static_cast<std::uint32_t>(entries_max));
  put(answer_, config.boot_id);
  put(answer_, raw(config.home));
  put(answer_, config.shards);
  CHECK(config.shard_ports.size() <= UINT16_MAX, "{} ports", config.shard_ports.size());
  put(answer_, static_cast<std::uint16_t>(config.shard_ports.size()));
  for (const std::uint16_t port : config.shard_ports) put(answer_, port);
  if (session.challenged_) session.challenge_ = challenge();
  const std::size_t size = session.challenged_ ? session.challenge_.size() : 0;
  put_short(answer_, {reinterpret_cast<const char*>(session.challenge_.data()), size});
  return Next::respond;
}

BinaryCall::Next BinaryCall::authenticate(const Context& call) {
  BinarySession& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  CHECK(session.challenged_, "a proof without a challenge");
  const std::string_view id = in.take_short();
  const std::string_view proof = in.take_bytes(std::tuple_size_v<Sha256>);
  if (!in.finished()) return hang_up(Status::bad_frame);
  // The server may have reloaded its keys since HELLO: the current keys count.
  const Keyring::Entry* const key =
      config.keys ? proven(*config.keys, id, session.challenge_, proof) : nullptr;
  if (key == nullptr) {
    session.fault_ = AuthFault::mismatch;
    return hang_up(Status::unauthorized);
  }
  session.account_ = key->key.account;
  session.key_ = {key->id_digest, key->print};
  session.greeted_ = true;
  return Next::respond;
}

BinaryCall::Next BinaryCall::ping(const Context& call) {
  return call.in.finished() ? Next::respond : refuse(Status::bad_frame);
}

BinaryCall::Next BinaryCall::open_queue(const Context& call) {
  BinarySession& session = call.session;
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  const BinarySettings& config = call.config;
  const std::string_view account = in.take_short();
  const std::string_view name = in.take_short();
  if (!in.finished()) return refuse(Status::bad_frame);
  // A key does not learn whether another account's queue exists. Topics are in the directory too,
  // but they are not queues.
  const bool foreign =
      (!account.empty() && !session.account_.empty() && account != session.account_) ||
      is_topic_account(account);
  const ConfigPtr* found =
      foreign ? nullptr
              : directory.find(account.empty() ? session.account_or(config) : account, name);
  if (!found) return refuse(Status::no_such_queue);
  return opened(session, *found, directory);
}

BinaryCall::Next BinaryCall::create_queue(const Context& call) {
  BinarySession& session = call.session;
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  spec_.account = session.account_or(call.config);
  spec_.name = in.take_short();
  spec_.changes.clear();
  spec_.tags.clear();
  const ConfigPtr* there = directory.find(spec_.account, spec_.name);
  const AttributeSubject of{.directory = directory,
                            .account = spec_.account,
                            .name = spec_.name,
                            .fifo = spec_.name.ends_with(".fifo"),
                            .queue = there ? there->get() : nullptr};
  const Status attributes = binary::take_queue_attributes(in, of, spec_.changes);
  const Status tags = binary::take_tags(in, spec_.tags);
  if (!in.finished()) return refuse(Status::bad_frame);
  if (const Status name = binary::check_queue_name(spec_.name); name != Status::ok)
    return refuse(name);
  if (attributes != Status::ok) return refuse(attributes);
  const bool fifo = std::ranges::find(spec_.changes, Attribute::fifo_queue,
                                      &AttributeChange::attribute) != spec_.changes.end();
  if (fifo != of.fifo) return refuse(Status::invalid);  // the name and the attribute must agree
  if (tags != Status::ok) return refuse(tags);
  if (session.full()) return refuse(Status::overloaded);
  request_.spec = &spec_;
  return route(Op::create_queue, control_shard);
}

BinaryCall::Next BinaryCall::set_attributes(const Context& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = call.queue();
  changes_.clear();
  const AttributeSubject of{.directory = call.directory,
                            .account = queue.account,
                            .name = queue.name,
                            .fifo = queue.is_fifo(),
                            .queue = &queue};
  const Status status = binary::take_queue_attributes(in, of, changes_);
  if (!in.finished()) return refuse(Status::bad_frame);
  if (status != Status::ok) return refuse(status);
  if (changes_.empty()) return refuse(Status::invalid);
  request_.changes = changes_;
  return route(Op::set_attributes, control_shard);
}

BinaryCall::Next BinaryCall::get_attributes(const Context& call) {
  if (!call.in.finished()) return refuse(Status::bad_frame);
  described_ = call.opened;
  return route(Op::count, call.queue().owner);
}

BinaryCall::Next BinaryCall::without_payload(const Context& call) {
  if (!call.in.finished()) return refuse(Status::bad_frame);
  const ShardId owner = call.queue().owner;
  switch (verb_->op) {
    case BinaryOp::delete_queue:
      return route(Op::delete_queue, control_shard);
    case BinaryOp::purge:
      return route(Op::purge, owner);
    case BinaryOp::list_moves:
      return route(Op::list_moves, owner);
    default:
      CHECK(verb_->op == BinaryOp::stats, "op {}", static_cast<int>(verb_->op));
      return route(Op::count, owner);
  }
}

BinaryCall::Next BinaryCall::list_queues(const Context& call) {
  BinaryReader& in = call.in;
  const std::string_view prefix = in.take_short();
  const std::string_view after = in.take_short();
  const auto max = in.take<std::uint16_t>();
  if (!in.finished()) return refuse(Status::bad_frame);
  if (max < 1 || max > names_max) return refuse(Status::invalid);
  // One more than requested shows whether there are more.
  const std::vector<ConfigPtr> found = call.directory.list(call.session.account_or(call.config),
                                                           prefix, after, std::size_t{max} + 1);
  put_names(found, max);
  return Next::respond;
}

BinaryCall::Next BinaryCall::refuse(Status status, std::uint32_t detail) {
  CHECK(status != Status::ok, "a refusal without a reason");
  status_ = status;
  detail_ = detail;
  return Next::respond;
}

BinaryCall::Next BinaryCall::hang_up(Status status) {
  CHECK(status != Status::ok, "a refusal without a reason");
  status_ = status;
  return Next::close;
}

BinaryCall::Next BinaryCall::route(Op op, ShardId target) {
  CHECK(op != Op::none, "a call without an operation is routed");
  CHECK(status_ == Status::ok, "a refused call is routed");
  request_.op = op;
  target_ = target;
  return Next::route;
}

}  // namespace pawl
