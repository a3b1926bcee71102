// SPDX-License-Identifier: Apache-2.0
// MessageMatch: the messages that a peek shows, by what is stored with them.
//
// A message whose record cannot be read matches only if nothing is asked of it.
//
// Limits: none of its own.
// Errors: none.
// Owner:  the call.
#pragma once

#include <memory>
#include <string>

#include "core/queue/request.h"
#include "proto/sns/filter_policy.h"

namespace pawl {

struct MessageMatch {
  std::string group;                            // MessageGroupId; empty: any
  std::string attribute_name, attribute_value;  // of a text or number; an empty name: any

  std::shared_ptr<const FilterPolicy> filter = {};  // over message attributes; null: any

  bool any() const { return group.empty() && attribute_name.empty() && filter == nullptr; }
  // `delivery` is null if the record cannot be read.
  bool takes(const Delivery* delivery) const;
};

}  // namespace pawl
