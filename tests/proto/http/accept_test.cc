// SPDX-License-Identifier: Apache-2.0
#include "proto/http/accept.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Accept, IsJsonIfThatComesBeforeXml) {
  for (const char* accept :
       {"application/json", "Application/JSON;q=0.5", " text/html , application/json , text/xml"})
    EXPECT_TRUE(accepts_json(accept)) << accept;
  for (const char* accept : {"", ",", "*/*", "text/xml, application/json",
                             "application/xml;q=0.1,application/json", "application/json5"})
    EXPECT_FALSE(accepts_json(accept)) << accept;
}

TEST(Accept, IsOpenMetricsIfThatWeighsAsMuchAsText) {
  for (const char* accept :
       {"application/openmetrics-text; version=1.0.0", "Application/OpenMetrics-Text",
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.5",
        // Prometheus 2.42
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"})
    EXPECT_TRUE(accepts_open_metrics(accept)) << accept;
  for (const char* accept : {"", "*/*", "text/*", "application/*", "text/plain",
                             "application/openmetrics-text;version=0.0.1",
                             "application/openmetrics-text;version=1.0.0;q=0",
                             "application/openmetrics-text;version=1.0.0;q=0.4, text/plain;q=0.5",
                             "application/openmetrics-text;q=2",
                             "application/openmetrics-text;q=", "application/openmetrics-text2"})
    EXPECT_FALSE(accepts_open_metrics(accept)) << accept;
}

TEST(Accept, IsGzipIfThatIsNamedAndNotRefused) {
  for (const char* encodings : {"gzip", "GZip", "deflate, gzip;q=1.0, *;q=0.5",
                                "br,\tgzip ; q=0.001", "gzip;q=0, gzip", "identity;q=0.5,gzip"})
    EXPECT_TRUE(accepts_gzip(encodings)) << encodings;
  for (const char* encodings :
       {"", "*", "identity", "deflate", "gzip;q=0", "gzip;q=0.000", "gzip;q=1.1", "gzip;q=0.0001",
        "gzip;q=-1", "gzip;q=1x", "gzip;q=0.5,identity", "gzipped"})
    EXPECT_FALSE(accepts_gzip(encodings)) << encodings;
}

}  // namespace
}  // namespace pawl
