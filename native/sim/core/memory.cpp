#include "core/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::sim {
namespace {

constexpr size_t kGuard = 512;
constexpr unsigned char kGuardByte = 0xa7;
constexpr size_t kLeastSpan = size_t{1} << 30;

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }
unsigned char* at(Address address) { return reinterpret_cast<unsigned char*>(address); }

// Zeros that take no memory before they are written.
void* reserve(size_t byteLength) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, byteLength, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the simulator cannot reserve its address range");
  return memory;
}

// The runs of set bits of a page as ranges, after those that are there.
void appendRuns(std::vector<Range>& ranges, const uint64_t* bits, Address start) {
  constexpr size_t kWords = DeviceMemory::kPage / 64;
  for (size_t w = 0; w < kWords; w++) {
    uint64_t word = bits[w];
    while (word != 0) {
      const int first = __builtin_ctzll(word);
      const uint64_t rest = ~(word >> first);
      const int length = rest == 0 ? 64 : std::min(__builtin_ctzll(rest), 64 - first);
      const Address begin = start + 64 * w + first;
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end += length;
      } else {
        ranges.push_back({begin, begin + length});
      }
      word = first + length == 64 ? 0 : word & (~uint64_t{0} << (first + length));
    }
  }
}

}  // namespace

DeviceMemory::DeviceMemory(size_t byteLength) {
  span_ = roundUp(std::max(kLeastSpan, 2 * byteLength), kPage);
  // The first page stays unused, so that a small negative offset is not in another device's range.
  base_ = reinterpret_cast<Address>(reserve(span_));
  shadow_ = static_cast<Byte*>(reserve(span_));
  readBits_ = static_cast<uint64_t*>(reserve(span_ / 8));
  writeBits_ = static_cast<uint64_t*>(reserve(span_ / 8));
  pageFlags_ = static_cast<uint8_t*>(reserve(span_ / kPage));
  next_ = base_ + kPage;
}

DeviceMemory::~DeviceMemory() {
  munmap(at(base_), span_);
  munmap(shadow_, span_);
  munmap(readBits_, span_ / 8);
  munmap(writeBits_, span_ / 8);
  munmap(pageFlags_, span_ / kPage);
}

Address DeviceMemory::place(size_t byteLength) const {
  const size_t needed = roundUp(byteLength, kBlockAlignment) + 2 * kGuard;
  const Address end = base_ + span_ - kPage;
  for (int round = 0; round < 2; round++) {
    Address from = round == 0 ? next_ : base_ + kPage;
    for (auto it = blocks_.upper_bound(from); from + needed <= end; ++it) {
      // The block before may reach into the place.
      if (it != blocks_.begin()) {
        const Block& before = std::prev(it)->second;
        from = std::max(from, before.start + roundUp(before.byteLength, kBlockAlignment) + kGuard);
      }
      const Address limit = it == blocks_.end() ? end : it->second.start - kGuard;
      if (from + needed <= limit) {
        next_ = from + needed;
        return from + kGuard;
      }
      if (it == blocks_.end()) break;
    }
  }
  return 0;
}

const Block& DeviceMemory::allocate(size_t byteLength, std::string origin) {
  static const Block none;
  const Address start = place(byteLength);
  if (start == 0) return none;
  const size_t padded = roundUp(byteLength, kBlockAlignment) + kGuard;
  std::memset(at(start - kGuard), kGuardByte, kGuard);
  std::memset(at(start), kPoison, byteLength);
  std::memset(at(start + byteLength), kGuardByte, padded - byteLength);
  mark(start - kGuard, kGuard, Byte::outside);
  mark(start, byteLength, Byte::undefined);
  mark(start + byteLength, padded - byteLength, Byte::outside);
  return blocks_[start] = {start, byteLength, ++count_, std::move(origin)};
}

bool DeviceMemory::guardIsIntact(const Block& block) const {
  const auto intact = [](Address begin, Address end) {
    return std::all_of(at(begin), at(end), [](unsigned char byte) { return byte == kGuardByte; });
  };
  const Address end = block.start + block.byteLength;
  return intact(block.start - kGuard, block.start) &&
         intact(end, block.start + roundUp(block.byteLength, kBlockAlignment) + kGuard);
}

std::string DeviceMemory::release(Address start) {
  const auto found = blocks_.find(start);
  const Block block = found->second;
  const std::string problem = guardIsIntact(block) ? "" : "a guard band was written: " + describe(start);
  blocks_.erase(found);
  mark(start, block.byteLength, Byte::freed);
  // Large blocks give their pages back; they read as zeros, which nobody may.
  constexpr size_t kLarge = 64 * kPage;
  if (block.byteLength >= kLarge) {
    const Address first = roundUp(start, kPage);
    madvise(at(first), (start + block.byteLength - first) / kPage * kPage, MADV_DONTNEED);
  } else {
    std::memset(at(start), kPoison, block.byteLength);
  }
  return problem;
}

const Block* DeviceMemory::find(Address start) const {
  const auto found = blocks_.find(start);
  return found == blocks_.end() ? nullptr : &found->second;
}

std::vector<std::string> DeviceMemory::brokenGuards() const {
  std::vector<std::string> problems;
  for (const auto& [start, block] : blocks_) {
    if (!guardIsIntact(block)) problems.push_back("a guard band was written: " + describe(start));
  }
  return problems;
}

void DeviceMemory::mark(Address address, size_t byteLength, Byte state) {
  std::memset(shadow_ + (address - base_), static_cast<int>(state), byteLength);
}

std::string DeviceMemory::describe(Address address) const {
  if (!contains(address)) return "address outside the device's memory";
  const auto after = blocks_.upper_bound(address);
  const auto name = [](const Block& block) {
    return "block " + std::to_string(block.number) + " (" + std::to_string(block.byteLength) + " bytes, " +
           block.origin + ")";
  };
  if (after != blocks_.begin()) {
    const Block& block = std::prev(after)->second;
    return "byte " + std::to_string(address - block.start) + " of " + name(block);
  }
  if (after == blocks_.end()) return "no block";
  return std::to_string(after->first - address) + " bytes before " + name(after->second);
}

std::string DeviceMemory::problemWith(Address address, size_t byteLength, const char* verb) const {
  const auto what = [&] { return std::string(verb) + " " + std::to_string(byteLength) + " bytes at "; };
  if (!contains(address) || byteLength > span_ || !contains(address + byteLength - 1)) {
    return what() + describe(address);
  }
  const auto after = blocks_.upper_bound(address);
  if (after != blocks_.begin()) {
    const Block& block = std::prev(after)->second;
    if (address + byteLength <= block.start + block.byteLength) return {};
  }
  const Byte* first = shadow_ + (address - base_);
  for (size_t i = 0; i < byteLength; i++) {
    if (first[i] == Byte::freed) return what() + "freed memory, " + describe(address + i);
    if (first[i] == Byte::outside) return what() + describe(address) + ", which ends before";
  }
  return {};
}

std::string DeviceMemory::checkRead(Address address, size_t byteLength) const {
  return byteLength == 0 ? std::string() : problemWith(address, byteLength, "reads");
}

std::string DeviceMemory::checkWrite(Address address, size_t byteLength) {
  if (byteLength == 0) return {};
  std::string problem = problemWith(address, byteLength, "writes");
  if (problem.empty()) mark(address, byteLength, Byte::defined);
  return problem;
}

bool DeviceMemory::isDefined(Address address, size_t byteLength) const {
  const Byte* first = shadow_ + (address - base_);
  return std::all_of(first, first + byteLength, [](Byte state) { return state == Byte::defined; });
}

Accesses DeviceMemory::takeAccesses() {
  Accesses accesses;
  std::sort(touchedPages_.begin(), touchedPages_.end());
  for (const uint32_t page : touchedPages_) {
    pageFlags_[page] = 0;
    const size_t word = page * (kPage / 64);
    appendRuns(accesses.reads, readBits_ + word, base_ + page * kPage);
    appendRuns(accesses.writes, writeBits_ + word, base_ + page * kPage);
    std::memset(readBits_ + word, 0, kPage / 8);
    std::memset(writeBits_ + word, 0, kPage / 8);
  }
  touchedPages_.clear();
  return accesses;
}

}  // namespace weft::sim
