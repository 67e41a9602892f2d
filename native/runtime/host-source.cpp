#include "runtime/host-source.h"

#include <algorithm>
#include <cstring>

#include "cpu/threads.h"

namespace weft {
namespace {

// Bytes that a thread reads at a time: large enough for the disk, small enough to stop soon.
constexpr size_t kReadByteLength = size_t{4} << 20;

}  // namespace

void readAll(HostSource& source, void* to, const CancelFlag& cancel) {
  const size_t byteLength = source.byteLength();
  const auto pieces = static_cast<int64_t>((byteLength + kReadByteLength - 1) / kReadByteLength);
  cpu::sharedPool().parallelFor(pieces, [&](int64_t piece, int) {
    checkCancelled(cancel);
    const size_t at = static_cast<size_t>(piece) * kReadByteLength;
    source.read(at, std::min(kReadByteLength, byteLength - at), static_cast<std::byte*>(to) + at);
  });
}

ChunkedSource::ChunkedSource(const std::vector<Chunk>& chunks) {
  for (const Chunk& chunk : chunks) {
    if (chunk.byteLength == 0) continue;
    sections_.push_back({byteLength_, chunk});
    byteLength_ += chunk.byteLength;
  }
}

std::vector<ChunkedSource::Section>::const_iterator ChunkedSource::sectionOf(size_t offset) const {
  return std::upper_bound(sections_.begin(), sections_.end(), offset,
                          [](size_t at, const Section& later) { return at < later.begin; }) -
         1;
}

HostSource::Stretch ChunkedSource::memoryAt(size_t offset) const {
  if (offset >= byteLength_) return {};
  const Section& place = *sectionOf(offset);
  const size_t within = offset - place.begin;
  return {place.chunk.data + within, place.chunk.byteLength - within};
}

void ChunkedSource::read(size_t offset, size_t byteLength, void* to) {
  if (byteLength == 0) return;
  auto place = sectionOf(offset);
  auto* target = static_cast<std::byte*>(to);
  while (byteLength > 0) {
    const size_t within = offset - place->begin;
    const size_t part = std::min(byteLength, place->chunk.byteLength - within);
    std::memcpy(target, place->chunk.data + within, part);
    target += part;
    offset += part;
    byteLength -= part;
    ++place;
  }
}

}  // namespace weft
