// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"

namespace pawl {
namespace {

volatile std::sig_atomic_t terminal_signal = 0;

void note_signal(int number) { terminal_signal = number; }
void note_resize(int) {}  // the wait for a key ends

void handle(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  CHECK(sigaction(number, &action, nullptr) == 0, "no handler of signal {}", number);
}

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

winsize size_of_screen() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  return size;
}

}  // namespace

bool Terminal::is_possible() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
  CHECK(is_possible(), "no terminal");
  tcgetattr(STDIN_FILENO, &before_);
  termios now = before_;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  now.c_cc[VMIN] = 0;
  now.c_cc[VTIME] = 0;
  now.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the terminal like this
  tcsetattr(STDIN_FILENO, TCSANOW, &now);
  terminal_signal = 0;
  handle(SIGINT, note_signal);
  handle(SIGTERM, note_signal);
  handle(SIGHUP, note_signal);
  handle(SIGWINCH, note_resize);
  put("\x1b[?1049h\x1b[?25l");
}

Terminal::~Terminal() {
  put("\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) handle(number, SIG_DFL);
}

std::size_t Terminal::columns() const { return std::max<std::size_t>(size_of_screen().ws_col, 20); }
std::size_t Terminal::lines() const { return std::max<std::size_t>(size_of_screen().ws_row, 5); }

void Terminal::draw(const std::vector<std::string>& screen) {
  const std::size_t most = std::min(screen.size(), lines());
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < most; ++i) {
    if (i > 0) text += "\r\n";
    text += screen[i].substr(0, columns()) + "\x1b[K";
  }
  put(text + "\x1b[J");
}

char Terminal::key(std::chrono::milliseconds wait) {
  CHECK(wait.count() >= 0, "a wait of {} ms", wait.count());
  if (ended_by() != 0) return 'q';
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (poll(&input, 1, static_cast<int>(wait.count())) <= 0) return ended_by() != 0 ? 'q' : '\0';
  char typed = 0;
  if (read(STDIN_FILENO, &typed, 1) == 1) return typed;
  terminal_signal = SIGHUP;  // no key will ever be typed
  return 'q';
}

int Terminal::ended_by() const { return terminal_signal; }

}  // namespace pawl
