// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/result.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace pawl {
namespace {

// Writes members in each form; in JSON they are members of an object.
struct Written {
  std::string json, xml, query_json, tree;
};
Written written(const std::function<void(SqsResult&)>& write) {
  const auto in = [&](SqsForm form) {
    std::string out;
    SqsResult result(out, form);
    write(result);
    return out;
  };
  return {in(SqsForm::json), in(SqsForm::xml), in(SqsForm::query_json), in(SqsForm::tree)};
}

TEST(SqsResult, WritesScalars) {
  const Written w = written([](SqsResult& r) {
    r.text("A", "<\"&");
    r.truth("B", true);
    r.number("C", -7);
  });
  EXPECT_EQ(w.json, R"("A":"<\"&","B":true,"C":-7)");
  EXPECT_EQ(w.xml, "<A>&lt;&quot;&amp;</A><B>true</B><C>-7</C>");
  EXPECT_EQ(w.query_json, w.json);
}

TEST(SqsResult, WritesAListOfObjects) {
  const Written w = written([](SqsResult& r) {
    r.begin_list("Messages");
    for (const char* body : {"a", "b"}) {
      r.begin_item("Message");
      r.text("Body", body);
      r.end_item("Message");
    }
    r.end_list();
  });
  EXPECT_EQ(w.json, R"("Messages":[{"Body":"a"},{"Body":"b"}])");
  EXPECT_EQ(w.xml, "<Message><Body>a</Body></Message><Message><Body>b</Body></Message>");
  EXPECT_EQ(w.query_json, R"("messages":[{"Body":"a"},{"Body":"b"}])");
  EXPECT_EQ(w.tree, R"("Message":[{"Body":"a"},{"Body":"b"}])");
}

TEST(SqsResult, WritesAListOfTexts) {
  const Written w = written([](SqsResult& r) {
    r.begin_list("QueueUrls");
    r.text_item("QueueUrl", "a");
    r.text_item("QueueUrl", "b");
    r.end_list();
    r.begin_list("Failed");
    r.end_list();
  });
  EXPECT_EQ(w.json, R"("QueueUrls":["a","b"],"Failed":[])");
  EXPECT_EQ(w.xml, "<QueueUrl>a</QueueUrl><QueueUrl>b</QueueUrl>");
  EXPECT_EQ(w.query_json, R"("queueUrls":["a","b"],"Failed":[])");
}

TEST(SqsResult, WritesAMapOfTexts) {
  const Written w = written([](SqsResult& r) {
    r.begin_map("Attributes");
    r.pair("Attribute", "k", "v");
    r.pair("Attribute", "l", "w", "Key");
    r.end_map();
  });
  EXPECT_EQ(w.json, R"("Attributes":{"k":"v","l":"w"})");
  EXPECT_EQ(w.xml,
            "<Attribute><Name>k</Name><Value>v</Value></Attribute>"
            "<Attribute><Key>l</Key><Value>w</Value></Attribute>");
  EXPECT_EQ(w.query_json, R"("Attributes":[{"Name":"k","Value":"v"},{"Key":"l","Value":"w"}])");
}

TEST(SqsResult, WritesAMapOfObjects) {
  const Written w = written([](SqsResult& r) {
    r.begin_map("M");
    for (const char* key : {"k", "l"}) {
      r.begin_pair("N", key);
      r.text("DataType", "String");
      r.end_pair("N");
    }
    r.end_map();
  });
  EXPECT_EQ(w.json, R"("M":{"k":{"DataType":"String"},"l":{"DataType":"String"}})");
  EXPECT_EQ(w.xml,
            "<N><Name>k</Name><Value><DataType>String</DataType></Value></N>"
            "<N><Name>l</Name><Value><DataType>String</DataType></Value></N>");
  EXPECT_EQ(w.query_json, R"("M":[{"Name":"k","Value":{"DataType":"String"}},)"
                          R"({"Name":"l","Value":{"DataType":"String"}}])");
}

TEST(SqsResult, WritesPlainTextsLikeTexts) {
  const Written plain = written([](SqsResult& r) { r.plain("Id", "a-1"); });
  const Written text = written([](SqsResult& r) { r.text("Id", "a-1"); });
  EXPECT_EQ(plain.json, text.json);
  EXPECT_EQ(plain.xml, text.xml);
  EXPECT_EQ(plain.query_json, text.query_json);
}

}  // namespace
}  // namespace pawl
