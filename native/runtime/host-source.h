// HostSource: an input's bytes on the host that are not in one piece of memory as a device wants them: in a
// file, or in several arrays. They are read by range, on any thread, several ranges at once.
//
// Windows of a sweep, and the staging of a GPU, read their ranges straight to where they are copied from;
// `readAll` brings a whole input into memory. Made from JavaScript's descriptions by source-input.*.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cancel.h"

namespace weft {

class HostSource {
 public:
  virtual ~HostSource() = default;
  virtual size_t byteLength() const = 0;
  // Copies the bytes [offset, offset + byteLength), which lie within the source and are whole elements. Any
  // thread. Throws a Failure where they cannot be read.
  virtual void read(size_t offset, size_t byteLength, void* to) = 0;
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

 private:
  struct Place {
    // Of the chunk's first byte in the whole.
    size_t begin;
    Chunk chunk;
  };
  // By `begin`; no empty chunks.
  std::vector<Place> places_;
  size_t byteLength_ = 0;
};

}  // namespace weft
