// Limits of the process that a server cannot live with, found before anything is made on the disk.
//
// Units:  bytes.
// Errors: a text for the operator: the limit, its value, the need, the remedy.
// Owner:  Server::start(), before other threads run.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace pawl {

// Least address space (RLIMIT_AS) of a server with so many shards.
constexpr std::uint64_t address_space_min(unsigned shards) {
  return (std::uint64_t{128} + std::uint64_t{64} * shards) << 20;
}

// Checks the limit of address space against `memory` (--memory; 0: not given), and starts and ends as
// many threads as the server will have.
std::expected<void, std::string> check_process_limits(unsigned shards, std::uint64_t memory);

}  // namespace pawl
