// Rows of a sparse result in one pass, without a count before it: threads have stretches of rows, whose
// elements begin where those before them end at most, and are then moved together.
//
//   two stretches, of 6 and 6 elements at most   →   a b c . . .|d e . . . .   →   a b c d e
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <tuple>
#include <vector>

#include "cpu/copy-forward.h"
#include "cpu/sparse-lines.h"
#include "cpu/threads.h"

namespace weft::cpu {

// Moves elements to places at or before theirs, in pieces of threads that do not meet.
template <typename... Element>
void moveDown(int64_t from, int64_t count, int64_t to, ThreadPool& pool, Element*... lines) {
  constexpr int64_t kPiece = 1 << 15;
  const int64_t apart = from - to;
  if (apart == 0 || count == 0) return;
  if (apart < kPiece) {
    (copyForward(lines + from, count, lines + to), ...);
    return;
  }
  for (int64_t first = 0; first < count; first += apart) {
    const int64_t last = std::min(count, first + apart);
    pool.parallelFor((last - first + kPiece - 1) / kPiece, [&](int64_t piece, int) {
      const int64_t begin = first + piece * kPiece, size = std::min(kPiece, last - begin);
      (copyForward(lines + from + begin, size, lines + to + begin), ...);
    });
  }
}

// Elements of a stretch, at least. A processor that sleeps begins after some 0.05 ms: as long as one takes to
// merge so many, or to move eight times as many in vectors.
inline constexpr int64_t kLeastMerged = 1 << 14, kLeastMoved = 1 << 17;

// Writes starts and elements. `mostBefore(row)`: how many elements rows before it have at most, of rows + 1
// up to `bound`; `write(rows, to)` writes those of some rows to places of the lines, from the first one on,
// and their ends, counted from there; it gives how many there are. Gives the number of elements.
template <typename Start, typename Before, typename Write, typename... Element>
int64_t writeStretchesAtOnce(int64_t rows, int64_t bound, int64_t least, Start* starts, ThreadPool& pool,
                             const std::atomic<bool>* cancel, const Before& mostBefore, const Write& write,
                             Element*... lines) {
  struct Stretch {
    int64_t row, first, count;
  };
  const int64_t most = mostBefore(rows);
  const int64_t stretches =
      std::clamp<int64_t>(std::min(most, bound) / least, 1, std::min<int64_t>(pool.workers(), rows));
  std::vector<Stretch> parts{{0, 0, 0}};
  for (int64_t s = 1; s < stretches; s++) {
    // The first row that has so many before it.
    int64_t row = parts.back().row, end = rows;
    while (row < end) {
      const int64_t middle = row + (end - row) / 2;
      if (mostBefore(middle) < most * s / stretches) {
        row = middle + 1;
      } else {
        end = middle;
      }
    }
    parts.push_back({row, std::clamp(mostBefore(row), parts.back().first, bound), 0});
  }
  parts.push_back({rows, bound, 0});
  pool.parallelFor(stretches, [&](int64_t s, int) {
    Stretch& own = parts[static_cast<size_t>(s)];
    const Stretch& next = parts[static_cast<size_t>(s + 1)];
    own.count = write(Range{own.row, next.row}, Range{own.first, next.first});
  });
  starts[0] = 0;
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
  int64_t end = parts[0].count;
  for (int64_t s = 1; s < stretches; s++) {
    const Stretch& own = parts[static_cast<size_t>(s)];
    const int64_t last = parts[static_cast<size_t>(s + 1)].row;
    moveDown(own.first, own.count, end, pool, lines...);
    for (int64_t row = own.row; row < last; row++) starts[row + 1] += static_cast<Start>(end);
    end += own.count;
  }
  return end;
}

// The same row by row: `mostOf(row)`: how many elements a row has at most; `write(row, to)` writes them from
// place `to` of the lines on and gives their end.
template <typename Start, typename Before, typename Most, typename Write, typename... Element>
int64_t writeRowsAtOnce(int64_t rows, int64_t bound, Start* starts, ThreadPool& pool,
                        const std::atomic<bool>* cancel, const Before& mostBefore, const Most& mostOf,
                        const Write& write, Element*... lines) {
  return writeStretchesAtOnce(
      rows, bound, kLeastMerged, starts, pool, cancel, mostBefore,
      [&](Range own, Range places) -> int64_t {
        // Of its own, so that what they hold stays in registers.
        const Most most = mostOf;
        const Write writeRow = write;
        int64_t to = places.first;
        for (int64_t first = own.first; first < own.last; first += kRowsAtOnce) {
          if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return 0;
          const int64_t last = std::min(own.last, first + kRowsAtOnce);
          for (int64_t row = first; row < last; row++) {
            // Of starts that cannot be, a row may have more than there is room for.
            if (to + most(row) <= places.last) to = writeRow(row, to);
            starts[row + 1] = static_cast<Start>(to - places.first);
          }
        }
        return to - places.first;
      },
      lines...);
}

}  // namespace weft::cpu
