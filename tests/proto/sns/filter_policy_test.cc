// SPDX-License-Identifier: Apache-2.0
// The messages that filter policies accept, and the policies that are refused.

#include "proto/sns/filter_policy.h"

#include <fmt/core.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

using Scope = FilterPolicy::Scope;

std::string attributes(std::vector<MessageAttribute> given) {
  std::ranges::sort(given, {}, &MessageAttribute::name);
  std::string encoded;
  for (const MessageAttribute& a : given) append_attribute(encoded, a);
  return encoded;
}
MessageAttribute text(std::string_view name, std::string_view value) {
  return {name, "String", AttributeKind::text, value};
}
MessageAttribute number(std::string_view name, std::string_view value) {
  return {name, "Number", AttributeKind::text, value};
}
MessageAttribute list(std::string_view name, std::string_view value) {
  return {name, "String.Array", AttributeKind::text, value};
}

// 'y' or 'n' for each message.
std::string verdicts(std::string_view policy, Scope scope,
                     const std::vector<std::string>& messages) {
  std::string why, out;
  const auto filter = FilterPolicy::parse(policy, scope, why);
  EXPECT_NE(filter, nullptr) << policy << ": " << why;
  if (filter == nullptr) return why;
  for (const std::string& m : messages) {
    const bool in_attributes = scope == Scope::attributes;
    out += filter->matches(in_attributes ? m : "", in_attributes ? "" : m) ? 'y' : 'n';
  }
  return out;
}

std::string why_not(std::string_view policy, Scope scope = Scope::attributes) {
  std::string why;
  EXPECT_EQ(FilterPolicy::parse(policy, scope, why), nullptr) << policy;
  return why;
}

TEST(FilterPolicy, ComparesAttributesByEachOperator) {
  const std::vector<std::string> colours = {
      attributes({text("c", "red")}), attributes({text("c", "Red")}),
      attributes({text("c", "dark-red")}), attributes({text("d", "red")}), attributes({})};
  const auto of = [&](std::string_view policy) {
    return verdicts(policy, Scope::attributes, colours);
  };
  EXPECT_EQ(of(R"({"c":["red"]})"), "ynnnn");
  EXPECT_EQ(of(R"({"c":["blue","Red"]})"), "nynnn");
  EXPECT_EQ(of(R"({"c":[{"prefix":"dark"}]})"), "nnynn");
  EXPECT_EQ(of(R"({"c":[{"suffix":"red"}]})"), "ynynn");
  EXPECT_EQ(of(R"({"c":[{"equals-ignore-case":"RED"}]})"), "yynnn");
  EXPECT_EQ(of(R"({"c":[{"anything-but":["red","blue"]}]})"), "nyynn");
  EXPECT_EQ(of(R"({"c":[{"anything-but":"red"}]})"), "nyynn");
  EXPECT_EQ(of(R"({"c":[{"anything-but":{"prefix":"dark"}}]})"), "yynnn");
  EXPECT_EQ(of(R"({"c":[{"anything-but":{"suffix":["ed","x"]}}]})"), "nnnnn");
  EXPECT_EQ(of(R"({"c":[{"exists":true}]})"), "yyynn");
  EXPECT_EQ(of(R"({"c":[{"exists":false}]})"), "nnnyn") << "the last message has no attribute";
  EXPECT_EQ(of(R"({"c":["red",{"exists":false}]})"), "ynnyn");
  EXPECT_EQ(of(R"({"c":[{"exists":false}],"d":["red"]})"), "nnnyn");
  EXPECT_EQ(of(R"({"$or":[{"c":["red"]},{"d":["red"]}]})"), "ynnyn");
  EXPECT_EQ(of("{}"), "yyyyy");
}

TEST(FilterPolicy, ComparesNumbers) {
  const std::vector<std::string> prices = {
      attributes({number("p", "0")}),  attributes({number("p", "5.0")}),
      attributes({number("p", "10")}), attributes({number("p", "-3.25")}),
      attributes({text("p", "5")}),    attributes({number("p", "5.00001")})};
  const auto of = [&](std::string_view policy) {
    return verdicts(policy, Scope::attributes, prices);
  };
  EXPECT_EQ(of(R"({"p":[5]})"), "nynnnn");
  EXPECT_EQ(verdicts(R"({"p":[5]})", Scope::attributes, {attributes({number("p", "+5")})}), "y");
  EXPECT_EQ(of(R"({"p":[{"numeric":["=",5]}]})"), "nynnnn");
  EXPECT_EQ(of(R"({"p":[{"numeric":[">",0]}]})"), "nyynny");
  EXPECT_EQ(of(R"({"p":[{"numeric":[">=",0,"<",10]}]})"), "yynnny");
  EXPECT_EQ(of(R"({"p":[{"numeric":["<=",5]}]})"), "yynynn");
  EXPECT_EQ(of(R"({"p":[{"anything-but":[5,10]}]})"), "ynnyyy");
}

TEST(FilterPolicy, ComparesNumbersWithFiveDigitsAfterThePoint) {
  const std::vector<std::string> numbers = {
      attributes({number("p", "1.000001")}), attributes({number("p", "1.00001")}),
      attributes({number("p", "0.999999")}), attributes({number("p", "1e300")})};
  const auto of = [&](std::string_view policy) {
    return verdicts(policy, Scope::attributes, numbers);
  };
  EXPECT_EQ(of(R"({"p":[1]})"), "ynyn");
  EXPECT_EQ(of(R"({"p":[1.0000049]})"), "ynyn");
  EXPECT_EQ(of(R"({"p":[{"numeric":["=",1.00001]}]})"), "nynn");
  EXPECT_EQ(of(R"({"p":[{"numeric":[">",1]}]})"), "nynn");
}

TEST(FilterPolicy, AKeyWithDotsIsAPathHoweverTheBodyDividesIt) {
  const std::vector<std::string> bodies = {
      R"({"a":{"b":{"c":"x"}}})", R"({"a.b":{"c":"x"}})", R"({"a":{"b.c":"x"}})",
      R"({"a.b.c":"x"})",         R"({"a":{"b":"x"}})",   R"({"a":[{"b":{"c":"y"}},{"b.c":"x"}]})",
      R"({"b":{"c":"x"}})"};
  const auto of = [&](std::string_view policy) { return verdicts(policy, Scope::body, bodies); };
  EXPECT_EQ(of(R"({"a.b.c":["x"]})"), "yyyynyn");
  EXPECT_EQ(of(R"({"a":{"b.c":["x"]}})"), "ynynnyn");
  EXPECT_EQ(of(R"({"a.b":{"c":["x"]}})"), "yynnnnn") << "the list's b has another c";
  EXPECT_EQ(of(R"({"a.b.c":[{"exists":false}]})"), "nnnnyny");
}

TEST(FilterPolicy, TheCombinationsOfBranchesAddUp) {
  const auto texts = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += fmt::format("{}\"{}\"", i == 0 ? "" : ",", i);
    return all;
  };
  const std::string branches =
      fmt::format(R"("$or":[{{"a":[{}]}},{{"b":[{}]}}])", texts(75), texts(75));
  std::string why;
  EXPECT_TRUE(FilterPolicy::parse("{" + branches + "}", Scope::attributes, why)) << why;
  EXPECT_EQ(why_not("{" + branches + R"(,"c":[1,2]})"), "Filter policy is too complex")
      << "150 times 2";
}

TEST(FilterPolicy, NullAndEmptyValuesOfABodyDoNotExist) {
  const std::vector<std::string> bodies = {
      R"({"a":null})",  R"({"a":""})",       R"({"a":[]})", R"({"a":0})",
      R"({"a":false})", R"({"a":[null,1]})", "{}"};
  const auto of = [&](std::string_view policy) { return verdicts(policy, Scope::body, bodies); };
  EXPECT_EQ(of(R"({"a":[{"exists":true}]})"), "nnnyyyn");
  EXPECT_EQ(of(R"({"a":[{"exists":false}]})"), "yyynnny");
}

TEST(FilterPolicy, MatchesAnyElementOfAnArray) {
  const std::vector<std::string> interests = {
      attributes({list("i", R"(["rugby","tennis"])")}
      ), attributes({list("i", R"(["rugby"])")}
      ),
      attributes({list("i", R"([1,true,null])")}
      ), attributes({list("i", "no JSON")}
      ),
      attributes({{"i", "Binary", AttributeKind::bytes, "rugby"}}
      )
  };
  const auto of = [&](std::string_view policy) {
    return verdicts(policy, Scope::attributes, interests);
  };
  EXPECT_EQ(of(R"({"i":["tennis"]})"), "ynnnn");
  EXPECT_EQ(of(R"({"i":[{"anything-but":["rugby"]}]})"), "ynynn");
  EXPECT_EQ(of(R"({"i":[true]})"), "nnynn");
  EXPECT_EQ(of(R"({"i":[null]})"), "nnynn");
  EXPECT_EQ(of(R"({"i":[{"numeric":["<",2]}]})"), "nnynn");
  EXPECT_EQ(of(R"({"i":[{"exists":false}]})"), "nnnny") << "a Binary attribute is not looked at";
}

TEST(FilterPolicy, ComparesAddresses) {
  const std::vector<std::string> addresses = {
      attributes({text("a", "10.0.0.7")}), attributes({text("a", "10.0.1.7")}),
      attributes({text("a", "fe80::1")}), attributes({text("a", "ten")})};
  const auto of = [&](std::string_view policy) {
    return verdicts(policy, Scope::attributes, addresses);
  };
  EXPECT_EQ(of(R"({"a":[{"cidr":"10.0.0.0/24"}]})"), "ynnn");
  EXPECT_EQ(of(R"({"a":[{"cidr":"10.0.0.0/23"}]})"), "yynn");
  EXPECT_EQ(of(R"({"a":[{"cidr":"0.0.0.0/0"}]})"), "yynn");
  EXPECT_EQ(of(R"({"a":[{"cidr":"fe80::/10"}]})"), "nnyn");
}

TEST(FilterPolicy, LooksIntoTheBody) {
  const std::vector<std::string> bodies = {
      R"({"store":"a","items":[{"sku":"x","n":1},{"sku":"y","n":9}]})",
      R"({"store":"b","items":{"sku":"x"}})",
      R"({"store":["c","a"]})",
      R"(["store"])",
      "not JSON",
      R"({"store":null})"};
  const auto of = [&](std::string_view policy) { return verdicts(policy, Scope::body, bodies); };
  EXPECT_EQ(of(R"({"store":["a"]})"), "ynynnn");
  EXPECT_EQ(of(R"({"store":[null]})"), "nnnnny");
  EXPECT_EQ(of(R"({"items":{"sku":["x"]}})"), "yynnnn");
  EXPECT_EQ(of(R"({"items":{"n":[{"numeric":[">",5]}]}})"), "ynnnnn");
  EXPECT_EQ(of(R"({"items":{"n":[{"exists":false}]}})"), "nyynny");
  EXPECT_EQ(of(R"({"store":["a","b"],"items":{"sku":["x"]}})"), "yynnnn");
  EXPECT_EQ(of("{}"), "yyynny");
}

TEST(FilterPolicy, RefusesWhatIsNoPolicy) {
  EXPECT_EQ(why_not("[]"), "failed to parse JSON. A filter policy is a JSON object");
  EXPECT_EQ(why_not("{"), "failed to parse JSON. A filter policy is a JSON object");
  EXPECT_EQ(why_not(""), "failed to parse JSON. A filter policy is a JSON object");
  EXPECT_EQ(why_not(R"({"a":"x"})"), "\"a\" must be an object or an array");
  EXPECT_EQ(why_not(R"({"a":[]})"), "Empty arrays are not allowed");
  std::string many = R"({"a":[{"anything-but":["x")";
  for (int i = 1; i < 150; ++i) many += R"(,"x")";
  std::string why;
  EXPECT_TRUE(FilterPolicy::parse(many + "]}]}", FilterPolicy::Scope::attributes, why)) << why;
  EXPECT_EQ(why_not(many + R"(,"x"]}]})"), "anything-but has 151 values; the limit is 150");
  EXPECT_EQ(why_not(R"({"a":[["x"]]})"),
            "Match value must be String, number, true, false, or null");
  EXPECT_EQ(why_not(R"({"a":[{"like":"x"}]})"), "Unrecognized match type like");
  EXPECT_EQ(why_not(R"({"a":[{"prefix":"x","suffix":"y"}]})"),
            "Only one key allowed in match expression");
  EXPECT_EQ(why_not(R"({"a":[{"prefix":1}]})"), "prefix match pattern must be a string");
  EXPECT_EQ(why_not(R"({"a":[{"exists":"yes"}]})"),
            "exists match pattern must be either true or false.");
  EXPECT_EQ(why_not(R"({"a":[1000000001]})"), "Value must be between -1.0E9 and 1.0E9, inclusive");
}

TEST(FilterPolicy, NamesTheWrongElementOfANumericMatch) {
  for (const auto& [list, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("5")",                    "Value of numeric must be an array."               },
           {R"([])",                     "Invalid member in numeric match: ]"               },
           {R"([1,"<="])",               "Invalid member in numeric match: 1"               },
           {R"([1.5])",                  "Invalid member in numeric match: 1.5"             },
           {R"([[">"]])",                "Invalid member in numeric match: ["               },
           {R"([null])",                 "Invalid member in numeric match: null"            },
           {R"(["operator"])",           "Unrecognized numeric range operator: operator"    },
           {R"(["=","000"])",            "Value of equals must be numeric"                  },
           {R"([">="])",                 "Value of >= must be numeric"                      },
           {R"(["<",100,">",10])",       "Too many elements in numeric expression"          },
           {R"(["=",1,"=",1])",          "Too many elements in numeric expression"          },
           {R"([">=",1,">",2])",         "Bad numeric range operator: >"                    },
           {R"([">",20,"test"])",        "Bad numeric range operator: test"                 },
           {R"([">",20,30])",            "Bad value in numeric range: 30"                   },
           {R"([">",20,{"a":1}])",       "Bad value in numeric range: {"                    },
           {R"([">",3,"<",1])",          "Bottom must be less than top"                     },
           {R"([">",3,"<",3])",          "Bottom must be less than top"                     },
           {R"([">",20,"<="])",          "Value of <= must be numeric"                      },
           {R"([">","20","<","30"])",    "Value of > must be numeric"                       },
           {R"([">",20,"<","30"])",      "Value of < must be numeric"                       },
           {R"([">",20,"<",30,"<",50])", "Too many terms in numeric range expression"       },
           {R"(["=",1000000001])",       "Value must be between -1.0E9 and 1.0E9, inclusive"}
  }) {
    EXPECT_EQ(why_not(fmt::format(R"({{"a":[{{"numeric":{}}}]}})", list)), why) << list;
  }
}

TEST(FilterPolicy, NamesWhatIsWrongWithANetwork) {
  for (const auto& [network, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"5",                "prefix match pattern must be a string"         },
           {R"("10.0.0.0")",    "Malformed CIDR, one '/' required"              },
           {R"("10.0/0.0/8")",  "Malformed CIDR, one '/' required"              },
           {R"("10.0.0.0/")",   "Malformed CIDR, one '/' required"              },
           {R"("10.0.0.0/x")",  "Malformed CIDR, mask bits must be an integer"  },
           {R"("10.0.0.0/-1")", "Malformed CIDR, mask bits must not be negative"},
           {R"("10.0.0/8")",    "Nonstandard IP address: 10.0.0"                },
           {R"("10.0.0.0/33")", "IPv4 mask bits must be at most 32"             },
           {R"("fe80::/129")",  "IPv6 mask bits must be at most 128"            }
  }) {
    EXPECT_EQ(why_not(fmt::format(R"({{"a":[{{"cidr":{}}}]}})", network)), why) << network;
  }
}

TEST(FilterPolicy, NamesWhatAnythingButDoesNotTake) {
  EXPECT_EQ(why_not(R"({"a":[{"anything-but":{"wrong":null}}]})"),
            "Unsupported anything-but pattern: wrong");
  EXPECT_EQ(why_not(R"({"a":[{"anything-but":{"exists":false}}]})"),
            "Unsupported anything-but pattern: exists");
  EXPECT_EQ(why_not(R"({"a":[{"anything-but":{"prefix":false}}]})"),
            "prefix match pattern must be a string");
  EXPECT_EQ(why_not(R"({"a":[{"anything-but":[]}]})"), "Empty arrays are not allowed");
}

TEST(FilterPolicy, RefusesNestedKeysOfAttributes) {
  EXPECT_EQ(why_not(R"({"a":{"b":["x"]}})"),
            "Filter policy scope MessageAttributes does not support nested filter policy");
  EXPECT_EQ(why_not(R"({"key":{"suffix":"value"}})"), "\"suffix\" must be an object or an array");
}

TEST(FilterPolicy, RefusesWhatIsTooComplex) {
  std::string values;
  for (int i = 0; i < 51; ++i) values += (i == 0 ? "" : ",") + std::to_string(i);
  const std::string list_of_51 = "[" + values + "]";
  std::string why;
  EXPECT_NE(FilterPolicy::parse(R"({"a":)" + list_of_51 + R"(,"b":[1,2]})", Scope::attributes, why),
            nullptr);
  EXPECT_EQ(why_not(R"({"a":)" + list_of_51 + R"(,"b":[1,2,3]})"), "Filter policy is too complex");
  EXPECT_EQ(why_not(R"({"x":{"y":{"a":)" + list_of_51 + "}}}", Scope::body),
            "Filter policy is too complex");
  EXPECT_EQ(why_not(R"({"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]})"),
            "Filter policy can not have more than 5 keys");
  EXPECT_EQ(why_not(std::string(FilterPolicy::bytes_max + 1, ' ')),
            "Filter policy is longer than 262144 bytes");
}

}  // namespace
}  // namespace pawl
