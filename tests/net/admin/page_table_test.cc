// SPDX-License-Identifier: Apache-2.0
#include "net/admin/page_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace pawl {
namespace {

TEST(PageTable, HasOneFunctionForEachPath) {
  std::set<std::string_view> paths;
  for (const AdminPage& page : admin_pages()) {
    SCOPED_TRACE(page.path);
    EXPECT_TRUE(paths.insert(page.path).second);
    EXPECT_TRUE(page.path.starts_with('/'));
    EXPECT_NE(page.answer == nullptr, page.ask == nullptr);
    EXPECT_EQ(page.allows("GET"), page.allows("HEAD"));
    EXPECT_EQ(find_admin_page(page.path), &page);
  }
}

TEST(PageTable, NamesItsPathsWhereOneIsUnknown) {
  for (const char* path : {"", "/", "/livez/", "/LIVEZ", "/queue", "/queues2", "*"})
    EXPECT_EQ(find_admin_page(path), nullptr) << path;
  const AdminAnswer answer = no_such_page();
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(
      answer.body,
      "not found; there are /livez /readyz /healthz /metrics /queues /cloudwatch.json /config\n");
}

TEST(PageTable, NamesTheMethodsOfAPage) {
  const AdminPage* const page = find_admin_page("/queues");
  ASSERT_NE(page, nullptr);
  EXPECT_FALSE(page->allows("POST"));
  const AdminAnswer answer = no_such_method(*page);
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.body, "/queues allows GET, HEAD\n");
}

}  // namespace
}  // namespace pawl
