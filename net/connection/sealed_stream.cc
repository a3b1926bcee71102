// SPDX-License-Identifier: Apache-2.0
#include "net/connection/sealed_stream.h"

#include <utility>

namespace pawl {

std::string SealedStream::admit() {
  move_to(Turn::admitted);
  return std::exchange(early_, std::string());
}

bool SealedStream::keep(std::string_view bytes) {
  CHECK(!admitted(), "the handshake has had its turn");
  early_.append(bytes);
  return early_.size() <= Tls::pending_max;
}

SealedStream::Input SealedStream::result_of(Tls::Read read) const {
  if (tls_.out().size() > Tls::pending_max) return Input::not_answered;
  if (read == Tls::Read::closed) return Input::peer_closed;
  return read == Tls::Read::failed ? Input::failed : Input::taken;
}

bool SealedStream::seal(std::string& plain) {
  bool possible = true;
  if (!plain.empty()) {
    const std::size_t count = tls_.write(std::string_view(plain).substr(sealed_));
    possible = count > 0;
    sealed_ = possible ? sealed_ + count : plain.size();
    CHECK(sealed_ <= plain.size(), "encrypted {} of {} bytes", sealed_, plain.size());
  }
  if (sealed_ < plain.size()) {
    if (sealed_ > plain.size() / 2) plain.erase(0, std::exchange(sealed_, 0));
    return possible;
  }
  plain.clear();
  sealed_ = 0;
  return possible;
}

}  // namespace pawl
