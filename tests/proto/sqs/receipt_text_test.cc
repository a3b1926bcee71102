// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/receipt_text.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pawl {
namespace {

using By = ReceiptEntry::By;

constexpr std::string_view handle = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
constexpr std::string_view uuid = "01234567-89ab-cdef-fedc-ba9876543210";
constexpr MessageId id{0x0123'4567'89AB'CDEF, 0xFEDC'BA98'7654'3210};

struct Read {
  bool good = false;
  ReceiptText text;
  std::string why;
};

Read read(std::string_view text, Op op) {
  Read read;
  read.good = read_receipt(text, {op, seconds(43'200)}, read.text, read.why);
  return read;
}
std::string by_id(std::string_view suffix = "") { return fmt::format("x-id:{}{}", uuid, suffix); }
std::string of_delivery(std::string_view suffix) { return fmt::format("{}{}", handle, suffix); }

TEST(ReceiptText, NamesADeliveryOrAMessage) {
  ReceiptHandle bytes;
  bytes.fill(1);
  for (const Op op : {Op::delete_message, Op::change_visibility}) {
    const Read delivery = read(handle, op);
    EXPECT_TRUE(delivery.good);
    EXPECT_EQ(delivery.text.entry.by, By::handle);
    EXPECT_EQ(delivery.text.entry.handle, bytes);
    const Read message = read(by_id(), op);
    EXPECT_TRUE(message.good) << message.why;
    EXPECT_EQ(message.text.entry.by, By::id);
    EXPECT_EQ(message.text.entry.id, id);
  }
  EXPECT_EQ(read("x-id:01234567-89AB-CDEF-FEDC-BA9876543210", Op::delete_message).text.entry.id,
            id);
}

TEST(ReceiptText, HasASuffixForEachAction) {
  const Read even = read(by_id(";x-even-in-flight"), Op::delete_message);
  EXPECT_TRUE(even.good) << even.why;
  EXPECT_EQ(even.text.entry.by, By::id_even_in_flight);

  const Read returned = read(of_delivery(";x-return=uncounted"), Op::change_visibility);
  EXPECT_TRUE(returned.good) << returned.why;
  EXPECT_TRUE(returned.text.entry.uncounted);
  EXPECT_FALSE(returned.text.delay);

  const Read later = read(of_delivery(";x-return=uncounted,delay=250ms"), Op::change_visibility);
  EXPECT_TRUE(later.good) << later.why;
  EXPECT_TRUE(later.text.entry.uncounted);
  EXPECT_EQ(later.text.delay, milliseconds(250));
  EXPECT_TRUE(read(of_delivery(";x-return=uncounted,delay=12h"), Op::change_visibility).good);
}

struct Refused {
  std::string text;
  Op op;
  std::string_view why;
};

TEST(ReceiptText, TellsWhatIsWrong) {
  constexpr std::string_view of_return =
      "The suffix ;x-return= belongs to ChangeMessageVisibility, behind the receipt handle of a "
      "delivery.";
  constexpr std::string_view of_even =
      "The suffix ;x-even-in-flight belongs to DeleteMessage, behind x-id: and a MessageId.";
  constexpr auto del = Op::delete_message, change = Op::change_visibility;
  const Refused refused[] = {
      {"x-id:",                                       del,    "\"\" is not a MessageId, as 01234567-89ab-cdef-fedc-ba9876543210." },
      {"x-id:7",                                      change, "\"7\" is not a MessageId, as 01234567-89ab-cdef-fedc-ba9876543210."},
      {by_id(";x-even-inflight"),                     del,
       "Unknown suffix \";x-even-inflight\"; there are ;x-even-in-flight and ;x-return=uncounted. "
       "Did you mean \";x-even-in-flight\"?"                                                                                      },
      {by_id(";"),                                    del,
       "Unknown suffix \";\"; there are ;x-even-in-flight and ;x-return=uncounted."                                               },
      {of_delivery(";x-reject=bad"),                  change,
       "Unknown suffix \";x-reject=bad\"; there are ;x-even-in-flight and ;x-return=uncounted."                                   },
      {by_id(";x-even-in-flight"),                    change, of_even                                                             },
      {of_delivery(";x-even-in-flight"),              del,    of_even                                                             },
      {by_id(";x-return=uncounted"),                  change, of_return                                                           },
      {of_delivery(";x-return=uncounted"),            del,    of_return                                                           },
      {of_delivery(";x-return=counted"),              change,
       "x-return is \"counted\"; it is uncounted, or uncounted,delay=30s."                                                        },
      {of_delivery(";x-return=uncounted,wait=1s"),    change,
       "x-return is \"uncounted,wait=1s\"; it is uncounted, or uncounted,delay=30s."                                              },
      {of_delivery(";x-return=uncounted,delay=soon"), change,
       "delay is \"soon\"; write a duration as 250ms, 90s, 15m, 2h or 3d."                                                        },
      {of_delivery(";x-return=uncounted,delay=13h"),  change,
       "delay is \"13h\"; the longest visibility timeout of the queue, 43200 s, is its limit. The "
       "queue attribute x-max-visibility raises it."                                                                              },
      {"garbage;x-return=uncounted",                  change, "The part before ;x- is not a receipt handle."                      },
  };
  for (const Refused& one : refused) {
    const Read got = read(one.text, one.op);
    EXPECT_FALSE(got.good) << one.text;
    EXPECT_EQ(got.why, one.why) << one.text;
  }
}

TEST(ReceiptText, LeavesAllOtherTextsToTheErrorOfAws) {
  for (const std::string_view other :
       {"garbage", "X-ID:01234567-89ab-cdef-fedc-ba9876543210", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB;", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB;y"}) {
    const Read got = read(other, Op::delete_message);
    EXPECT_FALSE(got.good) << other;
    EXPECT_EQ(got.why, "") << other;
  }
}

}  // namespace
}  // namespace pawl
