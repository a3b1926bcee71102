// SPDX-License-Identifier: Apache-2.0
#include "core/queue/kept_content.h"

namespace pawl {

void KeptContent::keep(const Content& stored) {
  content = stored;
  bytes.clear();
  std::string_view* const texts[] = {&content.body,   &content.attributes,  &content.system,
                                     &content.sender, &content.group,       &content.dedup_id,
                                     &content.origin, &content.notification};
  std::size_t size = 0;
  for (const std::string_view* text : texts) size += text->size();
  bytes.reserve(size);
  for (std::string_view* text : texts) {
    const std::size_t at = bytes.size();
    bytes.append(*text);
    *text = std::string_view(bytes).substr(at);
  }
  if (stored.body_md5 == nullptr) return;
  md5 = *stored.body_md5;
  content.body_md5 = &md5;
}

}  // namespace pawl
