// SPDX-License-Identifier: Apache-2.0
#include "net/connection/declared_connection.h"

#include "core/base/check.h"
#include "net/connection/connection_host.h"

namespace pawl {

std::size_t DeclaredConnection::take(std::string_view bytes) {
  CHECK(host().context().sqs.declare != nullptr, "the configuration declares nothing");
  if (work_ == nullptr) {
    work_ = host().context().sqs.declare({});
    go_on(work_->begin(host().loop().shard().directory(), host().now()));
  }
  return bytes.size();
}

void DeclaredConnection::go_on(CallStep step) {
  CHECK(under_way_ == 0, "{} routes already wait", under_way_);
  if (step == CallStep::respond) {
    const std::string_view fault = work_->fault();
    out().append(fault.empty() ? "+" : work_->may_retry() ? "~" : "-");
    out().append(fault.empty() ? work_->summary() : fault);
    return finish_after_answers();
  }
  const std::span<const CallRoute> routes = work_->routes();
  CHECK(!routes.empty(), "a declaration that waits for nothing");
  while (pending_.size() < routes.size()) pending_.push_back(std::make_unique<PendingCall>());
  under_way_ = routes.size();
  for (std::size_t i = 0; i < routes.size(); ++i)
    submit(*pending_[i], *routes[i].request, routes[i].target);
}

bool DeclaredConnection::on_response(PendingCall&) {
  CHECK(under_way_ > 0, "a response for no request");
  if (--under_way_ > 0) return false;
  go_on(work_->resume());
  return under_way_ == 0;
}

}  // namespace pawl
