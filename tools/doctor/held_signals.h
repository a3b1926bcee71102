// SPDX-License-Identifier: Apache-2.0
// HeldSignals: holds back the signals that end a program while it has temporary files.
//
//   constructor: SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXFSZ are blocked
//   destructor:  they are unblocked; a pending one takes effect
//
// A signal that is ignored stays ignored. SIGXFSZ reports a write beyond RLIMIT_FSIZE.
//
// Owner:  the thread that made it; the process has no other thread.
#pragma once

#include <csignal>

namespace pawl {

class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // True: one of the signals has arrived, so the work should end early.
  bool pending() const;

 private:
  sigset_t held_;
  sigset_t before_;
};

}  // namespace pawl
