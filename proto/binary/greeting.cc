// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/greeting.h"

#include "core/base/check.h"
#include "proto/auth/challenge.h"
#include "proto/auth/sigv4.h"

namespace pawl::binary {
namespace {

constexpr std::size_t client_name_max = 64;

}  // namespace

BinaryNext hello(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  const auto magic = in.take<std::uint32_t>();
  const auto major = in.take<std::uint16_t>();
  session.minor = in.take<std::uint16_t>();
  const auto features = in.take<std::uint32_t>();
  const auto auth = in.take<std::uint8_t>();
  const std::string_view name = in.take_short();
  // Magic and major are checked first: the rest of another version's HELLO may be unknown.
  if (magic != binary_magic || major != binary_major) return s.hang_up(Status::protocol_version);
  if (!in.ok()) return s.hang_up(Status::bad_frame);
  // The queue that the client will use, since 1.5; further bytes belong to a later minor. Whether
  // the queue exists makes no difference: a stranger does not learn it.
  const std::string_view account = in.take_short();
  const std::string_view queue = in.take_short();
  const bool named = in.ok() && !queue.empty();
  s.target = named ? shard_of(account.empty() ? config.account : account, queue, config.shards)
                   : config.home;
  if (s.target != config.home) return BinaryNext::hand_over;
  if (auth > auth_key || (auth == auth_none && config.keys)) {
    session.fault = auth > auth_key ? AuthFault::bad_form : AuthFault::missing;
    return s.hang_up(Status::unauthorized);
  }
  session.challenged = config.keys != nullptr;
  session.greeted = !session.challenged;
  session.client = name.substr(0, client_name_max);

  put(s.answer, binary_major);
  put(s.answer, binary_minor);
  session.groups = (features & feature_groups) != 0;
  put(s.answer, features & features_known);
  put(s.answer, frame_bytes_max);
  put(s.answer, config.credit_frames);
  put(s.answer, config.credit_bytes);
  put(s.answer, static_cast<std::uint32_t>(entries_max));
  put(s.answer, config.boot_id);
  put(s.answer, raw(config.home));
  put(s.answer, config.shards);
  CHECK(config.shard_ports.size() <= UINT16_MAX, "{} ports", config.shard_ports.size());
  put(s.answer, static_cast<std::uint16_t>(config.shard_ports.size()));
  for (const std::uint16_t port : config.shard_ports) put(s.answer, port);
  if (session.challenged) session.challenge = challenge();
  const std::size_t size = session.challenged ? session.challenge.size() : 0;
  put_short(s.answer, {reinterpret_cast<const char*>(session.challenge.data()), size});
  return BinaryNext::respond;
}

BinaryNext authenticate(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  const BinarySettings& config = call.config;
  BinaryReader& in = call.in;
  CHECK(session.challenged, "a proof without a challenge");
  const std::string_view id = in.take_short();
  const std::string_view proof = in.take_bytes(std::tuple_size_v<Sha256>);
  if (!in.finished()) return s.hang_up(Status::bad_frame);
  // The server may have reloaded its keys since HELLO: the current keys count.
  const Keyring::Entry* const key =
      config.keys ? proven(*config.keys, id, session.challenge, proof) : nullptr;
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
