// SPDX-License-Identifier: Apache-2.0
// Reads a page of the admin port.
//
// Errors: a text: the failure and the address, without an end.
// Owner:  one verb.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <string>

namespace pawl {

struct AdminPageRequest {
  std::string admin;  // ADDR:PORT, or https://HOST:PORT of a port with TLS
  std::chrono::milliseconds timeout{2000};
  std::size_t bytes_max = 64 << 10;
};

struct AdminPageText {
  int status = 0;
  std::string text;
};

std::expected<AdminPageText, std::string> get_admin_page(const AdminPageRequest& asked,
                                                         const std::string& path);

// The address of a server of the same settings: in a container both have the same variables.
std::string default_admin();

// Why the server does not show a page, for a status other than 200; without an end.
std::string refusal_of(const std::string& admin, const std::string& path,
                       const AdminPageText& page);

// /metrics of a server, up to 64 MiB.
std::expected<std::string, std::string> get_metrics(const std::string& admin);

}  // namespace pawl
