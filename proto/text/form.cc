// SPDX-License-Identifier: Apache-2.0
#include "proto/text/form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

#include "core/base/check.h"

namespace pawl {
namespace {

// Values of the hexadecimal digits, shifted left; no_digit: another character.
constexpr unsigned no_digit = 0x100;
constexpr std::array<std::uint16_t, 256> hex_values(unsigned shift) {
  std::array<std::uint16_t, 256> table{};
  table.fill(no_digit);
  for (unsigned i = 0; i < 16; ++i) {
    const auto value = static_cast<std::uint16_t>(i << shift);
    table[static_cast<std::uint8_t>("0123456789abcdef"[i])] = value;
    table[static_cast<std::uint8_t>("0123456789ABCDEF"[i])] = value;
  }
  return table;
}
constexpr std::array<std::uint16_t, 256> high_digits = hex_values(4), low_digits = hex_values(0);

// The decoded byte of each input byte; 0: `%` or a zero byte, decoded separately.
constexpr std::array<char, 256> plain_byte = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = static_cast<char>(c);
  table['+'] = ' ';
  table['%'] = 0;
  return table;
}();

// Copies bytes up to the next one with a 0 in `plain_byte`, and returns their number.
std::size_t copy_plain(const char* from, std::size_t count, char* to) {
  const auto byte = [&](std::size_t i) {
    const char c = plain_byte[static_cast<std::uint8_t>(from[i])];
    if (c == 0) return false;
    to[i] = c;
    return true;
  };
  std::size_t i = 0;
  while (i + 4 <= count) {
    if (!byte(i)) return i;
    if (!byte(i + 1)) return i + 1;
    if (!byte(i + 2)) return i + 2;
    if (!byte(i + 3)) return i + 3;
    i += 4;
  }
  while (i < count && byte(i)) ++i;
  return i;
}

// Decodes `in` to `out` (never longer than `in`) and returns the end; nullptr for a bad escape.
char* decode(std::string_view in, char* out) {
  for (std::size_t i = 0;;) {
    const std::size_t copied = copy_plain(in.data() + i, in.size() - i, out);
    i += copied;
    out += copied;
    if (i == in.size()) return out;
    if (in[i] == 0) {
      *out++ = in[i++];
      continue;
    }
    if (in.size() - i < 3) return nullptr;
    // Escapes often follow each other.
    do {
      const unsigned byte = high_digits[static_cast<std::uint8_t>(in[i + 1])] |
                            low_digits[static_cast<std::uint8_t>(in[i + 2])];
      if (byte >= no_digit) return nullptr;
      *out++ = static_cast<char>(byte);
      i += 3;
    } while (in.size() - i >= 3 && in[i] == '%');
  }
}

// A key joined from its parts; no valid form has a key longer than the buffer.
class Key {
 public:
  Key& add(std::string_view part) {
    fits_ = fits_ && part.size() <= text_.size() - size_;
    if (fits_) {
      std::memcpy(text_.data() + size_, part.data(), part.size());
      size_ += part.size();
    }
    return *this;
  }
  bool fits() const { return fits_; }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 256> text_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

enum class Number : std::uint8_t { none, bad, good };

// The number after "prefix.": digits up to the end or the next dot.
Number leading_number(std::string_view text, std::uint32_t& number) {
  const std::string_view digits = text.substr(0, text.find('.'));
  const bool all_digits =
      !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits) return Number::none;
  if (digits[0] == '0' || digits.size() > 4) return Number::bad;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return Number::good;
}
static_assert(Form::index_max == 9999);  // four digits

}  // namespace

void Form::reset(std::size_t bytes) {
  params_.clear();
  by_key_.clear();
  if (bytes > arena_bytes_) {
    arena_ = std::make_unique_for_overwrite<char[]>(bytes);
    arena_bytes_ = bytes;
  }
}

Form::Fault Form::parse(std::string_view body, Repeats repeats) {
  reset(body.size());
  const auto refuse = [this](Fault fault) {
    reset(0);
    return fault;
  };
  char* out = arena_.get();
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(piece.size() + 1, body.size()));
    if (piece.empty()) continue;
    if (params_.size() == params_max) return refuse(Fault::too_many);

    const std::size_t equals = std::min(piece.find('='), piece.size());
    char* const key = out;
    char* const key_end = decode(piece.substr(0, equals), key);
    if (key_end == nullptr) return refuse(Fault::bad_escape);
    char* const value_end = decode(piece.substr(std::min(equals + 1, piece.size())), key_end);
    if (value_end == nullptr) return refuse(Fault::bad_escape);
    params_.push_back({
        {key,     key_end  },
        {key_end, value_end}
    });
    out = value_end;
  }

  CHECK(out <= arena_.get() + arena_bytes_, "the parameters are longer than the form");
  CHECK(params_.size() <= params_max, "{} parameters", params_.size());
  by_key_.resize(params_.size());
  std::iota(by_key_.begin(), by_key_.end(), std::uint16_t{0});
  const auto key_of = [this](std::uint16_t i) { return params_[i].key; };
  std::ranges::sort(by_key_, {}, key_of);
  if (repeats == Repeats::refused &&
      std::ranges::adjacent_find(by_key_, {}, key_of) != by_key_.end()) {
    return refuse(Fault::duplicate);
  }
  return Fault::none;
}

std::size_t Form::lower_bound(std::string_view key) const {
  const auto at = std::ranges::lower_bound(by_key_, key, {},
                                           [this](std::uint16_t i) { return params_[i].key; });
  return static_cast<std::size_t>(at - by_key_.begin());
}

const std::string_view* Form::find(std::string_view key) const {
  const std::size_t at = lower_bound(key);
  if (at == by_key_.size()) return nullptr;
  const Param& param = params_[by_key_[at]];
  return param.key == key ? &param.value : nullptr;
}

const std::string_view* Form::find(std::string_view prefix, std::uint32_t index,
                                   std::string_view member) const {
  char digits[10];
  const char* const end = std::to_chars(digits, digits + sizeof digits, index).ptr;
  Key key;
  key.add(prefix).add(".").add({digits, end});
  if (!member.empty()) key.add(".").add(member);
  return key.fits() ? find(key.text()) : nullptr;
}

bool Form::indexes(std::string_view prefix, std::vector<std::uint32_t>& out) const {
  out.clear();
  Key start;
  if (!start.add(prefix).add(".").fits()) return true;
  for (std::size_t at = lower_bound(start.text()); at < by_key_.size(); ++at) {
    const std::string_view key = params_[by_key_[at]].key;
    if (!key.starts_with(start.text())) break;
    std::uint32_t number = 0;
    const Number kind = leading_number(key.substr(start.text().size()), number);
    if (kind == Number::bad) {
      out.clear();
      return false;
    }
    if (kind == Number::good) out.push_back(number);
  }
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return true;
}

}  // namespace pawl
