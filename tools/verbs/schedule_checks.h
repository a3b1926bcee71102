// SPDX-License-Identifier: Apache-2.0
// Checks of the values that `pawl schedule` takes.
//
// Errors: each returns the error text for a flag; empty: the value is accepted.
// Owner:  free functions.
#pragma once

#include <string>

namespace pawl {

std::string check_schedule_name(const std::string& text);  // also of a group
std::string check_expression(const std::string& text);
std::string check_zone(const std::string& text);
std::string check_nonexistent(const std::string& text);
std::string check_catch_up(const std::string& text);
std::string check_overlap(const std::string& text);
std::string check_schedule_time(const std::string& text);  // 2026-12-24T18:00:00Z

}  // namespace pawl
