// Attention, softmax(f(Q Kᵀ)) V, without the matrix of scores: a task has some rows of Q and passes over
// blocks of rows of K and V. Scores of a block become exponentials less the row's largest score so far; what
// was summed before is scaled when that grows (Milakov and Gimelshein, 2018). Blocks begin at the first row
// of K, so that the order of each sum depends on sizes alone.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

#include "cpu/attention-kernels.h"
#include "cpu/element-map.h"
#include "cpu/gemm.h"
#include "cpu/isa.h"
#include "cpu/routines.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"
#include "shared/layout.h"

namespace weft::cpu {

#define WEFT_DECLARE_ATTENTION(isa)           \
  namespace isa {                             \
  const AttentionKernels& attentionKernels(); \
  }
WEFT_DECLARE_ATTENTION(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_ATTENTION(avx2)
WEFT_DECLARE_ATTENTION(avx512)
#endif
#undef WEFT_DECLARE_ATTENTION

namespace {

const AttentionKernels& kernels() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::attentionKernels();
  if (currentIsa() == Isa::avx2) return avx2::attentionKernels();
#endif
  return baseline::attentionKernels();
}

// Rows of K and V of a block, and of Q of a task.
constexpr int64_t kBlock = 512;
constexpr int64_t kTaskRows = 128;
// Arrays of a task's scratch memory, each of which begins at a multiple of the lanes.
constexpr int64_t kParts = 7;

// Where an array's batches and rows begin, in elements, whose columns follow each other.
struct Place {
  int64_t offset, outer, head, row;
};

struct Attention {
  DType dtype;
  int64_t batch, m, n, inner, width, repeats, unitRows, isCausal, offset;
  float scale;
  // Batches of Q that are neighbours, and the places of Q, K, V and the result.
  int64_t heads;
  Place places[4];
  // The first element of a row.
  int64_t at(int array, int64_t batchOfQ, int64_t row) const {
    const Place& place = places[array];
    const int64_t head = batchOfQ % heads / (array == 1 || array == 2 ? repeats : 1);
    return place.offset + batchOfQ / heads * place.outer + head * place.head + row * place.row;
  }
  int64_t unitsOfBatch() const { return (m + unitRows - 1) / unitRows; }
  int64_t tasksOfUnit() const { return (unitRows + kTaskRows - 1) / kTaskRows; }
  int64_t units() const { return batch * unitsOfBatch(); }
  int64_t block() const { return std::min(kBlock, n); }
  // Floats from row to row of scores.
  int64_t pitch() const { return (block() + kAttentionLanes - 1) / kAttentionLanes * kAttentionLanes; }
};

Attention readAttention(const std::vector<int64_t>& numbers) {
  if (numbers.size() != 29) throw std::invalid_argument("29 numbers");
  const uint64_t bits = static_cast<uint64_t>(numbers[11]) << 32 | static_cast<uint64_t>(numbers[10]);
  double scale = 0;
  std::memcpy(&scale, &bits, sizeof scale);
  Attention a{static_cast<DType>(numbers[0]),
              numbers[1],
              numbers[2],
              numbers[3],
              numbers[4],
              numbers[5],
              numbers[6],
              numbers[7],
              numbers[8],
              numbers[9] - numbers[2],
              static_cast<float>(scale),
              numbers[12]};
  for (size_t k = 0; k < 4; k++)
    a.places[k] = {numbers[13 + 4 * k], numbers[14 + 4 * k], numbers[15 + 4 * k], numbers[16 + 4 * k]};
  const bool isFloat = a.dtype == DType::float16 || a.dtype == DType::bfloat16 || a.dtype == DType::float32;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  const auto fits = [&](int64_t x, int64_t y, int64_t z) { return x <= kMost / y && x * y <= kMost / z; };
  if (!isFloat || std::min({a.batch, a.m, a.n, a.inner, a.width, a.repeats, a.unitRows}) < 1 ||
      a.batch % a.repeats != 0 || !fits(a.batch, std::max(a.m, a.n), std::max({a.inner, a.width, a.n})))
    throw std::invalid_argument("batches of rows of Q, K and V");
  if (a.heads < 1 || a.batch % a.heads != 0 || a.heads % a.repeats != 0)
    throw std::invalid_argument("batches of neighbours");
  for (const Place& place : a.places)
    if (std::min({place.offset, place.outer, place.head, place.row}) < 0 || place.offset > kMost ||
        !fits(place.outer, a.batch, 1) || !fits(place.head, a.heads, 1) ||
        !fits(place.row, std::max(a.m, a.n), 1))
      throw std::invalid_argument("places of Q, K, V and the result");
  return a;
}

int64_t bytesOf(DType dtype) { return kElementBytes[static_cast<int>(dtype)]; }

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  const Attention a = readAttention(numbers);
  // Up to the end of the last row.
  const auto bytes = [&](int array, int64_t rows, int64_t columns) {
    return static_cast<size_t>((a.at(array, a.batch - 1, rows - 1) + columns) * bytesOf(a.dtype));
  };
  RoutineNeed need{{bytes(0, a.m, a.inner), bytes(1, a.n, a.inner), bytes(2, a.n, a.width)},
                   {bytes(3, a.m, a.width)},
                   {},
                   a.units()};
  need.values = static_cast<size_t>(a.batch * a.m * a.n) * sizeof(float);
  return need;
}

// Rows of Q on one thread.
class Rows {
 public:
  Rows(const Attention& a, const RoutineJob& job, ThreadPool& pool, const std::atomic<bool>* cancel)
      : a_(a),
        job_(job),
        pool_(pool),
        cancel_(cancel),
        kernels_(kernels()),
        scratch_(floats() * sizeof(float)) {
    if (job.prologue != nullptr) map_.emplace(*job.prologue, cancel);
  }

  void run(int64_t batch, int64_t first, int64_t rows) {
    batch_ = batch;
    first_ = first;
    rows_ = rows;
    float* at = reinterpret_cast<float*>(scratch_.data());
    const auto take = [&](int64_t count) { return std::exchange(at, at + padded(count)); };
    scores_ = take(kTaskRows * a_.pitch());
    sums_ = take(kTaskRows * a_.width);
    mapped_ = take(a_.pitch());
    wide_[0] = take(kTaskRows * a_.inner);
    wide_[1] = take(a_.block() * a_.inner);
    wide_[2] = take(a_.block() * a_.width);
    state_ = reinterpret_cast<AttentionRow*>(take(2 * kTaskRows));
    std::fill_n(sums_, rows_ * a_.width, 0.0f);
    std::fill_n(state_, rows_, AttentionRow{-std::numeric_limits<float>::infinity(), 0});
    const Rows2D q = asFloats(0, first_, rows_, a_.inner);
    const int64_t columns = columnsOf(first_ + rows_ - 1);
    for (int64_t column = 0; column < columns; column += kBlock) {
      if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) return;
      addBlock(q, column, std::min(kBlock, a_.n - column));
    }
    finish();
  }

 private:
  static int64_t padded(int64_t count) { return (count + 15) / 16 * 16; }
  size_t floats() const {
    const int64_t block = a_.block() * (a_.inner + a_.width);
    const int64_t rows = kTaskRows * (a_.pitch() + a_.width + a_.inner + 2);
    return static_cast<size_t>(rows + block + a_.pitch() + kParts * kAttentionLanes);
  }

  // Columns that a row has.
  int64_t columnsOf(int64_t row) const {
    return a_.isCausal == 0 ? a_.n : std::clamp<int64_t>(row + a_.offset + 1, 0, a_.n);
  }

  // Rows of an operand as floats, and from one to the next.
  struct Rows2D {
    const float* data;
    int64_t pitch;
  };
  Rows2D asFloats(int operand, int64_t first, int64_t rows, int64_t width) {
    const std::byte* from = job_.operands[operand];
    const int64_t at = a_.at(operand, batch_, first), pitch = a_.places[operand].row;
    if (a_.dtype == DType::float32) return {reinterpret_cast<const float*>(from) + at, pitch};
    const auto widen = a_.dtype == DType::float16 ? kernels_.fromHalves : kernels_.fromBrains;
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(from) + at;
    // Rows that follow each other are widened as one.
    const int64_t each = pitch == width ? rows : 1;
    for (int64_t row = 0; row < rows; row += each)
      widen(each * width, halves + row * pitch, wide_[operand] + row * width);
    return {wide_[operand], width};
  }

  static Matrix matrix(const float* data, int64_t rowStride, int64_t columnStride) {
    return {const_cast<float*>(data), 0, rowStride, columnStride};
  }

  void addBlock(const Rows2D& q, int64_t column, int64_t count) {
    const Rows2D k = asFloats(1, column, count, a_.inner);
    const Rows2D v = asFloats(2, column, count, a_.width);
    Matmul job{DType::float32,
               rows_,
               count,
               a_.inner,
               1,
               matrix(q.data, q.pitch, 1),
               matrix(k.data, 1, k.pitch),
               matrix(scores_, a_.pitch(), 1)};
    job.ownKernels = true;
    matmul(job, pool_, cancel_);
    for (int64_t row = 0; row < rows_; row++) {
      float* scores = scores_ + row * a_.pitch();
      const int64_t there = std::clamp<int64_t>(columnsOf(first_ + row) - column, 0, count);
      if (map_ && there > 0) {
        const int64_t place = (batch_ * a_.m + first_ + row) * a_.n + column;
        map_->run({place, place + there}, scores, mapped_);
        std::copy_n(mapped_, there, scores);
      }
      std::fill(scores + there, scores + padded(count), -std::numeric_limits<float>::infinity());
      const float factor = kernels_.exponentials(padded(count), a_.scale, scores, state_[row]);
      if (factor != 1) kernels_.multiply(a_.width, factor, sums_ + row * a_.width);
    }
    const Matmul product{DType::float32,
                         rows_,
                         a_.width,
                         count,
                         1,
                         matrix(scores_, a_.pitch(), 1),
                         matrix(v.data, v.pitch, 1),
                         matrix(sums_, a_.width, 1)};
    addProduct(product, pool_, cancel_, {});
  }

  void finish() {
    for (int64_t row = 0; row < rows_; row++) {
      const float* sums = sums_ + row * a_.width;
      const float total = state_[row].total;
      std::byte* to = job_.results[0] + a_.at(3, batch_, first_ + row) * bytesOf(a_.dtype);
      if (a_.dtype == DType::float32)
        kernels_.toFloats(a_.width, total, sums, reinterpret_cast<float*>(to));
      else if (a_.dtype == DType::float16)
        kernels_.toHalves(a_.width, total, sums, reinterpret_cast<uint16_t*>(to));
      else
        kernels_.toBrains(a_.width, total, sums, reinterpret_cast<uint16_t*>(to));
    }
  }

  const Attention& a_;
  const RoutineJob& job_;
  ThreadPool& pool_;
  const std::atomic<bool>* cancel_;
  const AttentionKernels& kernels_;
  Scratch scratch_;
  std::optional<ElementMapRun> map_;
  int64_t batch_ = 0, first_ = 0, rows_ = 0;
  float *scores_ = nullptr, *sums_ = nullptr, *mapped_ = nullptr;
  float* wide_[3] = {};
  AttentionRow* state_ = nullptr;
};

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const Attention a = readAttention(job.numbers);
  const int64_t tasks = a.tasksOfUnit();
  pool.parallelFor((units.last - units.first) * tasks, [&](int64_t task, int) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
    const int64_t unit = units.first + task / tasks;
    const int64_t first = unit % a.unitsOfBatch() * a.unitRows + task % tasks * kTaskRows;
    const int64_t end = std::min(a.m, (unit % a.unitsOfBatch() + 1) * a.unitRows);
    if (first < end)
      Rows(a, job, pool, cancel).run(unit / a.unitsOfBatch(), first, std::min(kTaskRows, end - first));
  });
}

}  // namespace

const Routine kAttention{needOf, run};

}  // namespace weft::cpu
