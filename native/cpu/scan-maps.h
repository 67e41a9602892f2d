// Maps before and behind a scan: where a thread reads the elements of a scan and writes its results.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/scan-fold.h"
#include "cpu/scan-tiles.h"

namespace weft::cpu {

// Elements that maps give, and take, at a time: they stay in the first-level cache.
inline constexpr int64_t kScanMapped = 2048;

// Where a thread reads a scan's elements and writes its results: arrays, or maps with a stretch of each.
// Its functions are compiled once for an element, not for each operation.
template <typename Element>
class ScanMaps {
 public:
  explicit ScanMaps(const RoutineJob& job, const std::atomic<bool>* cancel) {
    if (job.prologue) prologue_.emplace(*job.prologue, cancel);
    if (job.epilogue) epilogue_.emplace(*job.epilogue, cancel);
    for (size_t k = 0; job.epilogue && k < job.epilogue->results.size(); k++) {
      const int op = job.epilogue->folds[k];
      const DType dtype = job.epilogue->tape.buffers[job.epilogue->results[k]].dtype;
      if (op >= 0)
        folds_.push_back({k, makeScanFold(dtype, static_cast<ScanOp>(op), job.results[k], kScanMapped)});
    }
    if (!job.prologue) in_ = reinterpret_cast<const Element*>(job.operands[0]);
    out_ = reinterpret_cast<Element*>(job.results[0]);
    if (job.prologue || job.epilogue) stretch_.resize(kScanMapped);
  }
  // Of tiles that are scanned in their order, so many elements at a time.
  ScanMaps(int64_t most, const RoutineJob& job, const std::atomic<bool>* cancel) : ScanMaps(job, cancel) {
    if (!stretch_.empty()) stretch_.resize(most);
  }

  // Rows of `count` of `inner` elements that are read and written at a time.
  int64_t rows(int64_t count, int64_t inner) const {
    if (stretch_.empty()) return std::numeric_limits<int64_t>::max();
    return count == inner ? std::max<int64_t>(1, kScanMapped / inner) : 1;
  }
  // Whether rows of a line each are so short that maps have several at a time.
  bool hasShortRows(const ScanTiles& t) const {
    return !stretch_.empty() && t.inner == 1 && t.tile >= t.length && !t.isCarried &&
           2 * t.length <= kScanMapped;
  }
  // Where element 0 would be of an array that has the elements [first, last).
  [[gnu::noinline]] const Element* read(int64_t first, int64_t last) {
    if (!prologue_) return in_;
    prologue_->run({first, last}, nullptr, stretch_.data());
    return at(first);
  }
  Element* out(int64_t first) { return epilogue_ ? at(first) : out_; }

  // `count` elements of each of some rows: where the first is, and from row to row.
  struct Rows {
    Element* data;
    int64_t pitch;
  };
  // Those that are scanned: of a prologue, all are computed.
  [[gnu::noinline]] Rows readRows(int64_t first, int64_t rows, int64_t inner, int64_t count) {
    // They are not written.
    if (!prologue_) return {const_cast<Element*>(in_) + first, inner};
    eachRow(first, rows, inner, count, [&](int64_t from, int64_t size, int64_t done) {
      prologue_->run({from, from + size}, nullptr, stretch_.data() + done);
    });
    return {stretch_.data(), count};
  }
  // Where results go, rows that follow one another; with an epilogue, they go on from there.
  Rows outRows(int64_t first, int64_t inner, int64_t count) {
    return epilogue_ ? Rows{stretch_.data(), count} : Rows{out_ + first, inner};
  }
  [[gnu::noinline]] void writeTileRows(int64_t first, int64_t done, int64_t rows, int64_t inner,
                                       int64_t count) {
    if (!epilogue_) return;
    eachRow(first + done * inner, rows, inner, count, [&](int64_t from, int64_t size, int64_t at) {
      take({from, from + size}, stretch_.data() + done * count + at);
    });
  }
  [[gnu::noinline]] void write(int64_t first, int64_t last) {
    if (epilogue_) take({first, last}, stretch_.data());
  }
  // Rows of a line each, the first of them the number `row`.
  [[gnu::noinline]] void writeRows(int64_t first, int64_t last, int64_t row, int64_t length) {
    if (!epilogue_) return;
    run({first, last}, stretch_.data());
    for (Fold& fold : folds_) fold.values->takeRows(row, (last - first) / length, length);
  }
  // A tile of so many columns, whose partial results are at a place of all.
  [[gnu::noinline]] void begin(int64_t columns) {
    for (Fold& fold : folds_) fold.values->begin(columns);
  }
  [[gnu::noinline]] void endAt(int64_t at) {
    for (Fold& fold : folds_) fold.values->end(at);
  }
  // Stores past the caches are complete before other threads read them.
  void end() {
    if (epilogue_) epilogue_->fence();
  }

 private:
  void run(Range elements, Element* given) {
    for (Fold& fold : folds_) epilogue_->place(fold.result, elements, fold.values->elements());
    epilogue_->run(elements, given, nullptr);
  }
  void take(Range elements, Element* given) {
    run(elements, given);
    for (Fold& fold : folds_) fold.values->take(elements.last - elements.first);
  }

  // Calls `each` with the elements of rows that lie side by side: first, how many, how many before them.
  template <typename Each>
  static void eachRow(int64_t first, int64_t rows, int64_t inner, int64_t count, const Each& each) {
    if (count == inner) return each(first, rows * count, 0);
    for (int64_t r = 0; r < rows; r++) each(first + r * inner, count, r * count);
  }

  // Elements of a stretch are read before the results at their places are written.
  Element* at(int64_t first) {
    return reinterpret_cast<Element*>(reinterpret_cast<uintptr_t>(stretch_.data()) -
                                      static_cast<uintptr_t>(first) * sizeof(Element));
  }

  struct Fold {
    size_t result;
    std::unique_ptr<ScanFold> values;
  };

  std::optional<ElementMapRun> prologue_, epilogue_;
  std::vector<Fold> folds_;
  const Element* in_ = nullptr;
  Element* out_;
  std::vector<Element> stretch_;
};

}  // namespace weft::cpu
