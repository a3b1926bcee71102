// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/greeting.h"

#include "core/base/check.h"
#include "proto/auth/challenge.h"
#include "proto/auth/sigv4.h"
#include "proto/binary/payloads.h"

namespace pawl::binary {
namespace {

constexpr std::size_t client_name_max = 64;

}  // namespace

BinaryNext hello(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  const auto hello = take_struct<payload::Hello>(in);
  session.minor = hello.minor;
  // Magic and major are checked first: the rest of another version's HELLO may be unknown.
  if (hello.magic != binary_magic || hello.major != binary_major)
    return s.hang_up(Status::protocol_version);
  if (!in.ok()) return s.hang_up(Status::bad_frame);
  // The queue that the client will use, since 1.5; further bytes belong to a later minor. Whether
  // the queue exists makes no difference: a stranger does not learn it.
  const auto [account, queue] = take_struct<payload::QueueAddress>(in);
  const bool named = in.ok() && !queue.empty();
  s.target = named ? shard_of(account.empty() ? config.account : account, queue, config.shards)
                   : config.home;
  if (s.target != config.home) return BinaryNext::hand_over;
  if (hello.auth > auth_key || (hello.auth == auth_none && config.keys)) {
    session.fault = hello.auth > auth_key ? AuthFault::bad_form : AuthFault::missing;
    return s.hang_up(Status::unauthorized);
  }
  session.challenged = config.keys != nullptr;
  session.greeted = !session.challenged;
  session.client = hello.client.substr(0, client_name_max);

  session.groups = (hello.features & feature_groups) != 0;
  put_struct(s.answer, payload::HelloResponse{.features = hello.features & features_known,
                                              .credit_frames = config.credit_frames,
                                              .credit_bytes = config.credit_bytes,
                                              .entries = static_cast<std::uint32_t>(entries_max),
                                              .boot_id = config.boot_id,
                                              .shard = raw(config.home),
                                              .shards = config.shards});
  CHECK(config.shard_ports.size() <= UINT16_MAX, "{} ports", config.shard_ports.size());
  put_count<payload::ShardPort>(s.answer, config.shard_ports.size());
  for (const std::uint16_t port : config.shard_ports)
    put_struct(s.answer, payload::ShardPort{port});
  if (session.challenged) session.challenge = challenge();
  const std::size_t size = session.challenged ? session.challenge.size() : 0;
  put_struct(s.answer, payload::Challenge{
                           {reinterpret_cast<const char*>(session.challenge.data()), size}
  });
  return BinaryNext::respond;
}

BinaryNext authenticate(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  CHECK(session.challenged, "a proof without a challenge");
  const auto [id, proof] = take_struct<payload::Authenticate>(in);
  if (!in.finished()) return s.hang_up(Status::bad_frame);
  // The server may have reloaded its keys since HELLO: the current keys count.
  const Keyring::Entry* const key =
      config.keys ? proven(*config.keys, id, session.challenge,
                           {reinterpret_cast<const char*>(proof.data()), proof.size()})
                  : nullptr;
  if (key == nullptr) {
    session.fault = AuthFault::mismatch;
    return s.hang_up(Status::unauthorized);
  }
  session.account = key->key.account;
  session.key = {key->id_digest, key->print};
  session.greeted = true;
  return BinaryNext::respond;
}

BinaryNext ping(BinaryCallState& s, const BinaryArguments& call) {
  return call.in.finished() ? BinaryNext::respond : s.refuse(Status::bad_frame);
}

}  // namespace pawl::binary
