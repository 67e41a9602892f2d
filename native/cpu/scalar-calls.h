// Lane functions that call a scalar function for one lane at a time.
#pragma once
#include <utility>

#include "cpu/ops.h"

namespace weft::cpu {

// Fills `out` with `function` of the elements of its arguments, whose number is that of the indices.
template <typename T, size_t... K, typename Function>
void eachLane(Extent n, const Operand& out, const Operand* const* args, std::index_sequence<K...>,
              Function function) {
  for (int64_t row = 0; row < n.rows; row++) {
    for (int64_t c = 0; c < n.chunks; c++) {
      const T* const from[] = {reinterpret_cast<const T*>(args[K]->data) + row * args[K]->rowStep +
                               c * args[K]->chunkStep...};
      T* const to = reinterpret_cast<T*>(out.data) + row * out.rowStep + c * out.chunkStep;
      for (int64_t l = 0; l < kChunk; l++) to[l] = function(from[K][l]...);
    }
  }
}

}  // namespace weft::cpu
