// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/stream.h"

#include <algorithm>
#include <cerrno>

#include "core/base/check.h"
#include "net/client/socket.h"

namespace pawl::sqs_client {

bool wait_until(int descriptor, short events, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  CHECK(descriptor >= 0, "a stream without a descriptor");
  while (true) {
    const auto left =
        std::max(std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()),
                 milliseconds(0));
    const int ready = client::wait_for(descriptor, events, left);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (left.count() == 0) return false;
  }
}

}  // namespace pawl::sqs_client
