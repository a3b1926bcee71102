// SPDX-License-Identifier: Apache-2.0
// The settings in the environment: PAWL_SECTION_KEY.
//
// A variable that begins like a section and is no setting is refused: a mistyped setting must not
// be without effect. Other variables with PAWL_ belong to other software, and are ignored. So are
// those of Kubernetes for a service: for `pawl` PAWL_SERVICE_HOST, PAWL_PORT_9324_TCP and more, for
// `pawl-server` PAWL_SERVER_SERVICE_HOST and more.
//
// Owner:  values; the environment is read once for each call.
// Source: Kubernetes, "Service", section "Environment variables".
#pragma once

#include <string>
#include <string_view>

#include "tools/config/given_values.h"

namespace pawl {

// Adds the settings of the environment to `given`; a value that is already in `given` stays.
void read_environment(GivenValues& given);

struct UnknownVariables {
  Faults refused;                 // they end a start
  std::vector<std::string> near;  // sentences about names that are near a setting's
};
UnknownVariables unknown_variables();

// Whether Kubernetes makes such a variable for a service.
bool is_of_kubernetes(std::string_view name, std::string_view value);

}  // namespace pawl
