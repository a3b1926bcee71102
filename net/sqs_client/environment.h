// SPDX-License-Identifier: Apache-2.0
// The key, region and endpoint of requests, from the variables that SDKs and the AWS command line
// read.
//
// Errors: none; an absent variable is empty.
// Owner:  values.
// Source: AWS SDKs and Tools Reference Guide, "Environment variables".
#pragma once

#include <string>

#include "net/sqs_client/signer.h"

namespace pawl::sqs_client {

inline constexpr const char* default_region = "us-east-1";

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. With a prefix, of a second endpoint:
// TO_AWS_ACCESS_KEY_ID and so on, if that is set.
SigningKey key_of_environment(std::string_view prefix = {});
// AWS_REGION, else AWS_DEFAULT_REGION. With a prefix first TO_AWS_REGION.
std::string region_of_environment(std::string_view prefix = {});
// For the service "sqs": AWS_ENDPOINT_URL_SQS, else AWS_ENDPOINT_URL; empty: neither is set.
std::string endpoint_of_environment(std::string_view service);
// AWS_CA_BUNDLE: the certificate authorities for https; empty: those of the system.
std::string ca_file_of_environment();
// AWS_PROFILE.
std::string profile_of_environment();
// AWS_CONFIG_FILE, else ~/.aws/config.
std::string config_file_of_environment();
// AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials.
std::string credentials_file_of_environment();

}  // namespace pawl::sqs_client
