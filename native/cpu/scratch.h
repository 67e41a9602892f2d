// Memory that a thread works in for a while: taken from what earlier runs left, and kept for the next. For
// the workers of tapes, and the partial results of their slots.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

#include "shared/layout.h"

namespace weft::cpu {

// Aligned to a cache line.
class Scratch {
 public:
  explicit Scratch(size_t byteLength) : block_(acquire(byteLength)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  char* data() const { return block_.data.get(); }

 private:
  static constexpr std::align_val_t kAlignment{kHostAlignment};
  struct Free {
    void operator()(char* data) const { operator delete(data, kAlignment); }
  };
  struct Block {
    std::unique_ptr<char, Free> data;
    size_t byteLength;
  };
  struct Pool;
  static Pool& shared();
  static Block& own();
  static Block acquire(size_t byteLength);

  Block block_;
};

}  // namespace weft::cpu
