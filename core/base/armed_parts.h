// SPDX-License-Identifier: Apache-2.0
// ArmedParts: the parts of a shard or of its log that have work. A part is asked only while it is
// armed; the others cost nothing.
//
//   idle --arm()--> armed --take()--> visited --arm() again, if work is left--> armed
//
// `Part` is an enumeration in the order of the visits, of at most 32 parts.
// Owner:  the conductor of the parts, who arms and visits them.
#pragma once

#include <cstdint>

namespace pawl {

template <typename Part>
class ArmedParts {
 public:
  void arm(Part part) { bits_ |= bit(part); }
  // Disarms the part; true: it was armed.
  bool take(Part part) {
    const bool armed = has(part);
    bits_ &= ~bit(part);
    return armed;
  }
  bool has(Part part) const { return (bits_ & bit(part)) != 0; }
  bool any() const { return bits_ != 0; }

 private:
  static constexpr std::uint32_t bit(Part part) {
    return std::uint32_t{1} << static_cast<unsigned>(part);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace pawl
