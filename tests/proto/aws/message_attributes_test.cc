// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/message_attributes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::literals;

std::string encode(std::vector<MessageAttribute> attributes) {
  std::string out;
  for (const MessageAttribute& a : attributes) append_attribute(out, a);
  return out;
}

MessageAttribute text(std::string_view name, std::string_view value,
                      std::string_view type = "String") {
  return {name, type, AttributeKind::text, value};
}
MessageAttribute bytes(std::string_view name, std::string_view value,
                       std::string_view type = "Binary") {
  return {name, type, AttributeKind::bytes, value};
}

std::string md5_text(std::string_view encoded) {
  Md5 digest;
  if (!attributes_md5(encoded, digest)) return "none";
  std::string hex;
  append_hex(hex, digest);
  return hex;
}

TEST(Attributes, AreEncodedAsTheHeaderSays) {
  EXPECT_EQ(encode({text("ab", "xyz", "Number.int")}),
            "\x02\x00"s
            "ab"
            "\x0A"
            "Number.int"
            "\x01"
            "\x03\x00\x00\x00"s
            "xyz");
  EXPECT_EQ(encode({bytes("b", "\0\1"sv)}),
            "\x01\x00"s
            "b"
            "\x06"
            "Binary"
            "\x02"
            "\x02\x00\x00\x00\x00\x01"s);
}

TEST(Attributes, AreReadBackAsTheyWereWritten) {
  const std::string encoded =
      encode({text("A", "x y"), bytes("B", "\0\1"sv), text("N", "1", "Number")});
  AttributeReader reader(encoded);
  MessageAttribute a;
  ASSERT_TRUE(reader.next(a));
  EXPECT_EQ(a.name, "A");
  EXPECT_EQ(a.value, "x y");
  ASSERT_TRUE(reader.next(a));
  EXPECT_EQ(a.kind, AttributeKind::bytes);
  EXPECT_EQ(a.value, "\0\1"s);
  ASSERT_TRUE(reader.next(a));
  EXPECT_EQ(a.type, "Number");
  EXPECT_FALSE(AttributeReader(encoded).at_end());
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.next(a));
}

TEST(Attributes, HaveTheDigestsThatAwsGives) {
  struct Case {
    std::vector<MessageAttribute> attributes;
    std::string_view want;
  };
  const Case cases[] = {
      {{text("Hello", "World")},                                                                    "7db7fb1ba7f41366a8ea5eb18220b26d"},
      {{text("Foo", "Bar")},                                                                        "ae7155c6026991b6d54b11589678bf9c"},
      {{text("timestamp", "1493147359900", "Number")},                                              "235c5c510d26fb653d073faed50ae77c"},
      {{text("data1", "1", "Number")},                                                              "cc7f712733e0ad2cc9f1fefbd28bab9c"},
      {{text("data1", "1", "Number"), text("data2", "2", "Number")},
       "b53b5acf24e7fd9567705bd8027b1c76"                                                                                             },
      {{text("UserId", "1234567890123456789012", "Number.bigint")},
       "797ab158d73dcb5242dedc4412c8e855"                                                                                             },
      {{text("General", "Kenobi"), text("Hello", "There")},                                         "fca026605781cb4126a1e9044df24232"},
      {{text("General", "Kenobi"), text("Hello", "There"), text("Help.Me", "Me")},
       "4c360f3fdafd970e05fae2f149d997f5"                                                                                             },
      {{bytes("attr1",
              "traceparent\x1e"
              "00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")},
       "8cbe4db156db8a94db8b801b7addb984"                                                                                             },
      {{text("A", "x y"), bytes("B", "\0\1"sv), text("N", "1", "Number.int")},
       "9ad6553e8e8ba7bb22f9de3836ac9d69"                                                                                             },
      {{text("AWSTraceHeader", "some-trace-id")},                                                   "fdce4f2818803f2f73becc09a54792c0"},
      {{text("AWSTraceHeader",
             "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")},
       "5ae4d5d7636402d80f4eb6d213245a88"                                                                                             },
      {{},                                                                                          "none"                            },
  };
  for (const Case& c : cases) EXPECT_EQ(md5_text(encode(c.attributes)), c.want);
}

TEST(Attributes, AreDigestedOnlyAsFarAsTheReceiverWantsThem) {
  const std::string encoded =
      encode({text("General", "Kenobi"), text("Hello", "There"), text("Help.Me", "Me")});
  const std::string_view names[] = {"Hello", "General"};
  Md5 digest;
  ASSERT_TRUE(attributes_md5(encoded, AttributeFilter(names), digest));
  std::string hex;
  append_hex(hex, digest);
  EXPECT_EQ(hex, "fca026605781cb4126a1e9044df24232");
  const std::string_view other[] = {"Help"};
  EXPECT_FALSE(attributes_md5(encoded, AttributeFilter(other), digest));
  EXPECT_FALSE(attributes_md5(encoded, AttributeFilter(), digest));
}

TEST(Attributes, AreDigestedAtAnySizeOneAfterAnother) {
  for (const std::size_t size : {1u, 255u, 65'536u, 200'000u, 3u}) {
    const std::string value(size, 'v');
    const std::uint8_t length[] = {0, static_cast<std::uint8_t>(size >> 16),
                                   static_cast<std::uint8_t>(size >> 8),
                                   static_cast<std::uint8_t>(size)};
    std::string digested("\0\0\0\1A\0\0\0\6String\1"s);
    digested.append(view_of(length)).append(value);
    Md5 digest;
    ASSERT_TRUE(attributes_md5(encode({text("A", value)}), digest));
    EXPECT_EQ(digest, md5(digested)) << size;
  }
}

TEST(Attributes, AreWantedByNameByPrefixOrAll) {
  struct Case {
    std::vector<std::string_view> names;
    std::string_view wanted;  // names out of Hello, Help.Me, General, each with a space
  };
  const Case cases[] = {
      {{},                         ""                      },
      {{"All"},                    "Hello Help.Me General "},
      {{".*"},                     "Hello Help.Me General "},
      {{"*"},                      "Hello Help.Me General "},
      {{"Hel.*"},                  "Hello Help.Me "        },
      {{"Help.*"},                 "Help.Me "              },
      {{"Foo", "Help"},            ""                      },
      {{"Foo", "Hello"},           "Hello "                },
      {{"hello", "..foo", "AWS."}, ""                      },
      {{"General", "Hello"},       "Hello General "        },
  };
  for (const Case& c : cases) {
    const AttributeFilter filter(c.names);
    std::string wanted;
    for (const std::string_view name : {"Hello", "Help.Me", "General"}) {
      if (filter.wants(name)) wanted.append(name).append(" ");
    }
    EXPECT_EQ(wanted, c.wanted) << (c.names.empty() ? "" : c.names.front());
  }
}

TEST(Attributes, CountNamesTypesAndValuesTowardsTheSize) {
  EXPECT_EQ(attributes_size(""), 0u);
  EXPECT_EQ(attributes_size(encode({text("ab", "xyz", "Number.int"), bytes("b", "\0\1"sv)})),
            2u + 10 + 3 + 1 + 6 + 2);
}

TEST(Attributes, AreCheckedByTheRulesOfSqs) {
  struct Case {
    MessageAttribute attribute;
    AttributeFault want;
  };
  const std::string n256(256, 'n'), n257(257, 'n');
  const std::string type255 = "String." + std::string(248, 't'), type256 = type255 + "t";
  using enum AttributeFault;
  const Case cases[] = {
      {text("a", "v"), none},
      {text("a-b_c.D9", "v"), none},
      {text(n256, "v"), none},
      {text("attr.1\u00f8\u00df\u00e4", "v"), none},
      {text("AWSome", "v"), none},
      {text("", "v"), name_empty},
      {text(n257, "v"), name_long},
      {text("AWS.x", "v"), name_reserved},
      {text("aWs.x", "v"), name_reserved},
      {text("Amazon.x", "v"), name_reserved},
      {text("AMAZON.", "v"), name_reserved},
      {text(".a", "v"), name_characters},
      {text("a.", "v"), name_characters},
      {text("a..b", "v"), name_characters},
      {text("a b", "v"), name_characters},
      {text("a/b", "v"), name_characters},
      {text("a\u00d7", "v"), name_characters},
      {text("a\u2028", "v"), name_characters},
      {text("a\xff", "v"), name_characters},
      {text("a", "v", "String.x"), none},
      {text("a", "v", ""), type_empty},
      {text("a", "v", type255), none},
      {text("a", "v", type256), type_long},
      {text("a", "v", "string"), type_unknown},
      {text("a", "v", "Strings"), type_unknown},
      {text("a", "v", "Binary"), type_unknown},
      {text("a", "v", "String.\x07"), type_unknown},
      {bytes("a", "v", "String"), type_unknown},
      {bytes("a", "\0"sv), none},
      {bytes("a", ""), value_empty},
      {text("a", ""), value_empty},
      {text("a", "tab\tcr\rlf\n"), none},
      {text("a", "bell\x07"), value_characters},
      {text("a", "\xc3"), value_characters},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(check_attribute(c.attribute), c.want)
        << c.attribute.name << " " << c.attribute.type << " " << c.attribute.value;
  }
}

TEST(Attributes, TakeNumbersOfUpTo38DigitsBetween1eMinus128And1e126) {
  const std::string digits38(38, '9'), digits39(39, '9');
  const std::string good[] = {"0",
                              "-0",
                              "1",
                              "+1",
                              "-12.50",
                              ".5",
                              "5.",
                              "1e126",
                              "1E-128",
                              "0.01e-126",
                              "-1e126",
                              "0e999",
                              digits38,
                              digits38 + "000",
                              "0.000" + digits38,
                              "1" + std::string(126, '0')};
  for (const std::string& number : good) {
    EXPECT_EQ(check_attribute(text("n", number, "Number")), AttributeFault::none) << number;
  }
  const std::string bad[] = {"abc",
                             "1a",
                             "e5",
                             ".",
                             "-",
                             "1e",
                             "1e+-5",
                             "1.2.3",
                             " 1",
                             "1 ",
                             "0x10",
                             "NaN",
                             "1e127",
                             "1e-129",
                             "2e126",
                             "1.1e126",
                             digits39,
                             "1" + std::string(127, '0'),
                             "1e99999999999999999999"};
  for (const std::string& number : bad) {
    EXPECT_EQ(check_attribute(text("n", number, "Number")), AttributeFault::not_a_number) << number;
  }
}

TEST(Attributes, FromTheNetworkAreTakenOnlyIfWellFormedSortedAndRight) {
  std::vector<MessageAttribute> ten;
  const std::string names = "abcdefghijk";
  for (std::size_t i = 0; i < 10; ++i)
    ten.push_back(text(std::string_view(names).substr(i, 1), "v"));
  std::vector<MessageAttribute> eleven = ten;
  eleven.push_back(text("k", "v"));
  EXPECT_EQ(check_attributes(""), Errc::ok);
  EXPECT_EQ(check_attributes(encode(ten)), Errc::ok);
  EXPECT_EQ(check_attributes(encode(eleven)), Errc::too_large);
  EXPECT_EQ(check_attributes(encode({text("b", "v"), text("a", "v")})), Errc::invalid);
  EXPECT_EQ(check_attributes(encode({text("a", "v"), text("a", "w")})), Errc::invalid);
  EXPECT_EQ(check_attributes(encode({text("aws.x", "v")})), Errc::invalid);
  std::string kind3 = encode({text("a", "v")});
  kind3[2 + 1 + 1 + 6] = 3;
  EXPECT_EQ(check_attributes(kind3), Errc::invalid);
}

TEST(Attributes, CutOffAnywhereAreRefused) {
  const std::string whole = encode({text("a", "v"), bytes("bb", "\1\2"sv)});
  const std::size_t first = encode({text("a", "v")}).size();
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const Errc want = n == first ? Errc::ok : Errc::invalid;
    EXPECT_EQ(check_attributes(std::string_view(whole).substr(0, n)), want) << n;
  }
}

}  // namespace
}  // namespace pawl
