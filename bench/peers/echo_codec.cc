// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer_codec.h"

// 32 bytes that a server returns unchanged: the loopback round trip of this generator.

namespace pawl::load {
namespace {

constexpr std::size_t echo_bytes = 32;

class EchoCodec : public PeerCodec {
 public:
  explicit EchoCodec(const LoadOptions& options) : PeerCodec(options) {}

  std::string prepare(Channel&, bool) override { return {}; }
  void append_send(std::string& out, std::uint32_t slot, const Mark&) override {
    out.append(echo_bytes, '.');
    push(slot, Kind::send, 1);
  }
  void append_receive(std::string&, std::uint32_t, bool) override {
    CHECK(false, "an echo server has no messages");
  }
  void append_delete(std::string&, std::uint32_t, const Delivered*, std::uint32_t) override {
    CHECK(false, "an echo server has no messages");
  }
  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>&) override {
    std::size_t taken = 0;
    for (; bytes.size() - taken >= echo_bytes; taken += echo_bytes) {
      if (idle()) return broken;
      oldest().reply.good = 1;
      count_answer(replies);
    }
    return taken;
  }
};

}  // namespace

std::unique_ptr<Codec> make_echo_codec(const LoadOptions& options, const Target&) {
  return std::make_unique<EchoCodec>(options);
}

}  // namespace pawl::load
