// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/receipt_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "core/base/check.h"
#include "proto/errors/sqs_errors.h"
#include "proto/text/base64.h"
#include "proto/text/duration.h"
#include "proto/text/suggest.h"
#include "proto/text/uuid.h"

namespace pawl {
namespace {

constexpr std::string_view suffix_begin = ";x-";
constexpr std::string_view return_suffix = ";x-return=";
constexpr std::string_view uncounted_word = "uncounted", delay_member = ",delay=";
constexpr std::size_t handle_digits = (receipt_bytes + 2) / 3 * 4;

bool read_handle(std::string_view text, ReceiptHandle& out) {
  thread_local std::string bytes;
  bytes.clear();
  if (text.size() != handle_digits || !decode_base64(text, bytes)) return false;
  if (bytes.size() != out.size()) return false;
  std::ranges::copy(bytes, reinterpret_cast<char*>(out.data()));
  return true;
}

bool read_delay(std::string_view text, Duration wait_max, ReceiptText& out, std::string& why) {
  out.delay = parse_duration(text);
  if (out.delay && *out.delay <= wait_max) return true;
  why = out.delay
            ? fmt::format(
                  "delay is \"{}\"; the longest visibility timeout of the queue, {} s, "
                  "is its limit. The queue attribute x-max-visibility raises it.",
                  shown(text), wait_max.ms / 1000)
            : fmt::format("delay is \"{}\"; write a duration as {}.", shown(text), duration_forms);
  return false;
}

// `value`: behind ;x-return=
bool read_return(std::string_view value, const ReceiptRules& rules, ReceiptText& out,
                 std::string& why) {
  if (rules.op != Op::change_visibility || out.entry.by != ReceiptEntry::By::handle) {
    why =
        "The suffix ;x-return= belongs to ChangeMessageVisibility, behind the receipt handle of "
        "a delivery.";
    return false;
  }
  const std::string_view word = value.substr(0, value.find(','));
  const std::string_view rest = value.substr(word.size());
  if (word != uncounted_word || !(rest.empty() || rest.starts_with(delay_member))) {
    why = fmt::format("x-return is \"{}\"; it is uncounted, or uncounted,delay=30s.", shown(value));
    return false;
  }
  out.entry.uncounted = true;
  return rest.empty() || read_delay(rest.substr(delay_member.size()), rules.wait_max, out, why);
}

bool read_suffix(std::string_view suffix, const ReceiptRules& rules, ReceiptText& out,
                 std::string& why) {
  if (suffix.empty()) return true;
  if (suffix.starts_with(return_suffix))
    return read_return(suffix.substr(return_suffix.size()), rules, out, why);
  if (suffix == even_in_flight_suffix) {
    if (rules.op == Op::delete_message && out.entry.by != ReceiptEntry::By::handle) {
      out.entry.by = ReceiptEntry::By::id_even_in_flight;
      return true;
    }
    why = "The suffix ;x-even-in-flight belongs to DeleteMessage, behind x-id: and a MessageId.";
    return false;
  }
  static const std::string known[] = {std::string(even_in_flight_suffix), ";x-return=uncounted"};
  why = fmt::format("Unknown suffix \"{}\"; there are {} and {}.{}", shown(suffix), known[0],
                    known[1], suggestion(suffix, known));
  return false;
}

}  // namespace

bool read_receipt(std::string_view text, const ReceiptRules& rules, ReceiptText& out,
                  std::string& why) {
  CHECK(rules.op == Op::delete_message || rules.op == Op::change_visibility, "op {}",
        static_cast<int>(rules.op));
  if (read_handle(text, out.entry.handle)) return true;
  const bool by_id = text.starts_with(by_id_prefix);
  const std::size_t end = text.find(by_id ? ";" : suffix_begin);
  if (!by_id && end == text.npos) return false;
  const std::string_view name = text.substr(0, end);
  if (by_id) {
    const std::string_view uuid = name.substr(by_id_prefix.size());
    const auto id = parse_uuid(uuid);
    if (!id) {
      why = fmt::format("\"{}\" is not a MessageId, as 01234567-89ab-cdef-fedc-ba9876543210.",
                        shown(uuid));
      return false;
    }
    out.entry.id = *id;
    out.entry.by = ReceiptEntry::By::id;
  } else if (!read_handle(name, out.entry.handle)) {
    why = "The part before ;x- is not a receipt handle.";
    return false;
  }
  return read_suffix(text.substr(name.size()), rules, out, why);
}

}  // namespace pawl
