// Kernels of users' own on the CPU: programs whose instructions run for all threads of a block before the
// next one, so that a barrier needs no waiting. Lanes that a condition, or a loop, leaves out are masked.
//
// `user-kernel-parse.cpp` reads what `codegen/cpu/kernel-program.ts` writes, `user-kernel-block.cpp` runs a
// block, `user-kernel-warp.cpp` what the lanes of a warp do together.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/lanes.h"
#include "cpu/routines.h"

namespace weft::cpu {

// Orders as in kernel-program.ts.
enum class KernelCode {
  map,
  cast,
  constant,
  number,
  copy,
  read,
  write,
  atomic,
  bound,
  sync,
  warp,
  branch,
  loop,
  scope,
  leave
};
enum class KernelNumber { threadIdx, blockIdx, blockDim, gridDim, size, scalar };
enum class AtomicOp { add, min, max, bitAnd, bitOr, bitXor, exchange, compare };
enum class WarpOp {
  shfl,
  shflUp,
  shflDown,
  shflXor,
  ballot,
  any,
  all,
  matchAny,
  matchAll,
  reduceAdd,
  reduceMin,
  reduceMax,
  reduceAnd,
  reduceOr,
  reduceXor,
  activemask,
  sync
};
enum class MemoryKind { input, output, shared };

constexpr int64_t kWarpLanes = 32;

using Bits = std::array<uint32_t, 4>;
using Dim3 = std::array<int64_t, 3>;

struct KernelInstruction;
using KernelList = std::vector<KernelInstruction>;

// Fields that an instruction has no use for are -1.
struct KernelInstruction {
  KernelCode code{};
  int to = -1, from = -1, array = -1, index = -1, compare = -1;
  LaneFunction function = nullptr;
  std::vector<int> args;
  Bits bits{};
  KernelNumber number{};
  int axis = 0;
  AtomicOp atomic{};
  WarpOp warp{};
  // Of a warp function: registers of its mask and its lane, and lanes of a part of the warp.
  int mask = -1, lane = -1, width = 32;
  // Scopes: of a scope or leave; of a loop, of its body and of all of it.
  int scope = 0, end = 0;
  // Of a branch: both sides; of a loop: test, body, update; of a scope: its body.
  KernelList first, second, third;
  // In the user's function.
  int line = 0, column = 0;
};

struct KernelMemory {
  MemoryKind kind{};
  // Its place among inputs or outputs; of shared memory, its elements.
  int64_t at = 0;
  DType dtype{};
};

struct KernelArray {
  DType dtype{};
  std::vector<int64_t> shape;
  int64_t size() const;
  int64_t byteLength() const;
};

enum class Initial { none, input, value };

struct KernelOutput : KernelArray {
  // Elements that a block along the cut writes; 0: it has no parts.
  int64_t part = 0;
  Initial initial{};
  int64_t input = 0;
  Bits value{};
};

struct UserKernel {
  Dim3 grid{}, block{};
  // The axis of the grid whose blocks are units; -1: one unit.
  int cutAxis = -1;
  bool isChecked = false;
  std::vector<KernelArray> inputs;
  std::vector<KernelOutput> outputs;
  std::vector<Bits> scalars;

  std::vector<DType> registers;
  std::vector<KernelMemory> arrays;
  int scopes = 0;
  KernelList body;

  int64_t threads() const { return block[0] * block[1] * block[2]; }
  int64_t units() const { return cutAxis < 0 ? 1 : grid[static_cast<size_t>(cutAxis)]; }
  // Sizes of an array of the program.
  const std::vector<int64_t>* shapeOf(int array) const;
  int64_t sizeOf(int array) const;
};

// Throws std::invalid_argument.
UserKernel readUserKernel(const std::vector<int64_t>& numbers);

class KernelRaces;

// Runs blocks, one after the other.
class KernelBlock {
 public:
  // `races`: where accesses are looked at, or null.
  KernelBlock(const UserKernel& kernel, const RoutineJob& job, const std::atomic<bool>* cancel,
              KernelRaces* races);
  ~KernelBlock();
  void run(const Dim3& block);

 private:
  using Mask = std::vector<uint8_t>;

  void list(const KernelList& instructions, Mask& mask);
  void step(const KernelInstruction& it, Mask& mask);
  void loop(const KernelInstruction& it, Mask& mask);
  void branch(const KernelInstruction& it, Mask& mask);
  void number(const KernelInstruction& it);
  void copy(const KernelInstruction& it, const Mask& mask);
  void access(const KernelInstruction& it, const Mask& mask);
  void checkBound(const KernelInstruction& it, const Mask& mask);
  void sync(const KernelInstruction& it, const Mask& mask);
  void warps(const KernelInstruction& it, const Mask& mask);
  void warp(const KernelInstruction& it, const Mask& mask, int64_t first);
  void exchange(const KernelInstruction& it, uint32_t active, int64_t first);
  int64_t indexAt(int reg, int64_t lane) const;
  [[noreturn]] void fail(const KernelInstruction& it, int64_t lane, const std::string& what) const;

  char* data(int reg) const { return registers_[static_cast<size_t>(reg)].data; }
  int bytesOf(int reg) const { return byteLengthOf(kernel_.registers[static_cast<size_t>(reg)]); }

  const UserKernel& kernel_;
  const std::atomic<bool>* cancel_;
  KernelRaces* races_;
  int64_t threads_, lanes_;
  std::unique_ptr<char[]> memory_;
  std::vector<Operand> registers_;
  // Addresses and sizes of the arrays of the program.
  std::vector<char*> arrays_;
  std::vector<int64_t> sizes_;
  std::vector<char> shared_;
  // Lanes that have left each scope.
  std::vector<Mask> left_;
  Dim3 block_{};
};

// The run was stopped.
struct KernelStopped {};

}  // namespace weft::cpu
