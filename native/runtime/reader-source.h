// ReaderSource: an input whose elements JavaScript reads, range by range, while a run is under way.
//
// A range is asked for by a native thread, which waits; the JavaScript thread calls the reader, and what that
// gives, whenever it comes, is copied to where it is wanted. Made by source-input.*.
#pragma once
#include <napi.h>

#include <memory>

#include "runtime/environment.h"
#include "runtime/host-source.h"

namespace weft {

class ReaderSource : public HostSource {
 public:
  // `read`: (byteOffset: number, byteLength: number, done: (bytes?: Uint8Array) => void) => void, which calls
  // `done` once, without bytes where they cannot be read. JavaScript thread.
  ReaderSource(const Napi::Function& read, size_t byteLength);
  ~ReaderSource() override;

  size_t byteLength() const override { return byteLength_; }
  void read(size_t offset, size_t byteLength, void* to) override;
  bool needsJavaScript() const override { return true; }
  void setCancelFlag(const CancelFlag* cancel) override { cancel_ = cancel; }

 private:
  struct Request;
  using Reference = std::shared_ptr<Napi::FunctionReference>;

  const CallOnJavaScript call_;
  Reference read_;
  const size_t byteLength_;
  const CancelFlag* cancel_ = nullptr;
};

}  // namespace weft
