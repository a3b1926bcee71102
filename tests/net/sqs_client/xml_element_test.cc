// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/xml_element.h"

#include <gtest/gtest.h>

#include "proto/text/xml.h"

namespace pawl::sqs_client {
namespace {

TEST(XmlElement, HasTheElementsOfAResponse) {
  const auto root = parse_xml(
      "<?xml version=\"1.0\"?>\n<R xmlns=\"http://a/>\" b='\"/>'>\n <!-- <a> --><L><member><K>a "
      "&lt; "
      "b</K></member><member><K><![CDATA[<c>]]>&#xe4;&#8364;&#x1F600;</K></member></L><E/><F  "
      "x=\"1\"/></R >\n");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "R");
  ASSERT_NE(root->at("L"), nullptr);
  const auto& members = root->at("L")->children;
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].text_at("K"), "a < b");
  EXPECT_EQ(members[1].text_at("K"), "<c>ä€😀");
  EXPECT_EQ(root->text_at("L/member/K"), "a < b") << "the first";
  EXPECT_NE(root->child("E"), nullptr);
  EXPECT_NE(root->child("F"), nullptr);
  EXPECT_EQ(root->at("L/none/K"), nullptr);
  EXPECT_EQ(root->text_at("none"), "");
}

TEST(XmlElement, HasTheTextOfTheServersWriter) {
  const std::string text = "<&>\"'\r\n\tü";
  std::string out;
  XmlWriter xml(out);
  xml.open("R");
  xml.element("T", text);
  xml.close("R");
  const auto root = parse_xml(out);
  ASSERT_TRUE(root) << out;
  EXPECT_EQ(root->text_at("T"), text);
}

TEST(XmlElement, RefusesOtherTexts) {
  for (const char* text : {"",
                           " ",
                           "a",
                           "<a>",
                           "</a>",
                           "<a></b>",
                           "<a/><b/>",
                           "<a></a>x",
                           "<a>&none;</a>",
                           "<a>&amp</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&#1114112;</a>",
                           "<a>&#x;</a>",
                           "<a>&#99999999999;</a>",
                           "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
                           "<a b=\"></a>",
                           "<",
                           "<>",
                           "<a",
                           "<![CDATA[x]]>",
                           "<a><![CDATA[x</a>",
                           "<!-- ",
                           "<?xml",
                           "{\"a\":1}"})
    EXPECT_FALSE(parse_xml(text)) << text;
}

TEST(XmlElement, IsLimitedInDepth) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "<a>";
    for (std::size_t i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_TRUE(parse_xml(nested(XmlElement::depth_max)));
  EXPECT_FALSE(parse_xml(nested(XmlElement::depth_max + 1)));
  EXPECT_FALSE(parse_xml(nested(100'000)));
}

}  // namespace
}  // namespace pawl::sqs_client
