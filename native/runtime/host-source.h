// HostSource: an input's bytes on the host that are not in one piece of memory as a device wants them: in a
// file, in several arrays, or still to be read by JavaScript. They are read by range, on any thread, several
// ranges at once.
//
// Windows of a sweep, and the staging of a GPU, read their ranges straight to where they are copied from;
// `readAll` brings a whole input into memory. Made from JavaScript's descriptions by source-input.*.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/cpu.h"
#include "runtime/cancel.h"

namespace weft {

// `read` throws a Failure where bytes cannot be read.
class HostSource : public cpu::ByteSource {
 public:
  virtual size_t byteLength() const = 0;
  // Of a source that is in memory, the bytes from `offset` on that lie in one piece; of others, none. It
  // belongs to JavaScript, which keeps it while the run is pending.
  struct Stretch {
    const std::byte* data = nullptr;
    size_t byteLength = 0;
  };
  virtual Stretch memoryAt(size_t) const { return {}; }
  // Whether reading waits for the JavaScript thread, which must then not wait for what reads.
  virtual bool needsJavaScript() const { return false; }
  // The flag of the run that reads, before it begins.
  virtual void setCancelFlag(const CancelFlag*) {}
};

// Copies all of a source with several threads. Throws the failure of an aborted run when cancelled.
void readAll(HostSource& source, void* to, const CancelFlag& cancel);

// Pieces of memory one after the other. They belong to JavaScript, which keeps them while the run is pending.
class ChunkedSource : public HostSource {
 public:
  struct Chunk {
    const std::byte* data;
    size_t byteLength;
  };
  explicit ChunkedSource(const std::vector<Chunk>& chunks);

  size_t byteLength() const override { return byteLength_; }
  void read(size_t offset, size_t byteLength, void* to) override;
  Stretch memoryAt(size_t offset) const override;

 private:
  struct Section {
    // Of the chunk's first byte in the whole.
    size_t begin;
    Chunk chunk;
  };
  // The last chunk that begins at or before the offset.
  std::vector<Section>::const_iterator sectionOf(size_t offset) const;

  // By `begin`; no empty chunks.
  std::vector<Section> sections_;
  size_t byteLength_ = 0;
};

}  // namespace weft
