// A small tape that one thread runs again and again, with buffers of the same lengths.
#pragma once
#include <memory>
#include <optional>

#include "cpu/tape-job.h"

namespace weft::cpu {

class RepeatedTape {
 public:
  // Whether runs of a tape differ in where its buffers lie alone.
  static bool takes(const Tape& tape);

  explicit RepeatedTape(const Tape& tape);
  ~RepeatedTape();
  // The list of buffers, which is at the same place in each run, as `runTape` takes it. Outputs lie in the
  // memory of inputs where they did in the first run.
  void run(const TapeBuffer* buffers);

 private:
  const Tape& tape_;
  const std::unique_ptr<TapeWorker> worker_;
  std::optional<TapeJob> job_;
};

}  // namespace weft::cpu
