// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/query_body.h"

#include <gtest/gtest.h>

#include "proto/text/form.h"

namespace pawl::sqs_client {
namespace {

TEST(QueryBody, IsReadByTheServerAsItWasWritten) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  QueryBody body;
  body.add("Message", all);
  body.add("Empty", "");
  body.add_pairs("Attributes.entry", "key", "value",
                 {
                     {"a=b", "c&d"  },
                     {"ü",   "1 + 1"}
  });
  Form form;
  ASSERT_EQ(form.parse(body.text()), Form::Fault::none) << body.text();
  ASSERT_EQ(form.params().size(), 6U);
  EXPECT_EQ(*form.find("Message"), all);
  EXPECT_EQ(*form.find("Empty"), "");
  EXPECT_EQ(*form.find("Attributes.entry", 1, "key"), "a=b");
  EXPECT_EQ(*form.find("Attributes.entry", 1, "value"), "c&d");
  EXPECT_EQ(*form.find("Attributes.entry", 2, "key"), "ü");
  EXPECT_EQ(*form.find("Attributes.entry", 2, "value"), "1 + 1");
}

}  // namespace
}  // namespace pawl::sqs_client
