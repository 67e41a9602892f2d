#include "runtime/host-sink.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/checksum.h"
#include "runtime/failure.h"
#include "runtime/recorder.h"

namespace weft {
namespace {

// Bytes that are swapped, summed and written at a time: it stays in the cache between the three.
constexpr size_t kWriteByteLength = size_t{256} << 10;
// Bytes written between two looks at the cancel flag.
constexpr size_t kStretchByteLength = size_t{8} << 20;

}  // namespace

void writeAll(HostSink& sink, const void* from, const CancelFlag& cancel) {
  for (size_t at = 0; at < sink.byteLength(); at += kStretchByteLength) {
    checkCancelled(cancel);
    const size_t part = std::min(kStretchByteLength, sink.byteLength() - at);
    sink.write(at, part, static_cast<const std::byte*>(from) + at);
  }
}

std::vector<RangeChecksum::Unclaimed> RangeChecksum::claim(size_t offset, size_t byteLength) {
  std::vector<Unclaimed> parts;
  const size_t last = offset + byteLength;
  size_t first = offset;
  size_t end = last;
  size_t at = offset;
  auto next = claimed_.upper_bound(offset);
  if (next != claimed_.begin() && std::prev(next)->second >= offset) --next;
  while (next != claimed_.end() && next->first <= last) {
    if (next->first > at) parts.push_back({at, next->first - at});
    at = std::max(at, next->second);
    first = std::min(first, next->first);
    end = std::max(end, next->second);
    next = claimed_.erase(next);
  }
  if (at < last) parts.push_back({at, last - at});
  claimed_[first] = end;
  return parts;
}

void RangeChecksum::add(size_t offset, size_t byteLength, uint32_t checksum) {
  auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && offset + byteLength == next->first) {
    checksum = combineChecksums(checksum, next->second.checksum, next->second.byteLength);
    byteLength += next->second.byteLength;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    auto& [begin, before] = *std::prev(next);
    if (begin + before.byteLength == offset) {
      before.checksum = combineChecksums(before.checksum, checksum, byteLength);
      before.byteLength += byteLength;
      return;
    }
  }
  ranges_.emplace_hint(next, offset, Range{byteLength, checksum});
}

std::optional<uint32_t> RangeChecksum::whole(size_t byteLength) const {
  if (ranges_.size() != 1) return std::nullopt;
  const auto& [begin, range] = *ranges_.begin();
  if (begin != 0 || range.byteLength != byteLength) return std::nullopt;
  return range.checksum;
}

FileSink::FileSink(FileDescriptor file, std::string path, uint64_t byteOffset, size_t byteLength, size_t word,
                   std::optional<uint32_t> start)
    : file_(std::move(file)),
      path_(std::move(path)),
      byteOffset_(byteOffset),
      byteLength_(byteLength),
      word_(word),
      start_(start) {}

void FileSink::write(size_t offset, size_t byteLength, const void* from) {
  const recorder::HostSpan span(recorder::Kind::write, path_, byteLength);
  for (size_t at = 0; at < byteLength; at += kWriteByteLength) {
    writePiece(offset + at, std::min(kWriteByteLength, byteLength - at),
               static_cast<const std::byte*>(from) + at);
  }
}

void FileSink::writePiece(size_t offset, size_t byteLength, const void* from) {
  std::unique_ptr<std::byte[]> turned;
  if (word_ > 1) {
    turned = std::make_unique_for_overwrite<std::byte[]>(byteLength);
    std::memcpy(turned.get(), from, byteLength);
    swapWords(turned.get(), byteLength, word_);
    from = turned.get();
  }
  if (start_) {
    std::vector<RangeChecksum::Unclaimed> parts;
    {
      const std::lock_guard lock(mutex_);
      parts = sum_.claim(offset, byteLength);
    }
    for (const auto& part : parts) {
      const uint32_t sum =
          weft::checksum(static_cast<const std::byte*>(from) + (part.offset - offset), part.byteLength);
      const std::lock_guard lock(mutex_);
      sum_.add(part.offset, part.byteLength, sum);
    }
  }
  writeExactly(file_.get(), from, byteLength, byteOffset_ + offset, path_);
}

uint32_t FileSink::checksum() const {
  if (!start_) return 0;
  if (byteLength_ == 0) return *start_;
  const std::lock_guard lock(mutex_);
  const std::optional<uint32_t> sum = sum_.whole(byteLength_);
  if (!sum) throw Failure(FailureCode::internal, "a file's checksum was asked for before all was written");
  return combineChecksums(*start_, *sum, byteLength_);
}

}  // namespace weft
