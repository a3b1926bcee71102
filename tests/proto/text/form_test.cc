// SPDX-License-Identifier: Apache-2.0
#include "proto/text/form.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using Fault = Form::Fault;

std::string list(const Form& form) {
  std::string text;
  for (const Form::Param& p : form.params()) {
    text += std::string(p.key) + "=" + std::string(p.value) + "|";
  }
  return text;
}

TEST(Form, DecodesParametersInOrder) {
  struct Case {
    const char *body, *want;
  };
  constexpr Case cases[] = {
      {"",                        ""                         },
      {"&&",                      ""                         },
      {"b=2&a=1",                 "b=2|a=1|"                 },
      {"a=1&&b=2&",               "a=1|b=2|"                 },
      {"a",                       "a=|"                      },
      {"a=",                      "a=|"                      },
      {"=v",                      "=v|"                      },
      {"a==b=",                   "a==b=|"                   },
      {"a=b+c%2B%26%3d%25",       "a=b c+&=%|"               },
      {"MessageBody=a+%C3%a9%0A", "MessageBody=a \xc3\xa9\n|"},
      {"a%20b+c=1",               "a b c=1|"                 },
      {"a=\xff;?/",               "a=\xff;?/|"               },
  };
  Form form;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    EXPECT_EQ(form.parse(c.body), Fault::none);
    EXPECT_EQ(list(form), c.want);
  }
}

TEST(Form, RefusesWhatIsAmbiguousOrBroken) {
  struct Case {
    const char* body;
    Fault want;
  };
  constexpr Case cases[] = {
      {"a=%",           Fault::bad_escape},
      {"a=%4",          Fault::bad_escape},
      {"a=%4&b=1",      Fault::bad_escape},
      {"a=%4g",         Fault::bad_escape},
      {"a=%g4",         Fault::bad_escape},
      {"a=%%41",        Fault::bad_escape},
      {"%=1",           Fault::bad_escape},
      {"a=%u0041",      Fault::bad_escape},
      {"a=1&a=1",       Fault::duplicate },
      {"a=1&b&%61=2",   Fault::duplicate },
      {"a=1&b=2&c=3&a", Fault::duplicate },
      {"a=1&A=2",       Fault::none      },
  };
  Form form;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    EXPECT_EQ(form.parse(c.body), c.want);
    EXPECT_EQ(form.params().empty(), c.want != Fault::none);
    EXPECT_EQ(form.find("a") == nullptr, c.want != Fault::none);
  }
}

TEST(Form, AllowsRepeatsIfAsked) {
  Form form;
  EXPECT_EQ(form.parse("q=b&f=1&%71=a", Form::Repeats::allowed), Fault::none);
  EXPECT_EQ(list(form), "q=b|f=1|q=a|");
  EXPECT_NE(form.find("q"), nullptr);
  EXPECT_EQ(form.parse("q=%", Form::Repeats::allowed), Fault::bad_escape);
}

TEST(Form, TakesParamsMaxAndNotOneMore) {
  std::string body;
  for (std::size_t i = 0; i < Form::params_max; ++i) body += "k" + std::to_string(i) + "=v&";
  Form form;
  EXPECT_EQ(form.parse(body), Fault::none);
  EXPECT_EQ(form.params().size(), Form::params_max);
  EXPECT_EQ(form.parse(body + "one=more"), Fault::too_many);
  EXPECT_TRUE(form.params().empty());
}

TEST(Form, FindsByKey) {
  Form form;
  ASSERT_EQ(form.parse("QueueUrl=u&Action=Send&Tag.1.Key=k&Tag.1.Value=&Tag.12.Key=l&TagKey.2=m"),
            Fault::none);
  const auto value = [](const std::string_view* found) {
    return found == nullptr ? "absent" : std::string(*found);
  };
  EXPECT_EQ(value(form.find("Action")), "Send");
  EXPECT_EQ(value(form.find("QueueUrl")), "u");
  EXPECT_EQ(value(form.find("Tag.1.Value")), "");
  EXPECT_EQ(value(form.find("action")), "absent");
  EXPECT_EQ(value(form.find("")), "absent");
  EXPECT_EQ(value(form.find("zz")), "absent");
  EXPECT_EQ(value(form.find("Tag", 12, "Key")), "l");
  EXPECT_EQ(value(form.find("Tag", 2, "Key")), "absent");
  EXPECT_EQ(value(form.find("TagKey", 2)), "m");
  EXPECT_EQ(value(form.find(std::string(300, 'a'), 1)), "absent");
}

TEST(Form, ListsTheNumbersOfAPrefix) {
  struct Case {
    const char* body;
    bool good;
    std::vector<std::uint32_t> want;
  };
  const Case cases[] = {
      {"",                                                   true,  {}        },
      {"Tag.2.Key=a&Tag.10.Key=b&Tag.1.Key=c&Tag.1.Value=d", true,  {1, 2, 10}},
      {"Tag.3=a&TagKey.1=b&Tags.2=c&Tag=d",                  true,  {3}       },
      {"Tag.Name=a&Tag.=b&Tag..1=c&Tag.1x=d&Tag.-1=e",       true,  {}        },
      {"Tag.9999.Key=a",                                     true,  {9999}    },
      {"Tag.10000.Key=a",                                    false, {}        },
      {"Tag.1=a&Tag.999999999=b",                            false, {}        },
      {"Tag.99999999999999999999=b",                         false, {}        },
      {"Tag.0.Key=a",                                        false, {}        },
      {"Tag.01.Key=a",                                       false, {}        },
      {"Tag.1.Key.5=a&Tag.1.Value.7=b",                      true,  {1}       },
  };
  Form form;
  std::vector<std::uint32_t> numbers = {77};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    ASSERT_EQ(form.parse(c.body), Fault::none);
    EXPECT_EQ(form.indexes("Tag", numbers), c.good);
    EXPECT_EQ(numbers, c.want);
  }
}

TEST(Form, ListsNestedNumbers) {
  Form form;
  ASSERT_EQ(
      form.parse("E.1.Id=a&E.1.MessageAttribute.2.Name=n&E.1.MessageAttribute.5.Name=m&E.2.Id=b"),
      Fault::none);
  std::vector<std::uint32_t> numbers;
  EXPECT_TRUE(form.indexes("E.1.MessageAttribute", numbers));
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{2, 5}));
  EXPECT_EQ(*form.find("E.1.MessageAttribute", 5, "Name"), "m");
}

TEST(Form, ReusesItsArena) {
  Form form;
  ASSERT_EQ(form.parse("a=" + std::string(1000, 'x')), Fault::none);
  const char* const first = form.params()[0].key.data();
  ASSERT_EQ(form.parse("b=short"), Fault::none);
  EXPECT_EQ(form.params()[0].key.data(), first);
  EXPECT_EQ(*form.find("b"), "short");
}

}  // namespace
}  // namespace pawl
