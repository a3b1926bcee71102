// SPDX-License-Identifier: Apache-2.0
// Notifications to a service manager, and the variables by which it asks for them.
#include "net/server/service_manager.h"

#include <gtest/gtest.h>

#include <memory>
#include <regex>
#include <string>

#include "tests/net/manager_socket.h"

namespace pawl {
namespace {

using std::chrono::microseconds;

constexpr pid_t this_process = 4711;

std::string socket_name(const std::string& prefix) { return prefix + std::to_string(::getpid()); }

TEST(ServiceManager, SaysEachStateInOneMessage) {
  for (const char* const prefix : {"/tmp/pawl-notify-", "@pawl-notify-"}) {
    SCOPED_TRACE(prefix);
    const ManagerSocket socket(socket_name(prefix));
    const ServiceManager manager({.socket = socket.name()}, this_process);
    manager.progress("starting: 4 %\nof the log");
    EXPECT_EQ(socket.next(), "STATUS=starting: 4 % of the log\nEXTEND_TIMEOUT_USEC=60000000\n");
    manager.progress("waits", std::chrono::seconds(2));
    EXPECT_EQ(socket.next(), "STATUS=waits\nEXTEND_TIMEOUT_USEC=2000000\n");
    manager.ready("serves");
    EXPECT_EQ(socket.next(), "READY=1\nSTATUS=serves\n");
    manager.feed_watchdog();
    EXPECT_EQ(socket.next(), "WATCHDOG=1\n");
    manager.status("drains");
    EXPECT_EQ(socket.next(), "STATUS=drains\n");
    manager.stopping("stops");
    EXPECT_EQ(socket.next(), "STOPPING=1\nSTATUS=stops\n");
  }
}

TEST(ServiceManager, AReloadEndsWithReady) {
  const ManagerSocket socket(socket_name("@pawl-reload-"));
  const ServiceManager manager({.socket = socket.name()}, this_process);
  {
    const ReloadNotice notice(manager);
    EXPECT_TRUE(
        std::regex_match(socket.next(), std::regex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]+\n")));
  }
  EXPECT_EQ(socket.next(), "READY=1\n");
}

TEST(ServiceManager, WithoutAUsableSocketTheServerWorks) {
  const std::string too_long = "/" + std::string(200, 'x');
  const char* const names[] = {
      nullptr, "", "/", "@", "relative", "vsock:2:1234", "/nowhere/notify", too_long.c_str()};
  for (const char* const name : names) {
    SCOPED_TRACE(name == nullptr ? "unset" : name);
    const ServiceManager manager({.socket = name, .watchdog_usec = "1000000"}, this_process);
    manager.ready("serves");
    EXPECT_EQ(manager.watchdog_period(), microseconds(0));
  }
}

TEST(ServiceManager, AManagerThatHasGoneIsNoFailure) {
  const std::string name = socket_name("/tmp/pawl-gone-");
  auto socket = std::make_unique<ManagerSocket>(name);
  const ServiceManager manager({.socket = name.c_str()}, this_process);
  socket.reset();
  manager.ready("serves");
}

TEST(ServiceManager, OnlyTheWatchdogOfThisProcessIsFed) {
  struct Case {
    const char* usec;
    const char* pid;
    std::int64_t want;
  };
  constexpr Case cases[] = {
      {"30000000",             nullptr, 30'000'000},
      {"30000000",             "4711",  30'000'000},
      {"30000000",             "4712",  0         },
      {"30000000",             "self",  0         },
      {"1",                    "4711",  1         },
      {"0",                    nullptr, 0         },
      {"",                     nullptr, 0         },
      {"-1",                   nullptr, 0         },
      {"30s",                  nullptr, 0         },
      {"18446744073709551615", nullptr, 0         },
      {nullptr,                "4711",  0         },
  };
  const ManagerSocket socket(socket_name("@pawl-watchdog-"));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.usec == nullptr ? "unset" : c.usec);
    const ServiceManager manager(
        {.socket = socket.name(), .watchdog_usec = c.usec, .watchdog_pid = c.pid}, this_process);
    EXPECT_EQ(manager.watchdog_period(), microseconds(c.want));
  }
}

}  // namespace
}  // namespace pawl
