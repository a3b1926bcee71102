// SPDX-License-Identifier: Apache-2.0
// The key, region and endpoint of a call: from the environment, and from a profile in the files of
// the AWS command line.
//
//   key:      AWS_ACCESS_KEY_ID...    ──▶ credentials file ──▶ config file
//   region:   AWS_REGION...           ──▶ profile          ──▶ us-east-1
//   endpoint: AWS_ENDPOINT_URL_SQS... ──▶ `services` of the profile, sqs ──▶ endpoint_url of it
//   CA file:  AWS_CA_BUNDLE           ──▶ ca_bundle of the profile       ──▶ those of the system
//
// The profile is the named one, else AWS_PROFILE, else "default". A profile that is named in the
// call has precedence over the keys of the environment, as with the AWS command line.
//
// Limits: static keys only. sso, role_arn, credential_process and web identities are an error if
//         the profile was named; the profile "default" is then read without its keys.
// Errors: a sentence with FILE:LINE, and the remedy.
// Owner:  values.
// Source: AWS CLI User Guide, "Configuration settings and precedence"; AWS SDKs and Tools Reference
//         Guide, "Service-specific endpoints".
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "net/sqs_client/signer.h"

namespace pawl::sqs_client {

struct Access {
  SigningKey key;  // without an id: there is none
  std::string region;
  std::string endpoint;  // empty: none is configured
  std::string ca_file;   // empty: none is configured
};

// `profile`: the name in the call; empty: none. Reads AWS_CONFIG_FILE and
// AWS_SHARED_CREDENTIALS_FILE, else the files in ~/.aws.
// `service`: "sqs" or "sns", for the endpoint. `prefix`: of the variables of a second endpoint.
std::expected<Access, std::string> find_access(const std::string& profile,
                                               std::string_view service = "sqs",
                                               std::string_view prefix = {});

}  // namespace pawl::sqs_client
