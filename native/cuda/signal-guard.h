// Keeps the process's answers to SIGINT and SIGTERM while NVRTC compiles. NVRTC puts handlers of its own in
// their place with signal(), and puts the old ones back without their flags: Node's handler, which counts on
// being reset before it raises the signal again (SA_RESETHAND), would then raise it for ever.
#pragma once

namespace weft::cuda {

// Lives as long as one compilation. Several threads may have one at a time.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

}  // namespace weft::cuda
