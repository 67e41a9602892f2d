#include "cpu/tape-triangle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/scratch.h"
#include "cpu/tape-worker.h"

namespace weft::cpu {
namespace {

// Columns of a square that are transposed at once: their lines stay in the first-level cache.
constexpr int64_t kTurnedColumns = 16;

// Tasks of each thread, at least: squares are cut into stripes of so many rows, at least, until there are as
// many.
constexpr int64_t kStripesPerThread = 8;
constexpr int64_t kLeastStripeRows = 64;

// Squares of an upper triangle, column after column: (0, 0), (0, 1), (1, 1), (0, 2) ...
struct SquarePlace {
  int64_t row;
  int64_t column;
};
constexpr int64_t squaresTo(int64_t column) { return column * (column + 1) / 2; }
SquarePlace squareAt(int64_t square) {
  auto column = static_cast<int64_t>(std::sqrt(2.0 * static_cast<double>(square)));
  while (squaresTo(column) > square) column--;
  while (squaresTo(column + 1) <= square) column++;
  return {square - squaresTo(column), column};
}

// One thread's squares, or stripes of them with so many rows.
class SquareWorker {
 public:
  SquareWorker(const TapeJob& whole, int64_t height)
      : whole_(whole),
        height_(height),
        triangle_(*whole.tape.triangle),
        tape_(*triangle_.square),
        buffers_(whole.buffers, whole.buffers + tape_.buffers.size() + (tape_.numbers.empty() ? 0 : 1)),
        memory_(squareBytes() + turnedBytes()),
        turned_(memory_.data() + squareBytes()),
        job_(jobInSquares()),
        worker_(job_),
        starts_(tape_.tileLoops),
        tileSteps_(tape_.tileLoops) {
    int64_t step = 1;
    for (size_t i = tape_.tileLoops; i-- > 0;) {
      tileSteps_[i] = step;
      step *= tape_.loops[i].count;
    }
  }

  // A stripe of one of the squares of all the kernel's batches.
  void run(SquarePlace place, int64_t stripe, int64_t batch) {
    const auto [rows, columns] = std::pair(triangle_.rowLoop, triangle_.columnLoop);
    std::fill(starts_.begin(), starts_.end(), 0);
    int64_t first = 0;
    for (size_t i = tape_.tileLoops; i-- > 0;) {
      if (i == rows || i == columns) continue;
      starts_[i] = batch % tape_.loops[i].count;
      batch /= tape_.loops[i].count;
      first += starts_[i] * tileSteps_[i];
    }
    starts_[rows] = place.row * triangle_.side + stripe * height_;
    if (starts_[rows] >= tape_.loops[rows].extent) return;
    starts_[columns] = place.column * triangle_.side;
    bindSquare();
    compute(first);
    if (job_.cancelled()) return;
    for (const Triangle::Result& result : triangle_.results) store(result, place.row < place.column);
  }

 private:
  TapeJob jobInSquares() {
    char* memory = memory_.data();
    for (size_t i = 0; i < tape_.buffers.size(); i++) {
      const Buffer& buffer = tape_.buffers[i];
      squares_.push_back(memory);
      if (!buffer.isOutput) continue;
      buffers_[i] = {memory, 0, buffer.elementCount};
      memory += alignedBytes(buffer.elementCount * byteLengthOf(buffer.dtype));
    }
    TapeJob job = jobOf(tape_, buffers_.data(), whole_.cancel);
    job.window = whole_.window;
    return job;
  }

  int64_t squareBytes() const {
    int64_t bytes = 0;
    for (const Buffer& buffer : tape_.buffers)
      if (buffer.isOutput) bytes += alignedBytes(buffer.elementCount * byteLengthOf(buffer.dtype));
    return bytes;
  }
  int64_t turnedBytes() const {
    int64_t widest = 1;
    for (const Buffer& buffer : tape_.buffers)
      if (buffer.isOutput) widest = std::max<int64_t>(widest, byteLengthOf(buffer.dtype));
    return alignedBytes(kTurnedColumns * triangle_.side * widest);
  }

  // Stores of the tape go to the square's memory from where it begins.
  void bindSquare() {
    const int64_t before = starts_[triangle_.rowLoop] * triangle_.side + starts_[triangle_.columnLoop];
    for (size_t i = 0; i < tape_.buffers.size(); i++) {
      if (!tape_.buffers[i].isOutput) continue;
      const auto bytes = static_cast<uintptr_t>(before * byteLengthOf(tape_.buffers[i].dtype));
      buffers_[i].data = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(squares_[i]) - bytes);
    }
  }

  Range stepsOf(size_t loop) const {
    const int64_t step = tape_.stepOf(loop);
    const int64_t length = loop == triangle_.rowLoop ? height_ : triangle_.side;
    return {starts_[loop] / step, std::min(tape_.loops[loop].count, (starts_[loop] + length) / step)};
  }

  // In the order of the loops.
  void compute(int64_t first) {
    const auto [outer, inner] = std::minmax(triangle_.rowLoop, triangle_.columnLoop);
    const Range some = stepsOf(outer);
    const Range others = stepsOf(inner);
    for (int64_t x = some.first; x < some.last && !job_.cancelled(); x++) {
      for (int64_t y = others.first; y < others.last; y++)
        worker_->runTile(first + x * tileSteps_[outer] + y * tileSteps_[inner]);
    }
  }

  void store(const Triangle::Result& result, bool isTwice) {
    const int64_t side = triangle_.side;
    const int64_t extent = tape_.loops[triangle_.rowLoop].extent;
    const int64_t size = byteLengthOf(tape_.buffers[result.buffer].dtype);
    const MoveFunctions& moves = tape_.registry->moves(static_cast<int>(size));
    const auto [i0, j0] = std::pair(starts_[triangle_.rowLoop], starts_[triangle_.columnLoop]);
    const int64_t rows = std::min(height_, extent - i0);
    const int64_t columns = std::min(side, extent - j0);
    // Values are the same with the axes exchanged: lines are along the one whose elements are closer
    // together.
    int64_t row = result.loops[triangle_.rowLoop];
    int64_t column = result.loops[triangle_.columnLoop];
    if (std::abs(row) < std::abs(column)) std::swap(row, column);
    int64_t offset = result.offset;
    for (size_t i = 0; i < starts_.size(); i++)
      if (i != triangle_.rowLoop && i != triangle_.columnLoop) offset += result.loops[i] * starts_[i];
    const TapeBuffer& buffer = whole_.buffers[result.buffer];
    const auto at = [&](int64_t i, int64_t j) {
      return static_cast<char*>(buffer.data) + (offset + i * row + j * column) * size;
    };
    const bool streams = whole_.streams(result.buffer);
    const auto line = [&](char* to, const char* from, int64_t count) {
      if (column != 1) return moves.scatter(to, from, count, column);
      const auto bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | (count * size);
      if (streams && bits % 64 == 0)
        tape_.registry->streams().copy(to, from, count * size);
      else
        std::memcpy(to, from, count * size);
    };
    const char* const square = squares_[result.buffer] + result.squareOffset * size;
    for (int64_t i = 0; i < rows; i++) line(at(i0 + i, j0), square + i * side * size, columns);
    if (!isTwice) return;
    for (int64_t j = 0; j < columns; j += kTurnedColumns) {
      const int64_t count = std::min(kTurnedColumns, columns - j);
      moves.gatherTile(turned_, side, square + j * size, count, rows, 1, side);
      for (int64_t k = 0; k < count; k++) line(at(j0 + j + k, i0), turned_ + k * side * size, rows);
    }
  }

  const TapeJob& whole_;
  const int64_t height_;
  const Triangle& triangle_;
  const Tape& tape_;
  std::vector<TapeBuffer> buffers_;
  const Scratch memory_;
  // Of each output, its squares.
  std::vector<char*> squares_;
  char* const turned_;
  const TapeJob job_;
  const WorkerLease worker_;
  // Where the square begins along the axis of each loop over tiles.
  std::vector<int64_t> starts_;
  // Tiles from a step of each loop to the next.
  std::vector<int64_t> tileSteps_;
};

}  // namespace

void runTriangle(const TapeJob& job, ThreadPool& pool) {
  const Tape& tape = job.tape;
  const Triangle& triangle = *tape.triangle;
  const Loop& rows = tape.loops[triangle.rowLoop];
  const int64_t squares = squaresTo((rows.extent + triangle.side - 1) / triangle.side);
  int64_t batches = 1;
  for (size_t i = 0; i < tape.tileLoops; i++)
    if (i != triangle.rowLoop && i != triangle.columnLoop) batches *= tape.loops[i].count;
  int64_t stripes = 1;
  int64_t height = triangle.side;
  const int64_t most = kStripesPerThread * pool.size();
  const auto canHalve = [&] {
    return height % (2 * std::max(kLeastStripeRows, triangle.square->stepOf(triangle.rowLoop))) == 0;
  };
  for (; pool.size() > 1 && squares * batches * stripes < most && canHalve(); height /= 2) stripes *= 2;
  std::vector<std::optional<SquareWorker>> workers(pool.workers());
  const auto run = [&](int64_t task, int w) {
    if (job.cancelled()) return;
    if (!workers[w]) workers[w].emplace(job, height);
    const int64_t square = task / stripes;
    workers[w]->run(squareAt(square % squares), task % stripes, square / squares);
    tape.registry->streams().fence();
  };
  pool.parallelFor(squares * batches * stripes, run, static_cast<int>(workers.size()), Distribution::shares);
}

}  // namespace weft::cpu
