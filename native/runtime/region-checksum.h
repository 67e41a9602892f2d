// RegionChecksum: whether the bytes of a file's region are those that a checksum was made of, found while
// they are read.
//
// Ranges are read in any order, by several threads, and some of them again; each byte is taken once. When all
// of them have been taken, the sum is known, and a region that is read again costs nothing. Of a region that
// is read in part alone, nothing is known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace weft {

struct FileStamp;

class RegionChecksum {
 public:
  // `expected`: the CRC-32 of all of the region's bytes, of which there is at least one.
  RegionChecksum(uint64_t byteLength, uint32_t expected) : byteLength_(byteLength), expected_(expected) {}

  // Takes bytes that were read. False: all have been, and their sum is another one.
  bool take(uint64_t offset, const void* data, size_t byteLength);

  uint32_t expected() const { return expected_; }

 private:
  enum class Verdict { open, right, wrong };
  struct Span {
    uint64_t end;
    uint32_t sum;
  };
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  // The first bytes of [begin, end) that were not taken.
  std::optional<Range> missing(uint64_t begin, uint64_t end) const;
  void insert(const Range& range, uint32_t sum);

  const uint64_t byteLength_;
  const uint32_t expected_;
  std::mutex mutex_;
  Verdict verdict_ = Verdict::open;
  // By their first bytes; those that touch are one.
  std::map<uint64_t, Span> spans_;
};

// The checksum of a region of the file of a stamp: the same one for all runs and devices that read it, while
// it is among the last ones that were used.
std::shared_ptr<RegionChecksum> regionChecksum(const FileStamp& file, uint64_t byteOffset,
                                               uint64_t byteLength, uint32_t expected);

}  // namespace weft
