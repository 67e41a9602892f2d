// Sums of floats by bin, the same as those of src/graph/fixed-sums.ts and exact-sums.ts.
//
// In one pass where all values are whole multiples of 2^(e - 2 · bits), with e of the largest one: a value is
// a multiple of 2^(e - bits) and a rest, which is summed apart. Such sums are exact, and so those that the
// others are. Else, and where there are infinities or NaN, the passes of those are run. Threads take e from
// the first of their values, and scale their sums where a larger value follows: values before have to be
// multiples in its units, too, as their sum may be one where each of them is rounded.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cpu/bin-adder.h"
#include "cpu/bin-finish.h"
#include "cpu/bin-kernels.h"
#include "cpu/bin-keys.h"
#include "cpu/bin-rows.h"
#include "cpu/routines.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace bins {
namespace {

constexpr int64_t kStretch = 1 << 14;
constexpr size_t kLine = 64;
// A larger value is looked for so many times as far ahead as the time before.
constexpr int64_t kFarther = 16;
// A place above all bits, of values that are 0.
constexpr int kNoBit = 1 << 20;

size_t aligned(size_t byteLength) { return (byteLength + kLine - 1) / kLine * kLine; }

struct SumsJob {
  // Of the values as they are: the operation is that of the pass that is run.
  Job job;
  SumForm form;

  int64_t slots() const { return job.bins * job.width; }
  // Copies of the bins that threads have: rows for each are worth it from four a bin on.
  int64_t copies(const ThreadPool& pool) const {
    const int64_t least = std::max<int64_t>(kStretch, 4 * slots());
    return std::clamp<int64_t>(job.rows * job.width / least, 1, pool.workers());
  }
  size_t copyBytes() const { return aligned(static_cast<size_t>(slots()) * sizeof(int64_t)); }
};

SumsJob readSums(const std::vector<int64_t>& n) {
  if (n.size() != 10) throw std::invalid_argument("ten numbers");
  const auto isOne = [](int64_t number) { return number == 0 || number == 1; };
  if (n[7] < 0 || n[7] > 2 || !isOne(n[6]) || n[9] < 0 || n[9] > 2)
    throw std::invalid_argument("the form of sums");
  const bool isExact = n[7] == 0;
  const int64_t parts = isExact && n[8] > 0 ? (254 + n[8] - 1) / n[8] + 1 : n[7];
  const Op op = isExact ? Op::exact : Op::fixed;
  Job job = readJob({static_cast<int64_t>(op), n[0], n[1] + 1, static_cast<int64_t>(DType::int64), n[2],
                     std::max<int64_t>(1, n[2]), n[3], n[4], n[5] + 1, 0, std::max<int64_t>(1, parts), n[8]});
  if (job.values != DType::float32 && (job.values != DType::float64 || isExact))
    throw std::invalid_argument("floats");
  if (job.rows < 1 || job.bits < 1) throw std::invalid_argument("rows, and bits of sums");
  return {job, {isExact, n[6] == 1, static_cast<Zeros>(n[9]), job.parts, job.bits}};
}

// The passes of the other ways.
Job passOf(const SumsJob& sums, Op op) {
  Job job = sums.job;
  job.op = op;
  if (op == Op::scale) {
    job.parts = 1;
    job.result = DType::int32;
  }
  return job;
}

size_t scaleBytes(const SumsJob& sums) {
  return aligned(static_cast<size_t>(sums.slots()) * sizeof(int32_t));
}

size_t numberBytes(const SumsJob& sums) {
  return aligned(static_cast<size_t>(sums.slots() * sums.job.parts) * sizeof(int64_t));
}

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool& pool) {
  const SumsJob sums = readSums(numbers);
  const auto rows = static_cast<size_t>(sums.job.rows);
  const auto slots = static_cast<size_t>(sums.slots());
  const size_t copy = 2 * sums.copyBytes();
  const size_t results = numberBytes(sums) + (sums.form.isExact ? 0 : scaleBytes(sums));
  const size_t copies = std::max(workspaceOfBins(passOf(sums, sums.job.op), pool).most,
                                 sums.form.isExact ? 0 : workspaceOfBins(passOf(sums, Op::scale), pool).most);
  const size_t most = std::max(copy * static_cast<size_t>(sums.copies(pool)), results + copies);
  return {{rows * byteLengthOf(sums.job.keys),
           rows * static_cast<size_t>(sums.job.width) * byteLengthOf(sums.job.values)},
          {slots * (sums.form.isDouble ? sizeof(double) : sizeof(float))},
          {most, std::max(copy, results)},
          1,
          {},
          0,
          0,
          1};
}

class Summing {
 public:
  Summing(const SumsJob& sums, const RoutineJob& arrays, ThreadPool& pool, const std::atomic<bool>* cancel)
      : sums_(sums), job_(sums.job), arrays_(arrays), pool_(pool), cancel_(cancel) {
    for (int64_t rows = 1; rows < job_.rows; rows *= 2) bits_--;
  }

  void run() {
    const bool isDone = runAtOnce();
    if (isStopped()) return;
    const bool isError = job_.mode == Mode::raise || job_.mode == Mode::raiseFromEnd;
    if (!isDone && isError) findMissed();
    // src/exec/run/checks-in-run.ts says which.
    if (hasMissed_ && isError) throw std::out_of_range("[bins] expected keys that are bins");
    if (!isDone) runByPasses();
  }

 private:
  struct Copy {
    int64_t* whole;
    int64_t* rest;
    bool hasRest = false;
    // Values so far are below 2^exponent; none: there are none.
    std::optional<int> exponent = {};
    Units units{};
    // Values so far are multiples of 2^lowest parts of a unit.
    int lowest = kNoBit;
    // Elements that the next exponent is found by.
    int64_t farther = kStretch;
  };

  bool isStopped() const { return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed); }
  bool isFloat() const { return job_.values == DType::float32; }
  template <typename T>
  static const T* valuesAt(const RoutineJob& rows, int64_t element) {
    return reinterpret_cast<const T*>(rows.operands[1]) + element;
  }
  BinAdder adder() const {
    const bool hasKeys = arrays_.prologue == nullptr;
    return {job_, hasKeys ? arrays_.operands[0] : nullptr,
            arrays_.weights == nullptr ? arrays_.operands[hasKeys ? 1 : 0] : nullptr};
  }

  // False where the sums have to be made by other passes: their results, if any, are then undefined.
  bool runAtOnce() {
    if (bits_ < 1) return false;
    const auto room = static_cast<int64_t>(arrays_.workspace.byteLength / (2 * sums_.copyBytes()));
    copies_.resize(static_cast<size_t>(std::clamp<int64_t>(sums_.copies(pool_), 1, room)));
    auto* at = arrays_.workspace.data;
    for (Copy& copy : copies_) {
      copy.whole = reinterpret_cast<int64_t*>(at);
      copy.rest = reinterpret_cast<int64_t*>(at + sums_.copyBytes());
      at += 2 * sums_.copyBytes();
    }
    const auto count = static_cast<int64_t>(copies_.size());
    pool_.parallelFor(count, [&](int64_t c, int) {
      gather(copies_[static_cast<size_t>(c)], job_.rows * c / count, job_.rows * (c + 1) / count);
    });
    if (isStopped()) return true;
    if (!hasFailed_) scaleAlike();
    if (hasFailed_) return false;
    isOfWholes_ = !sums_.form.isExact && sums_.form.isDouble && !hasSigns() &&
                  std::none_of(copies_.begin(), copies_.end(), [](const Copy& copy) { return copy.hasRest; });
    std::atomic<bool> hasZero{false};
    eachStretch([&](int64_t first, int64_t last) {
      if (finish(first, last)) hasZero.store(true, std::memory_order_relaxed);
    });
    if (hasZero && hasSigns() && !isStopped()) signZeros();
    return true;
  }

  template <typename Work>
  void eachStretch(const Work& work) {
    const int64_t slots = sums_.slots();
    pool_.parallelFor((slots + kStretch - 1) / kStretch, [&](int64_t k, int) {
      if (!isStopped()) work(k * kStretch, std::min(slots, (k + 1) * kStretch));
    });
  }

  // The exponent of a power of two that elements are below; none for infinities and NaN. Its factors are
  // ordinary numbers.
  std::optional<int> exponentOf(const RoutineJob& rows, int64_t element, int64_t count) const {
    const uint64_t most = isFloat() ? binKernels().mostOfFloats(valuesAt<float>(rows, element), count)
                                    : binKernels().mostOfDoubles(valuesAt<double>(rows, element), count);
    const auto field = static_cast<int>(isFloat() ? most >> 23 : most >> 52);
    if (field == (isFloat() ? 255 : 2047)) return {};
    constexpr int kMost = 1000, kLeast = -1022;
    return std::max({std::max(field, 1) - (isFloat() ? 126 : 1022), bits_ - kMost, 2 * bits_ + kLeast});
  }

  // Has a copy take elements from one on, some of which may be larger than those before.
  bool grow(Copy& copy, const RoutineJob& rows, int64_t element, int64_t end) const {
    const std::optional<int> exponent = exponentOf(rows, element, std::min(copy.farther, end - element));
    copy.farther *= kFarther;
    return exponent && scale(copy, *exponent);
  }

  static int lowestOf(int64_t bits) {
    return bits == 0 ? kNoBit : std::countr_zero(static_cast<uint64_t>(bits));
  }

  // Writes the sums of a copy as multiples of another unit, which is no smaller; false: some values are none.
  bool scale(Copy& copy, int exponent) const {
    const int by = exponent - copy.exponent.value_or(exponent);
    copy.exponent = exponent;
    copy.units = {bits_, exponent - bits_, std::ldexp(1.0, bits_ - exponent),
                  std::ldexp(1.0, exponent - bits_)};
    if (by == 0) return true;
    if (by > copy.lowest) return false;
    copy.lowest -= by;
    if (!copy.hasRest) std::fill_n(copy.rest, sums_.slots(), 0);
    copy.hasRest = true;
    // Sums have fewer than 126 bits.
    const int shift = std::min(by, 126);
    const Integer128 below = (Integer128{1} << bits_) - 1;
    for (int64_t s = 0; s < sums_.slots(); s++) {
      const Integer128 sum = Integer128{copy.whole[s]} * (Integer128{1} << bits_) + copy.rest[s];
      copy.whole[s] = static_cast<int64_t>(sum >> shift >> bits_);
      copy.rest[s] = static_cast<int64_t>(sum >> shift & below);
    }
    return true;
  }

  // Gives all copies the units of the one with the largest values.
  void scaleAlike() {
    int exponent = *copies_[0].exponent;
    for (const Copy& copy : copies_) exponent = std::max(exponent, *copy.exponent);
    pool_.parallelFor(static_cast<int64_t>(copies_.size()), [&](int64_t c, int) {
      if (!scale(copies_[static_cast<size_t>(c)], exponent)) fail();
    });
    units_ = copies_[0].units;
  }

  Wholes split(const Units& units, const RoutineJob& rows, int64_t element, int64_t count,
               int64_t* whole) const {
    const BinKernels& loops = binKernels();
    return isFloat()
               ? loops.splitFloats(valuesAt<float>(rows, element), count, units.scale, units.unit, whole)
               : loops.splitDoubles(valuesAt<double>(rows, element), count, units.scale, units.unit, whole);
  }

  Wholes restsOf(const Units& units, const RoutineJob& rows, int64_t element, int64_t count,
                 const int64_t* whole, int64_t* rest) const {
    const BinKernels& loops = binKernels();
    const Split by{units.scale, units.unit, std::ldexp(1.0, units.bits)};
    return isFloat() ? loops.restsOfFloats(valuesAt<float>(rows, element), count, by, whole, rest)
                     : loops.restsOfDoubles(valuesAt<double>(rows, element), count, by, whole, rest);
  }

  double valueAt(const RoutineJob& rows, int64_t element) const {
    return isFloat() ? static_cast<double>(*valuesAt<float>(rows, element))
                     : *valuesAt<double>(rows, element);
  }

  void fail() { hasFailed_.store(true, std::memory_order_relaxed); }

  // Notes whether some rows have no bin.
  void noteMissed(bool areFound) {
    if (!areFound) hasMissed_.store(true, std::memory_order_relaxed);
  }
  void findMissed() {
    pool_.parallelFor((job_.rows + kBlock - 1) / kBlock, [&](int64_t block, int) {
      if (isStopped() || hasMissed_) return;
      const int64_t from = block * kBlock, count = std::min(kBlock, job_.rows - from);
      RowsRead read(job_, arrays_, cancel_);
      read.until(from + count);
      noteMissed(adder().find(read.read(from, count), from, count));
    });
  }

  // Adds rows [first, last) to a copy.
  void gather(Copy& copy, int64_t first, int64_t last) {
    std::fill_n(copy.whole, sums_.slots(), 0);
    const int64_t width = job_.width;
    // Rows of which the elements fill a block.
    const int64_t some = std::clamp<int64_t>(kBlock / width, 1, kBlock);
    int64_t whole[kBlock], rest[kBlock];
    BinAdder adder = this->adder();
    RowsRead read(job_, arrays_, cancel_);
    read.until(last);
    for (int64_t from = first; from < last && !isStopped() && !hasFailed_; from += some) {
      const int64_t count = std::min(some, last - from);
      const RoutineJob& rows = read.read(from, count);
      noteMissed(adder.find(rows, from, count));
      for (int64_t j = 0; j < width; j += kBlock) {
        const int64_t piece = std::min(kBlock, width - j);
        const int64_t element = from * width + j;
        adder.askForFirst(copy.whole);
        const std::optional<int> exponent = exponentOf(rows, element, count * piece);
        if (!exponent || (exponent > copy.exponent && !grow(copy, rows, element, read.end() * width)))
          return fail();
        const Wholes wholes = split(copy.units, rows, element, count * piece, whole);
        copy.lowest = std::min(copy.lowest, lowestOf(wholes.bits) + bits_);
        adder.add(copy.whole, whole, j, piece);
        if (wholes.areAll) continue;
        const Wholes rests = restsOf(copy.units, rows, element, count * piece, whole, rest);
        if (!rests.areAll) return fail();
        copy.lowest = std::min(copy.lowest, lowestOf(rests.bits));
        if (!copy.hasRest) std::fill_n(copy.rest, sums_.slots(), 0);
        copy.hasRest = true;
        adder.add(copy.rest, rest, j, piece);
      }
    }
  }

  bool hasSigns() const { return sums_.form.zeros != Zeros::positive; }

  // The sums of slots [first, last), of which the first copy then says whether they are 0 where zeros have
  // signs; gives whether any is.
  bool finish(int64_t first, int64_t last) {
    if (isOfWholes_) return finishWholes(first, last);
    bool hasZero = false;
    for (int64_t s = first; s < last; s++) {
      int64_t whole = 0, rest = 0;
      for (const Copy& copy : copies_) {
        whole += copy.whole[s];
        if (copy.hasRest) rest += copy.rest[s];
      }
      const double sum = sumOf(sums_.form, units_, whole, rest);
      hasZero = hasZero || sum == 0;
      if (hasSigns()) copies_[0].whole[s] = sum == 0 ? 0 : 1;
      store(s, sum);
    }
    return hasZero;
  }

  // The same for float64 sums whose copies have no rests, and whose zeros are positive.
  bool finishWholes(int64_t first, int64_t last) {
    int64_t* const sums = copies_[0].whole;
    for (size_t c = 1; c < copies_.size(); c++)
      for (int64_t s = first; s < last; s++) sums[s] += copies_[c].whole[s];
    binKernels().multiplesOf(sums + first, last - first, units_.unit,
                             reinterpret_cast<double*>(arrays_.results[0]) + first);
    return false;
  }

  void store(int64_t slot, double sum) const {
    // -0 + 0 is 0.
    if (!hasSigns()) sum += 0.0;
    if (sums_.form.isDouble)
      reinterpret_cast<double*>(arrays_.results[0])[slot] = sum;
    else
      reinterpret_cast<float*>(arrays_.results[0])[slot] = static_cast<float>(sum);
  }

  // Gives sums that are 0 their signs, by what their bins have: 0, other numbers, -0.
  void signZeros() {
    enum : uint8_t { plus = 1, other = 2, minus = 4 };
    const int64_t* const isOther = copies_[0].whole;
    auto* const seen = reinterpret_cast<uint8_t*>(copies_[0].rest);
    std::fill_n(seen, sums_.slots(), uint8_t{0});
    pool_.parallelFor((job_.rows + kBlock - 1) / kBlock, [&](int64_t block, int) {
      if (isStopped()) return;
      int64_t room[kBlock];
      const int64_t from = block * kBlock, count = std::min(kBlock, job_.rows - from);
      RowsRead read(job_, arrays_, cancel_);
      read.until(from + count);
      const RoutineJob& rows = read.read(from, count);
      const int64_t* const found = findBins(job_, rows, from, count, room).bins;
      for (int64_t i = 0; i < count; i++) {
        if (found[i] < 0) continue;
        for (int64_t j = 0; j < job_.width; j++) {
          const int64_t slot = found[i] * job_.width + j;
          if (isOther[slot] != 0) continue;
          const double value = valueAt(rows, (from + i) * job_.width + j);
          const uint8_t flag = value != 0 ? other : std::signbit(value) ? minus : plus;
          std::atomic_ref<uint8_t>(seen[slot]).fetch_or(flag, std::memory_order_relaxed);
        }
      }
    });
    const bool isExact = sums_.form.isExact;
    eachStretch([&](int64_t first, int64_t last) {
      for (int64_t s = first; s < last; s++) {
        if (isOther[s] != 0) continue;
        const bool isPlus = (seen[s] & (isExact ? plus : plus | other)) != 0;
        const bool isNone = isExact && (seen[s] & minus) == 0;
        store(s, isPlus || (isNone && sums_.form.zeros == Zeros::plus) ? 0.0 : -0.0);
      }
    });
  }

  // The other ways: their numbers, then the rest of the workspace for their copies.
  void runByPasses() {
    std::byte* const numbers = arrays_.workspace.data;
    const size_t scales = sums_.form.isExact ? 0 : scaleBytes(sums_);
    const size_t used = scales + numberBytes(sums_);
    const Workspace rest{numbers + used, arrays_.workspace.byteLength - used};
    const auto pass = [&](Op op, std::byte* result, const std::vector<std::byte*>& operands) {
      const std::vector<std::byte*> results{result};
      const RoutineJob arrays{arrays_.numbers,  operands, results, rest,
                              arrays_.prologue, nullptr,  nullptr, arrays_.weights};
      gatherBins(passOf(sums_, op), arrays, {0, 1}, pool_, cancel_);
    };
    const std::vector<std::byte*>& given = arrays_.operands;
    std::vector<std::byte*> scaled = given;
    scaled.push_back(numbers);
    if (!sums_.form.isExact) pass(Op::scale, numbers, given);
    if (isStopped()) return;
    if (sums_.form.isExact)
      pass(Op::exact, numbers, given);
    else
      pass(Op::fixed, numbers + scales, scaled);
    if (isStopped()) return;
    const auto* const scale = reinterpret_cast<const int32_t*>(numbers);
    const auto* const sums = reinterpret_cast<const uint64_t*>(numbers + scales);
    const int64_t slots = sums_.slots();
    eachStretch([&](int64_t first, int64_t last) {
      for (int64_t s = first; s < last; s++) {
        if (sums_.form.isExact) {
          store(s, exactSum(sums_.form, sums + s, slots));
        } else {
          store(s, fixedSum(sums_.form, scale[s], static_cast<int64_t>(sums[s]),
                            static_cast<int64_t>(sums[slots + s])));
        }
      }
    });
  }

  const SumsJob& sums_;
  const Job& job_;
  const RoutineJob& arrays_;
  ThreadPool& pool_;
  const std::atomic<bool>* const cancel_;
  // Of a value's two numbers each.
  int bits_ = 62;
  Units units_{};
  std::vector<Copy> copies_;
  bool isOfWholes_ = false;
  std::atomic<bool> hasFailed_{false}, hasMissed_{false};
};

void runSums(const RoutineJob& arrays, Range, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const SumsJob sums = readSums(arrays.numbers);
  Summing(sums, arrays, pool, cancel).run();
}

}  // namespace
}  // namespace bins

const Routine kBinSums{bins::needOf, bins::runSums, true, false};

}  // namespace weft::cpu
