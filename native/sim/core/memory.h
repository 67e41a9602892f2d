// DeviceMemory: the memory of one simulated device, with what is known about each of its bytes.
//
// A device's addresses are host addresses in a range of its own, so that kernels run on them as they are.
// Every byte has a state in a shadow of the range; blocks lie between guard bands, come poisoned, and their
// addresses are used again only when the range is used up, so that a stale address is found out. How many
// bytes a device has is accounted by pool.*, not here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::sim {

using Address = uint64_t;

// Neither read nor written by anyone, written to, given back.
enum class Byte : uint8_t { outside = 0, undefined = 1, defined = 2, freed = 3 };

struct Block {
  Address start = 0;
  size_t byteLength = 0;
  uint64_t number = 0;
  // The call that made it, for reports.
  std::string origin;
};

// Bytes [begin, end).
struct Range {
  Address begin, end;
};

// The bytes that one operation read and wrote; each list in order, without overlaps.
struct Accesses {
  std::vector<Range> reads, writes;
};

// NaN in every floating-point type, -1 in every signed integer.
inline constexpr unsigned char kPoison = 0xff;
inline constexpr size_t kBlockAlignment = 512;

class DeviceMemory {
 public:
  // `byteLength` is what the device has; the range is larger.
  explicit DeviceMemory(size_t byteLength);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // A poisoned block, or one of address 0 where the range has no place left.
  const Block& allocate(size_t byteLength, std::string origin);
  // Takes a block back. Gives what is wrong with it: a written guard; empty: nothing.
  std::string release(Address start);

  bool contains(Address address) const { return address - base_ < span_; }
  // The block that begins here, if any.
  const Block* find(Address start) const;
  const std::map<Address, Block>& blocks() const { return blocks_; }
  // The damage in guard bands of live blocks.
  std::vector<std::string> brokenGuards() const;

  // Why these bytes may not be read or written, or an empty string. Marks what is written as defined.
  std::string checkRead(Address address, size_t byteLength) const;
  std::string checkWrite(Address address, size_t byteLength);
  // Whether each byte was written since it was allocated.
  bool isDefined(Address address, size_t byteLength) const;
  // "byte 16 of block 3 (40 bytes, cuMemAllocFromPoolAsync #7)", or the nearest such.
  std::string describe(Address address) const;

  // For kernels, which check each access as it happens (hooks.cpp).
  Address base() const { return base_; }
  size_t span() const { return span_; }
  Byte* shadow() const { return shadow_; }
  uint64_t* readBits() const { return readBits_; }
  uint64_t* writeBits() const { return writeBits_; }
  // Pages of kPage bytes touched since the last `takeAccesses`: a flag each, and a list.
  static constexpr size_t kPage = 4096;
  uint8_t* pageFlags() const { return pageFlags_; }
  std::vector<uint32_t>& touchedPages() { return touchedPages_; }
  // The bytes marked in the bit maps, which are cleared.
  Accesses takeAccesses();

 private:
  void mark(Address address, size_t byteLength, Byte state);
  bool guardIsIntact(const Block& block) const;
  // The address of the first place for a block and its guards; 0: none.
  Address place(size_t byteLength) const;
  std::string problemWith(Address address, size_t byteLength, const char* verb) const;

  size_t span_;
  Address base_;
  Byte* shadow_;
  uint64_t* readBits_;
  uint64_t* writeBits_;
  uint8_t* pageFlags_;
  std::vector<uint32_t> touchedPages_;
  std::map<Address, Block> blocks_;
  mutable Address next_;
  uint64_t count_ = 0;
};

}  // namespace weft::sim
