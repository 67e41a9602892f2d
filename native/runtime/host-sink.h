// HostSink: a place on the host that a result goes to by range: part of a file. Ranges come in any order,
// from any thread, several at once.
//
// Windows of a sweep are written as they leave the device; the result of any other run is written as a whole
// after it (run.cpp). Made from JavaScript's descriptions by sink-output.*.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cancel.h"
#include "runtime/file.h"

namespace weft {

class HostSink {
 public:
  virtual ~HostSink() = default;
  virtual size_t byteLength() const = 0;
  // Takes the bytes [offset, offset + byteLength), which are whole elements; those that come again are the
  // same. Any thread. Throws a Failure where they cannot be written.
  virtual void write(size_t offset, size_t byteLength, const void* from) = 0;
  // Of what was written, when that is all; 0 where none is kept.
  virtual uint32_t checksum() const = 0;
};

// Writes all of a sink from memory. Throws the failure of an aborted run when cancelled.
void writeAll(HostSink& sink, const void* from, const CancelFlag& cancel);

// CRC-32s of ranges that come in any order, joined as they touch.
class RangeChecksum {
 public:
  // The parts of a range that were not claimed before, and now are: windows of neighbouring tiles may
  // overlap.
  struct Unclaimed {
    size_t offset, byteLength;
  };
  std::vector<Unclaimed> claim(size_t offset, size_t byteLength);
  void add(size_t offset, size_t byteLength, uint32_t checksum);
  // Of all ranges, if they are one that begins at 0 and has this length.
  std::optional<uint32_t> whole(size_t byteLength) const;

 private:
  struct Range {
    size_t byteLength;
    uint32_t checksum;
  };
  // By offset; no two touch.
  std::map<size_t, Range> ranges_;
  // Ends by offset; no two touch.
  std::map<size_t, size_t> claimed_;
};

// A region of an open file.
class FileSink : public HostSink {
 public:
  // `word`: bytes of the values whose bytes are turned round on the way; 0: none are. `path` is for messages.
  // With `start` a checksum is kept, of bytes whose checksum that is and the sink's after them.
  FileSink(FileDescriptor file, std::string path, uint64_t byteOffset, size_t byteLength, size_t word,
           std::optional<uint32_t> start);

  size_t byteLength() const override { return byteLength_; }
  void write(size_t offset, size_t byteLength, const void* from) override;
  uint32_t checksum() const override;

 private:
  void writePiece(size_t offset, size_t byteLength, const void* from);

  const FileDescriptor file_;
  const std::string path_;
  const uint64_t byteOffset_;
  const size_t byteLength_;
  const size_t word_;
  const std::optional<uint32_t> start_;
  mutable std::mutex mutex_;
  RangeChecksum sum_;
};

}  // namespace weft
