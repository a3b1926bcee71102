// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/curl_library.h"

#include <gtest/gtest.h>

#include <vector>

#include "net/sqs_client/stream.h"

namespace pawl::sqs_client {
namespace {

TEST(CurlLibrary, IsTheFirstThatCanBeLoaded) {
  const std::string installed = StreamOptions().libcurls.front();
  const std::vector<std::string> names = {"libnone.so.9", "libm.so.6", installed};
  const auto library = CurlLibrary::load(names);
  ASSERT_TRUE(library) << library.error();
  void* const curl = library->easy_init();
  ASSERT_NE(curl, nullptr);
  EXPECT_EQ(library->easy_setopt(curl, CurlOption::connect_only, 1L), CurlCode::ok);
  EXPECT_NE(library->easy_strerror(CurlCode::again), nullptr);
  library->easy_cleanup(curl);
}

TEST(CurlLibrary, NamesTheReasonAndTheRemedyIfThereIsNone) {
  const std::vector<std::string> names = {"libnone.so.9", "libm.so.6"};
  const auto library = CurlLibrary::load(names);
  ASSERT_FALSE(library);
  for (const char* part : {"https needs libcurl", "libnone.so.9: cannot open", "curl_easy_init",
                           "apt-get install libcurl4", "http endpoint"})
    EXPECT_NE(library.error().find(part), std::string::npos) << part << ": " << library.error();
}

}  // namespace
}  // namespace pawl::sqs_client
