// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/message_match.h"

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"

namespace pawl {

bool MessageMatch::takes(const Delivery* delivery) const {
  CHECK(!attribute_name.empty() || attribute_value.empty(), "a value of no attribute");
  if (any()) return true;
  if (delivery == nullptr) return false;
  const Content& content = delivery->content;
  if (!group.empty() && content.group != group) return false;
  if (filter != nullptr && !filter->matches(content.attributes, content.body)) return false;
  if (attribute_name.empty()) return true;
  AttributeReader reader(content.attributes);
  for (MessageAttribute attribute; reader.next(attribute);) {
    if (attribute.name == attribute_name)
      return attribute.kind == AttributeKind::text && attribute.value == attribute_value;
  }
  return false;
}

}  // namespace pawl
