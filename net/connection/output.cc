// SPDX-License-Identifier: Apache-2.0
#include "net/connection/output.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "core/base/free_memory.h"

namespace pawl {

bool Output::seal() {
  if (tls_ == nullptr) return true;
  const bool possible = tls_->seal(text_);
  if (text_.empty() && text_.capacity() > kept_bytes_max) free_memory(text_);
  return possible;
}

bool Output::begin() {
  std::string& ready = tls_ == nullptr ? text_ : tls_->out();
  if (ready.empty()) return false;
  CHECK(sending_.empty() && !armed_, "{} bytes of the previous send are left",
        sending_.size() - sent_);
  sending_.swap(ready);
  ready.clear();
  sent_ = 0;
  return true;
}

std::string_view Output::piece(Instant now) {
  CHECK(!armed_ && sent_ < sending_.size(), "sent {} of {}", sent_, sending_.size());
  armed_ = true;
  progress_ = now;
  unacknowledged_ = -1;
  return std::string_view(sending_).substr(sent_, piece_bytes_max);
}

void Output::ended() {
  CHECK(armed_);
  armed_ = false;
}

bool Output::advance(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= sending_.size(), "sent {} of {}", sent_, sending_.size());
  if (sent_ < sending_.size()) return true;
  sending_.clear();
  if (sending_.capacity() > kept_bytes_max) free_memory(sending_);
  sent_ = 0;
  return false;
}

// The kernel buffers megabytes for a slow peer and then takes nothing until most of that is read,
// so the length of its send queue shows whether the peer reads.
void Output::watch(int fd, Instant now) {
  int left = 0;
  if (!armed_ || ::ioctl(fd, SIOCOUTQ, &left) != 0) return;
  const int before = unacknowledged_;
  const bool taken = left > before ||  // the kernel took more
                     left + static_cast<int>(piece_bytes_max) <= before;
  if (before < 0 || taken) unacknowledged_ = left;
  if (before >= 0 && taken) progress_ = now;
}

void Output::free_empty() {
  for (std::string* const buffer : {&text_, &sending_})
    if (buffer->empty()) free_memory(*buffer);
}

}  // namespace pawl
