#include "runtime/program-steps.h"

#include <algorithm>
#include <limits>

#include "cpu/routines.h"
#include "cpu/tape.h"
#include "runtime/device.h"
#include "runtime/loop.h"
#include "runtime/sweep.h"
#include "runtime/values.h"

namespace weft {
namespace {

using values::item;
using values::reject;

constexpr size_t kScalarAlignment = 16;
constexpr int64_t kMaxInteger = values::kMaxSafeInteger;

int bufferIndex(const Napi::Value& value, const Program& program, const std::string& field) {
  const int64_t last = static_cast<int64_t>(program.buffers.size()) - 1;
  return static_cast<int>(values::integer(value, field, 0, last));
}

// Inputs may be the user's memory: nothing is written there.
void checkWritable(int buffer, const Program& program, const std::string& field) {
  if (program.buffers[buffer].isReadOnly) reject(field, "an output or a temporary");
}

std::array<unsigned, 3> readDimensions(const Napi::Value& value, const std::string& field,
                                       std::array<int64_t, 3> limits) {
  const Napi::Array list = values::array(value, field);
  if (list.Length() != 3) reject(field, "three numbers");
  std::array<unsigned, 3> result{};
  for (uint32_t i = 0; i < 3; i++) {
    result[i] = static_cast<unsigned>(values::integer(list.Get(i), field, 1, limits[i]));
  }
  return result;
}

void readLaunchArgument(const Napi::Value& value, const std::string& field, const Program& program,
                        LaunchStep& step) {
  const Napi::Object entry = values::object(value, field);
  // The property that it has says which it is; without any, bytes are missed.
  const auto isOne = [&](const char* name) { return entry.Has(name); };
  const auto found = std::find_if(std::begin(kLaunchArguments), std::end(kLaunchArguments), isOne);
  const auto kind = found == std::end(kLaunchArguments)
                        ? LaunchArgument::bytes
                        : static_cast<LaunchArgument>(found - std::begin(kLaunchArguments));
  if (kind == LaunchArgument::buffer) {
    const int buffer = bufferIndex(entry.Get("buffer"), program, field + ".buffer");
    step.args.push_back({kind, static_cast<size_t>(buffer)});
    return;
  }
  if (kind == LaunchArgument::block) {
    const std::string axis = values::text(entry.Get("block"), field + ".block");
    if (axis != "x" && axis != "y") reject(field + ".block", "x or y");
    step.args.push_back({kind, axis == "x" ? size_t{0} : size_t{1}});
    return;
  }
  if (kind == LaunchArgument::steps || kind == LaunchArgument::done) {
    step.args.push_back({kind});
    step.isCounted = step.isCounted || kind == LaunchArgument::done;
    return;
  }
  const std::vector<uint8_t> bytes = values::bytes(entry.Get("bytes"), field + ".bytes");
  if (bytes.empty() || static_cast<int64_t>(bytes.size()) > kMaxScalarBytes) {
    reject(field + ".bytes", "from 1 to " + std::to_string(kMaxScalarBytes) + " bytes");
  }
  const size_t offset = (step.scalars.size() + kScalarAlignment - 1) / kScalarAlignment * kScalarAlignment;
  step.scalars.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), step.scalars.begin() + static_cast<ptrdiff_t>(offset));
  step.args.push_back({kind, offset});
}

Step readLaunch(const Napi::Object& entry, const std::string& field, const Program& program) {
  if (program.device->isHost()) reject(field + ".kind", "one the CPU runs, not launch");
  LaunchStep step{};
  const int64_t lastImage = static_cast<int64_t>(program.images.size()) - 1;
  step.image = values::integer(entry.Get("image"), field + ".image", 0, lastImage);
  step.function = values::text(entry.Get("function"), field + ".function");
  step.grid = readDimensions(entry.Get("grid"), field + ".grid", {kMaxGridX, kMaxGridYZ, kMaxGridYZ});
  step.block =
      readDimensions(entry.Get("block"), field + ".block", {kMaxBlockThreads, kMaxBlockThreads, kMaxBlockZ});
  if (static_cast<int64_t>(step.block[0]) * step.block[1] * step.block[2] > kMaxBlockThreads) {
    reject(field + ".block", "at most " + std::to_string(kMaxBlockThreads) + " threads");
  }
  step.sharedByteLength = static_cast<unsigned>(values::integer(
      entry.Get("sharedByteLength"), field + ".sharedByteLength", 0, std::numeric_limits<int32_t>::max()));
  const Napi::Array args = values::array(entry.Get("args"), field + ".args");
  for (uint32_t i = 0; i < args.Length(); i++) {
    readLaunchArgument(args.Get(i), field + "." + item("args", i), program, step);
  }
  return step;
}
// Instructions times elements of a tape.
double workOf(const cpu::Tape& tape) {
  int64_t instructions = 1;
  for (const cpu::Section& walk : tape.walks) instructions += static_cast<int64_t>(walk.size());
  // In floating point, which does not overflow.
  const double elements = static_cast<double>(tape.tileCount()) * static_cast<double>(tape.walkBlocks()) *
                          static_cast<double>(tape.rows) * static_cast<double>(tape.width());
  return elements * static_cast<double>(instructions);
}

std::vector<int> readBufferList(const Napi::Object& entry, const std::string& field, const Program& program) {
  const Napi::Array list = values::array(entry.Get("buffers"), field + ".buffers");
  std::vector<int> buffers;
  for (uint32_t i = 0; i < list.Length(); i++) {
    buffers.push_back(bufferIndex(list.Get(i), program, field + "." + item("buffers", i)));
  }
  return buffers;
}

std::shared_ptr<const cpu::Tape> readTapeSpec(const Napi::Object& entry, const std::string& field,
                                              const std::vector<int>& buffers, const Program& program) {
  if (!program.device->isHost()) reject(field + ".kind", "one a GPU runs, not a tape");
  std::shared_ptr<const cpu::Tape> tape = cpu::parseTape(values::object(entry.Get("tape"), field + ".tape"));
  const std::vector<cpu::Buffer>& wanted = tape->buffers;
  if (wanted.size() != buffers.size()) {
    reject(field + ".buffers", "as many as the tape has: " + std::to_string(wanted.size()));
  }
  for (size_t i = 0; i < wanted.size(); i++) {
    const auto bytes =
        static_cast<size_t>(wanted[i].elementCount) * kElementBytes[static_cast<int>(wanted[i].dtype)];
    const std::string name = field + ".buffers[" + std::to_string(i) + "]";
    if (program.buffers[buffers[i]].byteLength < bytes) {
      reject(name, "of at least " + std::to_string(bytes) + " bytes");
    }
    if (wanted[i].isOutput) checkWritable(buffers[i], program, name);
  }
  return tape;
}

Step readTape(const Napi::Object& entry, const std::string& field, const Program& program) {
  TapeStep step{};
  step.buffers = readBufferList(entry, field, program);
  step.tape = readTapeSpec(entry, field, step.buffers, program);
  step.work = workOf(*step.tape);
  return step;
}

Step readTapePhase(const Napi::Object& entry, const std::string& field, const Program& program,
                   bool finishes) {
  TapePhaseStep step{};
  step.finishes = finishes;
  step.buffers = readBufferList(entry, field, program);
  if (step.buffers.empty()) reject(field + ".buffers", "the tape's and one for its partial results");
  step.scratch = step.buffers.back();
  step.buffers.pop_back();
  step.tape = readTapeSpec(entry, field, step.buffers, program);
  const auto last = static_cast<int64_t>(step.tape->walks.size()) - 1;
  step.phase = values::integer(entry.Get("phase"), field + ".phase", 0, last);
  if (step.tape->slotCount() == 1) reject(field + ".tape", "one whose reduced axes have several slots");
  const BufferSpec& scratch = program.buffers[step.scratch];
  const size_t bytes = cpu::phaseByteLength(*step.tape);
  if (scratch.role != Role::temporary || scratch.windowed || scratch.byteLength < bytes) {
    reject(field + ".buffers", "followed by a temporary of at least " + std::to_string(bytes) + " bytes");
  }
  return step;
}

MatrixOperand readOperand(const Napi::Value& value, const std::string& field, const Program& program) {
  const Napi::Object entry = values::object(value, field);
  const auto stride = [&](const char* name) {
    return values::integer(entry.Get(name), field + "." + name, -kMaxInteger, kMaxInteger);
  };
  MatrixOperand operand{};
  operand.buffer = bufferIndex(entry.Get("buffer"), program, field + ".buffer");
  operand.offset = values::integer(entry.Get("offset"), field + ".offset");
  operand.batchStride = stride("batchStride");
  operand.rowStride = stride("rowStride");
  operand.columnStride = stride("columnStride");
  return operand;
}

Step readMatmul(const Napi::Object& entry, const std::string& field, const Program& program) {
  MatmulStep step{};
  step.dtype = values::productDType(entry.Get("dtype"), field + ".dtype");
  step.m = values::integer(entry.Get("m"), field + ".m");
  step.n = values::integer(entry.Get("n"), field + ".n");
  step.k = values::integer(entry.Get("k"), field + ".k");
  step.batch = values::integer(entry.Get("batch"), field + ".batch");
  step.a = readOperand(entry.Get("a"), field + ".a", program);
  step.b = readOperand(entry.Get("b"), field + ".b", program);
  step.c = readOperand(entry.Get("c"), field + ".c", program);
  // Rows of windows may be further apart than those of the buffer: their sweep knows.
  std::vector<size_t> byteLengths;
  for (const BufferSpec& buffer : program.buffers)
    byteLengths.push_back(buffer.windowed ? SIZE_MAX : buffer.byteLength);
  checkExtents(step, byteLengths, field);
  checkWritable(step.c.buffer, program, field + ".c");
  const Napi::Value workspace = entry.Get("workspace");
  if (workspace.IsUndefined()) return step;
  step.workspace = bufferIndex(workspace, program, field + ".workspace");
  const BufferSpec& spec = program.buffers[step.workspace];
  if (spec.role != Role::temporary || spec.windowed) reject(field + ".workspace", "a temporary");
  return step;
}

Step readRoutine(const Napi::Object& entry, const std::string& field, const Program& program) {
  if (!program.device->isHost()) reject(field + ".kind", "one a GPU runs, not a routine of the CPU");
  RoutineStep step{};
  step.name = values::text(entry.Get("name"), field + ".name");
  step.routine = cpu::findRoutine(step.name);
  if (step.routine == nullptr) reject(field + ".name", "a routine of the CPU: " + step.name);
  const Napi::Array numbers = values::array(entry.Get("numbers"), field + ".numbers");
  for (uint32_t i = 0; i < numbers.Length(); i++)
    step.numbers.push_back(values::integer(numbers.Get(i), field + "." + item("numbers", i)));
  cpu::RoutineNeed need;
  try {
    need = step.routine->need(step.numbers, cpu::sharedPool());
  } catch (const std::invalid_argument& error) {
    reject(field + ".numbers", error.what());
  }
  step.units = need.units;
  const auto read = [&](const char* name, const std::vector<size_t>& bytes, bool isWritten) {
    const std::string list = field + "." + name;
    const Napi::Array given = values::array(entry.Get(name), list);
    if (given.Length() != bytes.size()) reject(list, std::to_string(bytes.size()) + " buffers");
    std::vector<int> buffers;
    for (uint32_t i = 0; i < given.Length(); i++) {
      const std::string one = item(list, i);
      const int buffer = bufferIndex(given.Get(i), program, one);
      if (program.buffers[buffer].byteLength < bytes[i])
        reject(one, "of at least " + std::to_string(bytes[i]) + " bytes");
      if (isWritten) checkWritable(buffer, program, one);
      buffers.push_back(buffer);
    }
    return buffers;
  };
  step.operands = read("operands", need.operands, false);
  step.results = read("results", need.results, true);
  const Napi::Value workspace = entry.Get("workspace");
  if (workspace.IsUndefined()) {
    if (need.workspace.least > 0) reject(field + ".workspace", "a temporary");
    return step;
  }
  step.workspace = bufferIndex(workspace, program, field + ".workspace");
  const BufferSpec& spec = program.buffers[step.workspace];
  if (spec.role != Role::temporary || spec.windowed || spec.byteLength < need.workspace.least)
    reject(field + ".workspace",
           "a temporary of at least " + std::to_string(need.workspace.least) + " bytes");
  return step;
}

}  // namespace

Step readStep(const Napi::Object& entry, const std::string& field, Program& program) {
  const std::string kind = values::text(entry.Get("kind"), field + ".kind");
  if (kind == "tape") return readTape(entry, field, program);
  if (kind == "tapePhase") return readTapePhase(entry, field, program, false);
  if (kind == "tapeFinish") return readTapePhase(entry, field, program, true);
  if (kind == "launch") return readLaunch(entry, field, program);
  if (kind == "matmul") return readMatmul(entry, field, program);
  if (kind == "routine") return readRoutine(entry, field, program);
  if (kind == "sweep") return readSweep(entry, field, program, readStep);
  if (kind == "loop") return readLoop(entry, field, program, readStep);
  if (kind != "zero")
    reject(field + ".kind", "tape, tapePhase, tapeFinish, launch, matmul, routine, zero, sweep or loop");
  const ZeroStep step{bufferIndex(entry.Get("buffer"), program, field + ".buffer")};
  checkWritable(step.buffer, program, field + ".buffer");
  return step;
}

bool canRepeat(const Step& step, const Program& program) {
  if (const auto* zero = std::get_if<ZeroStep>(&step)) return program.buffers[zero->buffer].byteLength > 0;
  if (const auto* product = std::get_if<MatmulStep>(&step))
    return product->m > 0 && product->n > 0 && product->batch > 0;
  return std::holds_alternative<LaunchStep>(step);
}

std::string nameOf(const MatmulStep& step) {
  std::string text = "matmul ";
  if (step.batch != 1) text += std::to_string(step.batch) + " x ";
  return text + "(" + std::to_string(step.m) + ", " + std::to_string(step.k) + ") @ (" +
         std::to_string(step.k) + ", " + std::to_string(step.n) + ")";
}

void checkExtents(const MatmulStep& step, const std::vector<size_t>& byteLengths, const std::string& field) {
  const auto check = [&](const MatrixOperand& operand, int64_t rows, int64_t columns, const char* name) {
    if (step.batch == 0 || rows == 0 || columns == 0) return;
    __int128 low = operand.offset;
    __int128 high = operand.offset;
    const auto extend = [&](int64_t size, int64_t stride) {
      const __int128 reach = static_cast<__int128>(size - 1) * stride;
      (reach < 0 ? low : high) += reach;
    };
    extend(step.batch, operand.batchStride);
    extend(rows, operand.rowStride);
    extend(columns, operand.columnStride);
    const __int128 elements = byteLengths[operand.buffer] / kElementBytes[static_cast<int>(step.dtype)];
    if (low < 0 || high >= elements) reject(field + name, "inside its buffer");
  };
  check(step.a, step.m, step.k, ".a");
  check(step.b, step.k, step.n, ".b");
  check(step.c, step.m, step.n, ".c");
}
}  // namespace weft
