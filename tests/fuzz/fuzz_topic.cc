// A topic as the directory keeps it: any text is read as some topic, and what is written of that is read as the same.
//
// Input: the JSON.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "proto/sns_topic.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pawl::SnsTopic;
  if (size == 0) return 0;
  const SnsTopic topic = SnsTopic::from_json({reinterpret_cast<const char*>(data), size});
  const std::string written = topic.json();
  const SnsTopic again = SnsTopic::from_json(written);
  CHECK(again.json() == written, "{} became {}", written, again.json());
  CHECK(again.subscriptions.size() == topic.subscriptions.size());
  for (std::size_t i = 0; i < again.subscriptions.size(); ++i) {
    CHECK(again.subscriptions[i].usable == topic.subscriptions[i].usable);
  }
  return 0;
}
