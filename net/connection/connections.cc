// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connections.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/base/usage.h"
#include "net/connection/binary_connection.h"
#include "net/connection/declared_connection.h"
#include "net/connection/http_connection.h"
#include "proto/sns/topic.h"

namespace pawl {
namespace {

std::string http_date(Instant now) {
  const std::time_t seconds_now = now.ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds_now, &parts);
  char text[40];
  const std::size_t n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text, n};
}

// Allocated size of a connection object and its list of calls.
std::uint32_t object_bytes(Protocol protocol, const AdminPort& admin) {
  constexpr std::size_t others = 2 * heap_block_bytes + 4 * sizeof(PendingCall*);
  const std::size_t object = protocol == Protocol::http       ? sizeof(HttpConnection)
                             : protocol == Protocol::admin    ? admin.connection_bytes
                             : protocol == Protocol::declared ? sizeof(DeclaredConnection)
                                                              : sizeof(BinaryConnection);
  return static_cast<std::uint32_t>(object + others);
}

}  // namespace

std::uint64_t Connections::memory() const {
  return counted_ + unverified_ + closing_bytes_ + grown_ +
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, openssl_bytes_)) + object_bytes_ +
         rows_.capacity() * sizeof(Row) + memory_.bytes() + kept_topics_bytes();
}

Connections::Connections(Ring& ring, const ConnectionContext& context)
    : ConnectionHost(ring, context) {}

Connections::~Connections() = default;

void Connections::on_response(Request& request) {
  auto& call = *static_cast<PendingCall*>(request.owner);
  const std::uint32_t index = call.connection->index();
  CHECK(index < rows_.size() && rows_[index].connection.get() == call.connection,
        "a response for a freed connection");
  memory_.touch(index);
  call.connection->on_answer(call);
}

void Connections::connection(std::uint64_t number) {
  if (HandedOver::is(number)) {
    const std::unique_ptr<HandedOver> handed = HandedOver::from(number);
    if (handed->tls != nullptr) handed->tls->charge_to(&openssl_bytes_);
    context_->open_count->fetch_add(1, std::memory_order_relaxed);
    return place(handed->fd, handed->local ? Protocol::local : Protocol::binary, handed->peer_slot,
                 handed.get());
  }
  add(static_cast<int>(static_cast<std::uint32_t>(number)),
      static_cast<Protocol>(number >> 32 & 0xFF), static_cast<std::uint32_t>(number >> 40));
}

std::unique_ptr<Connection> Connections::make(int fd, Protocol protocol) {
  switch (protocol) {
    case Protocol::http:
      return std::make_unique<HttpConnection>(*this, fd, now_);
    case Protocol::binary:
    case Protocol::local:
      return std::make_unique<BinaryConnection>(*this, fd, now_);
    case Protocol::declared:
      return std::make_unique<DeclaredConnection>(*this, fd);
    case Protocol::admin:
      break;
  }
  return context_->admin.make(*this, fd, now_);
}

void Connections::follow_live() {
  const std::uint64_t generation = context_->settings->generation();
  if (generation == settings_seen_) return;
  settings_seen_ = generation;
  const ReloadableSettings::Values settings = context_->settings->current();
  tls_ = settings.tls;
  const bool other_keys = sqs_.keys != settings.keys;
  sqs_.keys = settings.keys;
  session_.keys = settings.keys;
  if (!other_keys) return;
  for (const Row& row : rows_) {
    if (row.connection != nullptr && !row.connection->may_stay(settings.keys.get()))
      row.connection->begin_close();
  }
}

void Connections::add(int fd, Protocol protocol, std::uint32_t peer_slot) {
  place(fd, protocol, peer_slot, nullptr);
}

// `before`: see Connection::start().
void Connections::place(int fd, Protocol protocol, std::uint32_t peer_slot, HandedOver* before) {
  if (over_) {
    ::close(fd);
    context_->limits_of(protocol).leave(peer_slot);
    leave_open_count();
    return;
  }
  CHECK(fd >= 0);
  follow_live();
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(rows_.size());
    rows_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Row& row = rows_[index];
  CHECK(row.connection == nullptr, "row {} is in use", index);
  row.connection = make(fd, protocol);
  row.bytes = object_bytes(protocol, context_->admin);
  object_bytes_ += row.bytes;
  if (before == nullptr && tls_ != nullptr && context_->has_tls(protocol)) {
    row.connection->start_tls(*tls_, protocol == Protocol::binary ? "pawl" : "http/1.1",
                              openssl_bytes_);
  }
  row.local = protocol == Protocol::local;
  row.limits = &context_->limits_of(protocol);
  ++open_;
  memory_.touch(index);
  row.connection->start(index, row.generation, {peer_of(fd), peer_slot}, before);
}

void Connections::begin_turn(Instant now, std::uint64_t now_us) {
  CHECK(now_us >= now_us_, "a turn at {} us after one at {}", now_us, now_us_);
  now_ = now;
  now_us_ = now_us;
  if (gate_.begin_turn(now)) {
    handshakes_.insert(handshakes_.end(), later_handshakes_.begin(), later_handshakes_.end());
    later_handshakes_.clear();
  }
  while (!handshakes_.empty()) {
    const WaitingHandshake next = handshakes_.front();
    const Row& row = rows_[next.index];
    const bool gone = row.connection == nullptr || row.generation != next.generation;
    const auto verdict =
        gone ? HandshakeGate::Verdict::now : gate_.admit(row.connection->peer().peer_slot);
    if (verdict == HandshakeGate::Verdict::next_turn) return;
    handshakes_.pop_front();
    if (verdict == HandshakeGate::Verdict::next_second) {
      later_handshakes_.push_back(next);
    } else if (!gone) {
      memory_.touch(next.index);
      row.connection->begin_handshake();
    }
  }
}

void Connections::complete(RingTag tag, std::int32_t result, std::uint32_t flags) {
  const bool known = tag.index < rows_.size() && rows_[tag.index].connection != nullptr &&
                     rows_[tag.index].generation == tag.generation;
  CHECK(tag.op == RingOp::receive || tag.op == RingOp::send);
  if (!known) {  // the connection is gone
    if ((flags & IORING_CQE_F_BUFFER) != 0) {
      (void)ring_->buffer(flags, 0);
      ring_->recycle(flags);
    }
    return;
  }
  memory_.touch(tag.index);
  Connection& connection = *rows_[tag.index].connection;
  if (tag.op == RingOp::receive) {
    connection.on_receive(result, flags);
  } else {
    connection.on_send(result);
  }
}

void Connections::sum_memory() {
  memory_.count([this](std::uint32_t index) {
    MemorySums::Bytes bytes;
    if (const Connection* const one = rows_[index].connection.get(); one != nullptr) {
      (one->closing()    ? bytes.closing
       : one->verified() ? bytes.verified
                         : bytes.unverified) = one->memory();
    }
    return bytes;
  });
  counted_ = memory_.sums().verified + spare_bytes_;
  unverified_ = memory_.sums().unverified;
  closing_bytes_ = memory_.sums().closing;
}

// Its bytes count at once as those of a closing connection: they must not cause another eviction
// before they are freed.
void Connections::evict(Connection& connection) {
  CHECK(!connection.closing(), "a closing connection is evicted");
  std::size_t& sum = connection.verified() ? counted_ : unverified_;
  const std::size_t bytes = std::min(sum, connection.memory());
  sum -= bytes;
  closing_bytes_ += bytes;
  ++evicted_;
  memory_.touch(connection.index());
  connection.begin_close();
}

// Addresses share the limit of unverified bytes. The address that holds most loses a connection
// first: its slowest sender, so that a body that is arriving outlives stalled ones.
void Connections::close_strangers() {
  if (unverified_ <= unverified_max()) return;
  struct AddressShare {
    std::size_t bytes = 0;
    std::vector<std::pair<std::size_t, Connection*>> by_progress;
  };
  std::unordered_map<std::uint32_t, AddressShare> shares;  // by Peer::peer_slot
  for (const Row& row : rows_) {
    Connection* const one = row.connection.get();
    if (one == nullptr || one->closing() || one->verified()) continue;
    if (one->memory() < evicted_stranger_bytes_min) continue;
    AddressShare& share = shares[one->peer().peer_slot];
    share.bytes += one->memory();
    share.by_progress.emplace_back(one->progress(now_, ticked_before_), one);
  }
  for (auto& [peer_slot, share] : shares) std::ranges::sort(share.by_progress, std::greater<>());
  while (unverified_ > unverified_max() && !shares.empty()) {
    const auto most =
        std::ranges::max_element(shares, {}, [](const auto& entry) { return entry.second.bytes; });
    AddressShare& share = most->second;
    Connection& least = *share.by_progress.back().second;
    share.by_progress.pop_back();
    share.bytes -= least.memory();
    evict(least);
    if (share.by_progress.empty()) shares.erase(most);
  }
}

void Connections::free_spare() {
  drop_spare();
  for (const std::uint32_t index : memory_.touched()) {
    if (rows_[index].connection != nullptr) rows_[index].connection->free_spare();
  }
}

void Connections::touch_all() {
  for (std::uint32_t index = 0; index < rows_.size(); ++index) memory_.touch(index);
}

// The shard shares its memory anew if the connections' part has changed much.
void Connections::tell_memory() {
  const std::uint64_t now = memory(), before = told_memory_;
  if (std::max(now, before) - std::min(now, before) < memory_step) return;
  told_memory_ = now;
  loop_->memory_changed();
}

// Above half the limit, frees the spare buffers of connections used since the last count. Beyond
// the limit, frees those of all connections, then closes the largest holders until the rest fits.
void Connections::count_memory() {
  if (counted_ + grown_ > context_->memory_max / 2) free_spare();
  grown_ = 0;
  sum_memory();
  tell_memory();
  close_strangers();
  if (counted_ > context_->memory_max) {
    touch_all();
    free_spare();
    sum_memory();
  }
  while (counted_ > context_->memory_max) {
    Connection* most = nullptr;
    for (const Row& row : rows_) {
      Connection* const one = row.connection.get();
      if (one != nullptr && !one->closing() && one->verified() &&
          (most == nullptr || one->memory() > most->memory()))
        most = one;
    }
    // The rest belongs to small connections, or to closing ones until their calls are over.
    if (most == nullptr || most->memory() < evicted_bytes_min) return;
    evict(*most);
  }
}

void Connections::flush() {
  if (grown_ > context_->memory_max / 16) count_memory();
  flushing_.swap(dirty_);
  for (const std::uint32_t index : flushing_) {
    Connection* const connection = rows_[index].connection.get();
    if (connection == nullptr) continue;
    memory_.touch(index);
    connection->flush();
    if (auto handed = connection->hand_over(); handed != nullptr) {
      pass_on(index, std::move(handed));
    } else if (connection->freed()) {
      free_row(index);
    }
  }
  flushing_.clear();
  if (starved_.empty() || ring_->buffers_out() > Ring::receive_buffers * 3 / 4) return;
  for (const std::uint32_t index : starved_) {
    if (Connection* const connection = rows_[index].connection.get(); connection != nullptr)
      connection->arm_receive();
  }
  starved_.clear();
}

void Connections::pass_on(std::uint32_t index, std::unique_ptr<HandedOver> handed) {
  CHECK(rows_[index].limits == context_->connection_limits, "an admin connection is handed over");
  handed->local = rows_[index].local;
  rows_[index].limits = nullptr;  // its place in the limits goes with it
  free_row(index);
  const ShardId target = handed->target;
  loop_->send_connection(target, HandedOver::number_of(std::move(handed)));
}

void Connections::free_row(std::uint32_t index) {
  Row& row = rows_[index];
  CHECK(row.connection->freed(), "a connection is freed with operations or calls under way");
  if (row.limits != nullptr) row.limits->leave(row.connection->peer().peer_slot);
  row.connection.reset();
  CHECK(object_bytes_ >= row.bytes && open_ > 0, "{} connections are open", open_);
  object_bytes_ -= row.bytes;
  row.generation = (row.generation + 1) & 0xFF'FFFF;
  free_.push_back(index);
  --open_;
  CHECK(open_ + free_.size() == rows_.size(), "{} open and {} free of {} rows", open_, free_.size(),
        rows_.size());
  leave_open_count();
}

void Connections::leave_open_count() {
  const std::uint32_t before = context_->open_count->fetch_sub(1, std::memory_order_relaxed);
  CHECK(before > 0, "the shard has no connection that could end");
}

void Connections::tick(Instant now) {
  if (!date_.empty() && now - ticked_ < seconds(1)) return;
  ticked_before_ = ticked_;
  ticked_ = now;
  date_ = http_date(now);
  follow_live();
  for (const Row& row : rows_) {
    if (row.connection != nullptr) row.connection->check_time(now);
  }
  touch_all();
  count_memory();
}

void Connections::enter(Stage stage) {
  CHECK(stage > stage_, "stage {} after {}", static_cast<int>(stage), static_cast<int>(stage_));
  stage_ = stage;
  drain_begun_ = now_;
}

void Connections::end_those_over() {
  for (const Row& row : rows_) {
    if (row.connection != nullptr) row.connection->end_if_over(now_);
  }
}

void Connections::close_all() {
  for (const Row& row : rows_) {
    if (row.connection != nullptr) row.connection->begin_close();
  }
}

bool Connections::all_ended() const {
  return std::ranges::all_of(rows_, [&](const Row& row) {
    const bool admin = row.limits == context_->admin_connection_limits;
    const bool counts = row.connection != nullptr && (!admin || stage_ == Stage::stopping);
    return !counts || row.connection->has_ended(now_);
  });
}

}  // namespace pawl
