// Names, codes, field orders and limits that C++ and TypeScript both know, written once, here.
//
// Lists are macros over their rows, so that each is at the same time a C++ enum and data that `constants()`
// (shared/constants.cpp) hands out, from which `scripts/make-layout.mjs` writes src/shared/layout.ts. Numbers
// have the same name there: kMostStreams is MOST_STREAMS. The simulator includes this file too. Constants
// alone, no functions: files that are compiled for one instruction set include it.
#pragma once
#include <cstddef>
#include <cstdint>

// clang-format off

// X(enumerator, name, bytes of an element). Matrix products take those from float16 on.
#define WEFT_DTYPES(X) \
  X(boolean, "bool", 1) \
  X(int8, "int8", 1) \
  X(int16, "int16", 2) \
  X(int32, "int32", 4) \
  X(int64, "int64", 8) \
  X(uint8, "uint8", 1) \
  X(uint16, "uint16", 2) \
  X(uint32, "uint32", 4) \
  X(uint64, "uint64", 8) \
  X(float16, "float16", 2) \
  X(bfloat16, "bfloat16", 2) \
  X(float32, "float32", 4) \
  X(float64, "float64", 8) \
  X(complex64, "complex64", 8) \
  X(complex128, "complex128", 16)

// First word of an instruction of a tape.
#define WEFT_OPCODES(X) X(load) X(index) X(inside) X(map) X(cast) X(reduce) X(store) X(chain)
// Roles of loops over tiles or blocks: the axes that they walk.
#define WEFT_LOOP_ROLES(X) X(unit) X(lanes) X(rows) X(shared)
// Axes that a block's lanes lie on.
#define WEFT_LANE_KINDS(X) X(parallel) X(reduced) X(both)
// How an affine function changes from lane to lane.
#define WEFT_LANE_MODES(X) X(splat) X(stride) X(table)
// The value of a load outside of a bound: zero, or the element at a coordinate that is folded back.
#define WEFT_OUTSIDES(X) X(zero) X(nearest) X(reflect) X(mirror) X(wrap)
// Where a tape keeps a value.
#define WEFT_STORAGES(X) X(block) X(row) X(constant)
// Operands of a chain's steps.
#define WEFT_CHAIN_OPERANDS(X) X(input) X(slot) X(output) X(reduction)

// Numbers of a sweep for each tile: of a buffer's window, and of the range that a step runs.
#define WEFT_WINDOW(X) X(slot) X(copies) X(first) X(width) X(rows) X(pitch)
#define WEFT_RANGE(X) X(x0) X(x1) X(y0) X(y1) X(z0) X(z1)

// Numbers of a timeline for each span of work, and for each sample of memory.
#define WEFT_SPAN(X) X(track) X(kind) X(name) X(begin) X(end) X(bytes) X(tile)
#define WEFT_SAMPLE(X) X(device) X(time) X(bytes)
// X(enumerator, name): kinds of spans.
#define WEFT_SPAN_KINDS(X) \
  X(kernel, "kernel") \
  X(library, "library") \
  X(graph, "graph") \
  X(zero, "zero") \
  X(copyIn, "copy in") \
  X(copyOut, "copy out") \
  X(copyWithin, "copy within") \
  X(copyPeer, "copy between") \
  X(queue, "queue") \
  X(stage, "stage") \
  X(read, "read") \
  X(write, "write") \
  X(compile, "compile") \
  X(load, "load")

// Roles of a program's buffers. `spill`: host memory of the run; `state`: of a loop, which says where it lies.
#define WEFT_BUFFER_ROLES(X) X(input) X(output) X(temporary) X(spill) X(state)
// Arguments of a launch, by the property that says which it is: a buffer's address, the bytes of a scalar,
// where the blocks that run start on an axis of the grid, the steps of a loop that it does, those done before,
// a tensor map of a buffer.
#define WEFT_LAUNCH_ARGUMENTS(X) X(buffer) X(bytes) X(block) X(steps) X(done) X(tensorMap)

// X(type, name): how far a loop is, in the memory of the device that decides whether it goes on. `until`: when,
// by the device's clock, a launch leaves the rest to the next one.
#define WEFT_LOOP_RECORD(X) X(long long, steps) X(unsigned long long, until) X(unsigned long long, isOver)

// X(reduction, arguments, components, results): the values that a partial result on the CPU has, of the dtypes
// of the argument, of the argument's component and of the result. Of all others it is one result.
#define WEFT_PARTIAL_RESULTS(X) \
  X(argmin, 1, 0, 1) \
  X(argmax, 1, 0, 1) \
  X(squaredDeviations, 1, 2, 0) \
  X(logsumexp, 0, 0, 2) \
  X(sumexp, 0, 0, 2)

// X(type, name, value, meaning)
#define WEFT_NUMBERS(X) \
  X(int64_t, kChunk, 64, "Lanes of the smallest unit that a CPU function works on; widths are padded to it.") \
  X(int64_t, kLeafSteps, 16, "Elements that a lane of a reduction on the CPU takes up in a row before they meet others in the tree.") \
  X(int64_t, kConstantBytes, 16, "Bytes of a constant of a tape, which is in its dtype, little endian.") \
  X(size_t, kHostAlignment, 64, "Alignment of host memory and of buffers in the CPU's arenas: a cache line.") \
  X(size_t, kDeviceAlignment, 256, "Alignment of buffers in arenas and of windows in slots, on any device.") \
  X(size_t, kHostLeastPaged, 65536, "Bytes from which on blocks of host memory are rounded to more than that.") \
  X(size_t, kHostPage, 4096, "Bytes to which such blocks are rounded that a run works in.") \
  X(size_t, kHostGranule, 65536, "Bytes to which such blocks are rounded that are for results.") \
  X(size_t, kDeviceLeastStep, 512, "Bytes to which the smallest blocks of a GPU's pool are rounded.") \
  X(size_t, kDeviceMostStep, 2097152, "Bytes to which the largest blocks of a GPU's pool are rounded.") \
  X(size_t, kDeviceSteps, 128, "Sizes of a GPU's other blocks from one power of two to the next.") \
  X(size_t, kPackedBytes, 65536, "Bytes of an array up to which it is copied beside others, packed.") \
  X(size_t, kMostStreams, 8, "The most streams of a GPU that the steps of a program run in.") \
  X(double, kShortWork, 50000, "Instructions times elements of tapes, by the weights of their ops, that one thread does soon: in 2 to 20 us.") \
  X(int64_t, kMatmulGranule, 2048, "Contracted indices on the CPU whose products are summed before the next.") \
  X(int64_t, kDotSlot, 65536, "Elements of a dot product that are summed by themselves: from two such on, a tree.") \
  X(int64_t, kManyDots, 64, "Dot products that are too many for trees.") \
  X(int64_t, kMaxGridX, 2147483647, "Blocks of a launch along x: CUDA's limit on every device.") \
  X(int64_t, kMaxGridYZ, 65535, "Blocks of a launch along y or z.") \
  X(int64_t, kMaxBlockThreads, 1024, "Threads of a block.") \
  X(int64_t, kMaxBlockZ, 64, "Threads of a block along z.") \
  X(int64_t, kMaxScalarBytes, 4096, "Bytes of a scalar argument of a launch.")

#define WEFT_ENUMERATOR(name, ...) name,
#define WEFT_ONE(...) +1
#define WEFT_NAME(name, ...) #name,
#define WEFT_ELEMENT_BYTES(enumerator, name, bytes) bytes,
#define WEFT_MEMBER(type, name) type name;
#define WEFT_NUMBER(type, name, value, ...) inline constexpr type name = value;

namespace weft {

WEFT_NUMBERS(WEFT_NUMBER)

enum class DType : uint8_t { WEFT_DTYPES(WEFT_ENUMERATOR) };
inline constexpr int kDTypes = WEFT_DTYPES(WEFT_ONE);
inline constexpr int kElementBytes[] = {WEFT_DTYPES(WEFT_ELEMENT_BYTES)};

enum class WindowField : size_t { WEFT_WINDOW(WEFT_ENUMERATOR) };
inline constexpr size_t kWindowFields = WEFT_WINDOW(WEFT_ONE);
enum class RangeField : size_t { WEFT_RANGE(WEFT_ENUMERATOR) };
inline constexpr size_t kRangeFields = WEFT_RANGE(WEFT_ONE);
enum class SpanField : size_t { WEFT_SPAN(WEFT_ENUMERATOR) };
inline constexpr size_t kSpanFields = WEFT_SPAN(WEFT_ONE);
enum class SampleField : size_t { WEFT_SAMPLE(WEFT_ENUMERATOR) };
inline constexpr size_t kSampleFields = WEFT_SAMPLE(WEFT_ONE);

enum class Role { WEFT_BUFFER_ROLES(WEFT_ENUMERATOR) };
enum class LaunchArgument { WEFT_LAUNCH_ARGUMENTS(WEFT_ENUMERATOR) };
inline constexpr const char* kLaunchArguments[] = {WEFT_LAUNCH_ARGUMENTS(WEFT_NAME)};

struct LoopRecord {
  WEFT_LOOP_RECORD(WEFT_MEMBER)
};
inline constexpr size_t kLoopRecordBytes = 8 * (WEFT_LOOP_RECORD(WEFT_ONE));
static_assert(sizeof(LoopRecord) == kLoopRecordBytes);

namespace cpu {
enum class Opcode { WEFT_OPCODES(WEFT_ENUMERATOR) };
inline constexpr int kOpcodes = WEFT_OPCODES(WEFT_ONE);
enum class Role { WEFT_LOOP_ROLES(WEFT_ENUMERATOR) };
inline constexpr int kRoles = WEFT_LOOP_ROLES(WEFT_ONE);
enum class LaneKind { WEFT_LANE_KINDS(WEFT_ENUMERATOR) };
inline constexpr int kLaneKinds = WEFT_LANE_KINDS(WEFT_ONE);
enum class LaneMode { WEFT_LANE_MODES(WEFT_ENUMERATOR) };
inline constexpr int kLaneModes = WEFT_LANE_MODES(WEFT_ONE);
enum class Outside { WEFT_OUTSIDES(WEFT_ENUMERATOR) };
inline constexpr int kOutsides = WEFT_OUTSIDES(WEFT_ONE);
enum class Storage { WEFT_STORAGES(WEFT_ENUMERATOR) };
inline constexpr int kStorages = WEFT_STORAGES(WEFT_ONE);
enum class ChainOperandKind { WEFT_CHAIN_OPERANDS(WEFT_ENUMERATOR) };
inline constexpr int kChainOperandKinds = WEFT_CHAIN_OPERANDS(WEFT_ONE);
}  // namespace cpu

namespace recorder {
enum class Kind : int { WEFT_SPAN_KINDS(WEFT_ENUMERATOR) };
}  // namespace recorder

}  // namespace weft

// clang-format on
