// Numbers of rows added to the sums of their bins, block by block.
#pragma once
#include <cstdint>

#include "cpu/bin-keys.h"

namespace weft::cpu::bins {

class BinAdder {
 public:
  // `keys` and `values`: null where maps give them.
  BinAdder(const Job& job, const std::byte* keys, const std::byte* values);

  // Finds the bins of rows [first, first + count), no more than kBlock; false: some rows have none.
  bool find(const RoutineJob& arrays, int64_t first, int64_t count);
  // Asks for the sums of the first rows that were found, unless the block before did.
  void askForFirst(const int64_t* sums) const;
  // Adds numbers of those rows, `piece` of each, to columns [column, column + piece) of the sums.
  void add(int64_t* sums, const int64_t* numbers, int64_t column, int64_t piece) const;

 private:
  const int32_t* narrowBins(const RoutineJob& arrays) const;
  template <typename Bin>
  void addPlain(int64_t* sums, const Bin* bins, const int64_t* numbers) const;

  const Job& job_;
  const RowsAhead ahead_;
  // Whether keys are in memory, also those behind a block.
  const bool areThere_;
  // Whether there are so many sums that memory has to be asked for them.
  const bool isMany_;
  int64_t first_ = 0, count_ = 0;
  // Bins of the rows: one of the two, int32 keys that are bins themselves where those are narrow.
  const int32_t* narrow_ = nullptr;
  Found found_{};
  // Whether each row has one bin and one number.
  bool isPlain_ = false;
  // Whether sums of the block's first rows were asked for in the one before, and those of the first rows
  // behind it can be in this one.
  bool isAsked_ = false, asksBehind_ = false;
  int64_t room_[kBlock];
};

}  // namespace weft::cpu::bins
