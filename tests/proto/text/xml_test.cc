// SPDX-License-Identifier: Apache-2.0
#include "proto/text/xml.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(XmlWriter, WritesElementsBehindWhatIsThere) {
  std::string out = "<?xml version=\"1.0\"?>";
  XmlWriter xml(out);
  xml.open("Response", "xmlns=\"urn:x\"");
  xml.open("Result");
  xml.element("Id", "1");
  xml.element("Text", "");
  xml.empty("Detail");
  xml.close("Result");
  xml.close("Response");
  EXPECT_EQ(out,
            "<?xml version=\"1.0\"?><Response xmlns=\"urn:x\"><Result><Id>1</Id><Text></Text>"
            "<Detail/></Result></Response>");
}

TEST(XmlWriter, EscapesWhatAReaderWouldChange) {
  struct Case {
    const char *text, *want;
  };
  constexpr Case cases[] = {
      {"",                         ""                            },
      {"plain",                    "plain"                       },
      {"a&b",                      "a&amp;b"                     },
      {"<a href=\"x\">",           "&lt;a href=&quot;x&quot;&gt;"},
      {"line\r\nline",             "line&#xD;\nline"             },
      {"\r",                       "&#xD;"                       },
      {"\t\n'",                    "\t\n'"                       },
      {"&&",                       "&amp;&amp;"                  },
      {"]]>",                      "]]&gt;"                      },
      {"\xc3\xa9\xf0\x9f\x90\xbe", "\xc3\xa9\xf0\x9f\x90\xbe"    },
  };
  for (const Case& c : cases) {
    std::string out;
    XmlWriter(out).text(c.text);
    EXPECT_EQ(out, c.want);
  }
}

TEST(XmlWriter, WritesAPlainElementAsItIs) {
  std::string out = "before";
  XmlWriter(out).plain_element("A", "b");
  EXPECT_EQ(out, "before<A>b</A>");
}

}  // namespace
}  // namespace pawl
