// SPDX-License-Identifier: Apache-2.0
// The sections of the TOML file of `pawl serve --config`; its other tables are read by
// tools/declared_queues.h.
//
// Errors: "FILE:LINE:COLUMN: what, value, allowed, remedy", and for an unknown key the nearest one.
//         A file that is no TOML has one fault: the parser stops there.
// Owner:  values.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "tools/config/given_values.h"

namespace pawl {

std::expected<std::string, std::string> read_config_file(const std::string& path);
// Adds the settings of the file's text to `given`; a value that is already in `given` stays.
// Returns all faults.
Faults read_config(std::string_view text, const std::string& path, GivenValues& given);

// By line and column; faults with other places come first. Equal ones are kept once.
void sort_by_place(Faults& faults, const std::string& path);

}  // namespace pawl
