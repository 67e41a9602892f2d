// Maps of single elements: a tape that a routine runs on stretches of elements where it reads its operand and
// writes its result, so that neither is in memory. Its domain in C order is that of the elements, its lanes
// are on the last axis (`isElementTape` of src/codegen/cpu/element-tape.ts).
#pragma once
#include <vector>

#include "cpu/cpu.h"
#include "cpu/tape-worker.h"

namespace weft::cpu {

struct ElementMap {
  const Tape& tape;
  // The memory behind its buffers but `given` and, of a prologue, the result.
  std::vector<TapeBuffer> buffers;
  // The buffer whose elements the routine has, or -1; those that it writes.
  int given;
  std::vector<int> results;
  // Of each result the operation (ScanOp of scan-numbers.h) by which the routine combines its elements, which
  // are in no memory, or -1.
  std::vector<int> folds;
};

// One thread's.
class ElementMapRun {
 public:
  ElementMapRun(const ElementMap& map, const std::atomic<bool>* cancel);

  // Elements of a range, which are not empty: `given` holds those that the routine has; `result` takes those
  // of the map, null: they go where its results lie.
  void run(Range elements, void* given, void* result);
  // Where a range of elements of a result goes from now on.
  void place(size_t result, Range elements, void* memory);
  void fence() const;

 private:
  const ElementMap& map_;
  std::vector<TapeBuffer> buffers_;
  TapeJob job_;
  const WorkerLease worker_;
};

// Throws std::invalid_argument for a tape that cannot be run so: an element map has so many elements.
void checkElementMap(const Tape& tape, int64_t elements);

}  // namespace weft::cpu
