// The pool of host memory: large blocks on huge pages, kept for reuse, because pages that the system has just
// handed out cost more than the arithmetic that fills them.
//
// At most a quarter of the memory that the process may use is kept, and 8 GiB: of the two or three blocks in
// which results of one job take turns, all but the one in use are free at times.
//
// Results, arenas and the scratch of matrix products come from here. Everything may be called on any thread;
// blocks may be freed on another thread than they were allocated on. Nothing of JavaScript is known here: see
// host-memory.h.
//
// Memory that runs work in is counted by itself, and takes the bytes asked for, rounded up to cache lines or,
// from 64 KiB on, to pages: plans reckon with it (src/exec/plan/block-bytes.ts). Results may take a kept
// block that is a little larger.
//
// Where the process has a limit (memory-limit.h), what is out and what is kept stay within it together.
//
// Fresh blocks are not touched in advance: with huge pages, the threads that fill a block fault it in no
// slower than a pass before them would, and on the right memory node.
#pragma once
#include <cstddef>
#include <utility>

#include "shared/layout.h"

namespace weft::host {

// Every block begins at a multiple of kHostAlignment, which is also the widest vector.

// The use of a block: a result, which becomes JavaScript's, or a run's working memory.
enum class Purpose { result, work };

// A block of memory, given back to the pool when it is destroyed. Its contents are undefined.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        purpose_(other.purpose_),
        uses_(other.uses_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(purpose_, other.purpose_);
    std::swap(uses_, other.uses_);
    return *this;
  }
  ~Block();

  // Null for a block of 0 bytes.
  void* data() const { return data_; }
  // Bytes that it has, at least those asked for.
  size_t capacity() const { return capacity_; }
  // How often this memory was handed out, with this time.
  unsigned uses() const { return uses_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  friend Block allocate(size_t byteLength, Purpose purpose);
  Block(void* data, size_t capacity, Purpose purpose, unsigned uses)
      : data_(data), capacity_(capacity), purpose_(purpose), uses_(uses) {}

  void* data_ = nullptr;
  size_t capacity_ = 0;
  Purpose purpose_ = Purpose::result;
  unsigned uses_ = 0;
};

// A block of at least `byteLength` bytes. Throws a Failure when the system has no more, after giving back to
// it what the pool keeps. A large block is asked for only where its memory is there: many a system promises
// more than it has, and ends the process that uses it.
Block allocate(size_t byteLength, Purpose purpose = Purpose::result);

// Bytes of blocks that are out; those and what is kept for reuse; the most that was out, and the most that
// was out to work in, since the last trim.
struct Use {
  size_t inUse;
  size_t held;
  size_t peak;
  size_t workPeak;
};
Use use();

// Gives everything that is kept for reuse back to the system.
void trim();

// The listener that is asked before the system gets a pooled block back, and calls `give` for it: at once,
// or, where it need not be there yet, later on another thread. Set once; any thread may call it.
using GiveBack = void (*)(void* data, size_t capacity);
using Farewell = void (*)(void* data, size_t capacity, bool isUrgent, GiveBack give);
void setFarewell(Farewell farewell);

// Fills every block that is handed out with 0xff (NaN in every float type), so that tests see reads of
// undefined memory.
void setPoison(bool on);
// Whether it is on: memory of other kinds is then filled likewise.
bool poison();

}  // namespace weft::host
