#include "runtime/program-steps.h"

#include <algorithm>
#include <limits>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/scan-fold.h"
#include "cpu/tape.h"
#include "cuda/library-routines.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/loop.h"
#include "runtime/product-steps.h"
#include "runtime/step-fields.h"
#include "runtime/sweep.h"

namespace weft {
namespace {

constexpr size_t kScalarAlignment = 16;

std::array<unsigned, 3> readDimensions(const Fields& fields, const char* name,
                                       std::array<int64_t, 3> limits) {
  std::array<unsigned, 3> result{};
  size_t count = 0;
  fields.list(name, [&](const Napi::Value& item, const std::string& path) {
    if (count == limits.size()) fields.reject(name, "three numbers");
    result[count] = static_cast<unsigned>(values::integer(item, path, 1, limits[count]));
    count++;
  });
  if (count != limits.size()) fields.reject(name, "three numbers");
  return result;
}

// The limits are those of the driver, which would refuse a map when it is encoded.
TensorMap readTensorMap(const Fields& fields, const Program& program) {
  constexpr int64_t kLeastStride = 16, kMostBox = 256;
  constexpr size_t kMostRank = 5;
  constexpr int64_t kMostSize = int64_t{1} << 32, kMostStride = (int64_t{1} << 40) - kLeastStride;
  TensorMap map{};
  map.buffer = readBuffer(fields, "buffer", program);
  const BufferSpec& buffer = program.buffers[map.buffer];
  if (buffer.windowed) fields.reject("buffer", "one that is on the device as a whole");
  map.elementBytes = static_cast<int>(fields.integer("elementBytes", 1, sizeof(double)));
  if ((map.elementBytes & (map.elementBytes - 1)) != 0) fields.reject("elementBytes", "1, 2, 4 or 8");
  const std::vector<int64_t> sizes = fields.integers("sizes", 1), strides = fields.integers("strides", 1),
                             box = fields.integers("box", 1);
  if (sizes.empty() || sizes.size() > kMostRank) fields.reject("sizes", "one to five sizes");
  if (strides.size() + 1 != sizes.size()) fields.reject("strides", "one for each size but the first");
  if (box.size() != sizes.size()) fields.reject("box", "one for each size");
  auto byteLength = static_cast<uint64_t>(sizes[0] * map.elementBytes);
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] > kMostSize) fields.reject("sizes", "at most 2^32 each");
    if (box[i] > kMostBox) fields.reject("box", "at most 256 each");
    if (i == 0) continue;
    if (strides[i - 1] % kLeastStride != 0 || strides[i - 1] > kMostStride)
      fields.reject("strides", "multiples of 16 below 2^40");
    const auto steps = static_cast<uint64_t>(sizes[i] - 1), stride = static_cast<uint64_t>(strides[i - 1]);
    // Without the product, which may have more than 64 bits.
    if (steps > buffer.byteLength / stride) fields.reject("sizes", "an array within the buffer");
    byteLength += steps * stride;
  }
  if (box[0] * map.elementBytes % kLeastStride != 0) fields.reject("box", "rows of a multiple of 16 bytes");
  if (byteLength > buffer.byteLength) fields.reject("sizes", "an array within the buffer");
  map.sizes.assign(sizes.begin(), sizes.end());
  map.strides.assign(strides.begin(), strides.end());
  map.box.assign(box.begin(), box.end());
  return map;
}

void readLaunchArgument(const Fields& fields, const Program& program, LaunchStep& step) {
  // The property that it has says which it is; without any, bytes are missed.
  const auto found = std::find_if(std::begin(kLaunchArguments), std::end(kLaunchArguments),
                                  [&](const char* name) { return fields.has(name); });
  const auto kind = found == std::end(kLaunchArguments)
                        ? LaunchArgument::bytes
                        : static_cast<LaunchArgument>(found - std::begin(kLaunchArguments));
  if (kind == LaunchArgument::buffer) {
    step.args.push_back({kind, static_cast<size_t>(readBuffer(fields, "buffer", program))});
    return;
  }
  if (kind == LaunchArgument::block) {
    const std::array<std::string, 4> names{"x", "y", "first", "last"};
    const auto named = std::find(names.begin(), names.end(), fields.text("block"));
    if (named == names.end()) fields.reject("block", "x, y, first or last");
    step.args.push_back({kind, static_cast<size_t>(named - names.begin())});
    return;
  }
  if (kind == LaunchArgument::tensorMap) {
    step.args.push_back({kind, step.tensorMaps.size()});
    step.tensorMaps.push_back(readTensorMap(fields.object("tensorMap"), program));
    return;
  }
  if (kind == LaunchArgument::steps || kind == LaunchArgument::done) {
    step.args.push_back({kind});
    step.isCounted = step.isCounted || kind == LaunchArgument::done;
    return;
  }
  const std::vector<uint8_t> bytes = fields.bytes("bytes");
  if (bytes.empty() || static_cast<int64_t>(bytes.size()) > kMaxScalarBytes)
    fields.reject("bytes", "from 1 to " + std::to_string(kMaxScalarBytes) + " bytes");
  const size_t offset = (step.scalars.size() + kScalarAlignment - 1) / kScalarAlignment * kScalarAlignment;
  step.scalars.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), step.scalars.begin() + static_cast<ptrdiff_t>(offset));
  const int64_t number = fields.has("number") ? fields.integer("number") : -1;
  if (number >= 0 && static_cast<int64_t>(bytes.size()) > kConstantBytes)
    fields.reject("bytes", "of a constant, which has at most " + std::to_string(kConstantBytes));
  step.args.push_back({kind, offset, number});
}

Step readLaunch(const Fields& fields, const Program& program) {
  if (program.device->isHost()) fields.reject("kind", "one the CPU runs, not launch");
  LaunchStep step{};
  step.image = fields.integer("image", 0, lastOf(program.images.size()));
  step.function = fields.text("function");
  step.grid = readDimensions(fields, "grid", {kMaxGridX, kMaxGridYZ, kMaxGridYZ});
  step.block = readDimensions(fields, "block", {kMaxBlockThreads, kMaxBlockThreads, kMaxBlockZ});
  if (static_cast<int64_t>(step.block[0]) * step.block[1] * step.block[2] > kMaxBlockThreads)
    fields.reject("block", "at most " + std::to_string(kMaxBlockThreads) + " threads");
  step.sharedByteLength =
      static_cast<unsigned>(fields.integer("sharedByteLength", 0, std::numeric_limits<int32_t>::max()));
  fields.list("args", [&](const Napi::Value& item, const std::string& path) {
    readLaunchArgument(Fields(item, path), program, step);
  });
  return step;
}

std::shared_ptr<const cpu::Tape> readTapeSpec(const Fields& fields, const std::vector<int>& buffers,
                                              const Program& program) {
  if (!program.device->isHost()) fields.reject("kind", "one a GPU runs, not a tape");
  std::shared_ptr<const cpu::Tape> tape =
      program.tapes[fields.integer("tape", 0, lastOf(program.tapes.size()))];
  const std::vector<cpu::Buffer>& wanted = tape->buffers;
  if (wanted.size() != buffers.size())
    fields.reject("buffers", "as many as the tape has: " + std::to_string(wanted.size()));
  for (size_t i = 0; i < wanted.size(); i++) {
    const auto bytes =
        static_cast<size_t>(wanted[i].elementCount) * kElementBytes[static_cast<int>(wanted[i].dtype)];
    const std::string path = values::item(fields.path("buffers"), i);
    if (program.buffers[buffers[i]].byteLength < bytes)
      values::reject(path, "of at least " + std::to_string(bytes) + " bytes");
    if (wanted[i].isOutput) checkWritable(buffers[i], program, path);
  }
  return tape;
}

Step readTape(const Fields& fields, const Program& program) {
  TapeStep step{};
  step.buffers = readBuffers(fields, "buffers", program);
  step.tape = readTapeSpec(fields, step.buffers, program);
  step.work = workOf(*step.tape);
  return step;
}

Step readTapePhase(const Fields& fields, const Program& program, bool finishes) {
  TapePhaseStep step{};
  step.finishes = finishes;
  step.buffers = readBuffers(fields, "buffers", program);
  if (step.buffers.empty()) fields.reject("buffers", "the tape's and one for its partial results");
  step.scratch = step.buffers.back();
  step.buffers.pop_back();
  step.tape = readTapeSpec(fields, step.buffers, program);
  step.phase = fields.integer("phase", 0, lastOf(step.tape->walks.size()));
  if (step.tape->walkBlocks() == 1) fields.reject("tape", "one whose reduced axes have several blocks");
  const BufferSpec& scratch = program.buffers[step.scratch];
  const size_t bytes = cpu::phaseByteLength(*step.tape);
  if (scratch.role != Role::temporary || scratch.windowed || scratch.byteLength < bytes)
    fields.reject("buffers", "followed by a temporary of at least " + std::to_string(bytes) + " bytes");
  return step;
}

// A map of a routine's elements, of which there are `bytes`: those that it gives to the routine, or takes.
RoutineMap readRoutineMap(const Fields& fields, const Program& program, size_t bytes, bool isPrologue) {
  RoutineMap map;
  map.tape = cpu::parseTape(values::object(fields.value("tape"), fields.path("tape")));
  const std::vector<cpu::Buffer>& wanted = map.tape->buffers;
  const auto last = static_cast<int64_t>(program.buffers.size()) - 1;
  map.buffers = fields.list("buffers", [&](const Napi::Value& item, const std::string& path) {
    return static_cast<int>(values::integer(item, path, -1, last));
  });
  map.given = static_cast<int>(fields.integer("given", -1, static_cast<int64_t>(wanted.size()) - 1));
  if (map.buffers.size() != wanted.size() || (map.given < 0) != isPrologue)
    fields.reject("buffers", "as many as the tape has");
  const auto bytesOf = [&](size_t i) {
    return static_cast<size_t>(wanted[i].elementCount) * kElementBytes[static_cast<int>(wanted[i].dtype)];
  };
  for (size_t i = 0; i < wanted.size(); i++) {
    const int buffer = map.buffers[i];
    const bool isElsewhere = wanted[i].isOutput || static_cast<int>(i) == map.given;
    if (isElsewhere != (buffer < 0) || (buffer >= 0 && program.buffers[buffer].byteLength < bytesOf(i)))
      values::reject(values::item(fields.path("buffers"), i), "memory of what is read");
    if (wanted[i].isOutput) map.results.push_back(static_cast<int>(i));
  }
  if (map.results.empty() || (isPrologue && map.results.size() > 1))
    fields.reject("tape", "one with a result");
  map.folds.assign(map.results.size(), -1);
  if (fields.has("folds"))
    map.folds = fields.list("folds", [](const Napi::Value& item, const std::string& path) {
      return static_cast<int>(values::integer(item, path, -1, cpu::kScanOps - 1));
    });
  if (map.folds.size() != map.results.size()) fields.reject("folds", "one for each result");
  if (bytesOf(isPrologue ? map.results[0] : map.given) != bytes)
    fields.reject("tape", "of the routine's elements");
  try {
    for (size_t k = 0; k < map.results.size(); k++) {
      const cpu::Buffer& result = wanted[map.results[k]];
      cpu::checkElementMap(*map.tape, result.elementCount);
      if (!isPrologue && wanted[map.given].elementCount != result.elementCount)
        throw std::invalid_argument("a map of the routine's elements");
      if (map.folds[k] >= 0) cpu::checkScanFold(result.dtype, map.folds[k]);
    }
  } catch (const std::invalid_argument& error) {
    fields.reject("tape", error.what());
  }
  return map;
}

Step readRoutine(const Fields& fields, const Program& program) {
  RoutineStep step{};
  step.name = fields.text("name");
  const bool isHost = program.device->isHost();
  if (isHost) {
    step.routine = cpu::findRoutine(step.name);
  } else {
    step.library = cuda::findLibraryRoutine(step.name);
  }
  if (step.routine == nullptr && step.library == nullptr)
    fields.reject("name",
                  "a routine of the " + std::string(isHost ? "CPU" : "GPU's libraries") + ": " + step.name);
  step.numbers = fields.integers("numbers");
  cpu::RoutineNeed need;
  try {
    need = isHost ? step.routine->need(step.numbers, cpu::sharedPool()) : step.library->need(step.numbers);
  } catch (const std::invalid_argument& error) {
    fields.reject("numbers", error.what());
  }
  step.units = need.units;
  step.prepared = need.prepared;
  const bool takesMaps = isHost && step.routine->takesMaps;
  const bool takesEpilogues = isHost && step.routine->takesEpilogues;
  if ((fields.has("prologue") && !takesMaps) || (fields.has("epilogue") && !takesEpilogues))
    fields.reject("name", "a routine that takes maps: " + step.name);
  if (fields.has("weights")) {
    if (!takesMaps || need.weights == 0) fields.reject("name", "a routine with weights: " + step.name);
    step.weights = readRoutineMap(fields.object("weights"), program, need.operands[need.weights], true);
    need.operands.erase(need.operands.begin() + static_cast<std::ptrdiff_t>(need.weights));
  }
  if (fields.has("prologue")) {
    step.prologue = readRoutineMap(fields.object("prologue"), program, need.operands[0], true);
    need.operands.erase(need.operands.begin());
  }
  if (fields.has("values")) {
    if (!isHost || need.values == 0) fields.reject("name", "a routine with values of its own: " + step.name);
    step.prologue = readRoutineMap(fields.object("values"), program, need.values, false);
  }
  if (fields.has("epilogue")) {
    step.epilogue = readRoutineMap(fields.object("epilogue"), program, need.results[0], false);
    need.results.clear();
    for (size_t k = 0; k < step.epilogue->results.size(); k++) {
      const cpu::Buffer& result = step.epilogue->tape->buffers[step.epilogue->results[k]];
      const bool isFold = step.epilogue->folds[k] >= 0;
      if (isFold && need.folded == 0) fields.reject("name", "a routine that combines elements: " + step.name);
      const size_t count = isFold ? need.folded : static_cast<size_t>(result.elementCount);
      need.results.push_back(count * kElementBytes[static_cast<int>(result.dtype)]);
    }
  }
  const auto read = [&](const char* name, const std::vector<size_t>& bytes, bool isWritten) {
    const std::vector<int> buffers = readBuffers(fields, name, program);
    if (buffers.size() != bytes.size()) fields.reject(name, std::to_string(bytes.size()) + " buffers");
    for (size_t i = 0; i < buffers.size(); i++) {
      const std::string path = values::item(fields.path(name), i);
      if (program.buffers[buffers[i]].byteLength < bytes[i])
        values::reject(path, "of at least " + std::to_string(bytes[i]) + " bytes");
      if (isWritten) checkWritable(buffers[i], program, path);
    }
    return buffers;
  };
  step.operands = read("operands", need.operands, false);
  step.results = read("results", need.results, true);
  step.workspace = readWorkspace(fields, need.workspace.least, program);
  return step;
}

Step readZero(const Fields& fields, const Program& program) {
  const ZeroStep step{readBuffer(fields, "buffer", program)};
  checkWritable(step.buffer, program, fields.path("buffer"));
  return step;
}

// The readers of steps by their kind.
struct StepReader {
  const char* kind;
  Step (*read)(const Fields& fields, Program& program);
};
constexpr StepReader kStepReaders[] = {
    {"tape", [](const Fields& fields, Program& program) { return readTape(fields, program); }},
    {"tapePhase",
     [](const Fields& fields, Program& program) { return readTapePhase(fields, program, false); }},
    {"tapeFinish",
     [](const Fields& fields, Program& program) { return readTapePhase(fields, program, true); }},
    {"launch", [](const Fields& fields, Program& program) { return readLaunch(fields, program); }},
    {"matmul", [](const Fields& fields, Program& program) { return readMatmul(fields, program); }},
    {"contraction", [](const Fields& fields, Program& program) { return readContraction(fields, program); }},
    {"routine", [](const Fields& fields, Program& program) { return readRoutine(fields, program); }},
    {"zero", [](const Fields& fields, Program& program) { return readZero(fields, program); }},
    {"sweep", readSweep},
    {"loop", readLoop},
};

}  // namespace

bool hasElementLoops(const cpu::Tape& tape) {
  const auto has = [](const cpu::Section& section) {
    return std::any_of(section.begin(), section.end(), [](const cpu::Instruction& i) { return i.loop; });
  };
  return std::any_of(tape.walks.begin(), tape.walks.end(), has) ||
         std::any_of(tape.rowSections.begin(), tape.rowSections.end(), has);
}

double workOf(const cpu::Tape& tape) {
  const auto weightOf = [](const std::vector<cpu::Section>& sections) {
    double sum = 0;
    for (const cpu::Section& section : sections)
      for (const cpu::Instruction& i : section) sum += i.weight;
    return sum;
  };
  // In floating point, which does not overflow.
  const double rows = static_cast<double>(tape.tileCount()) * static_cast<double>(tape.rows);
  const double elements = rows * static_cast<double>(tape.walkBlocks()) * static_cast<double>(tape.width());
  return elements * (1 + weightOf(tape.walks)) + rows * weightOf(tape.rowSections);
}

namespace {

// How many constants that come with a run a step reads; those in a sweep or a loop are steps of their own.
size_t numberCount(const Step& step) {
  if (const auto* tape = std::get_if<TapeStep>(&step)) return tape->tape->numberCount();
  if (const auto* phase = std::get_if<TapePhaseStep>(&step)) return phase->tape->numberCount();
  size_t count = 0;
  if (const auto* launch = std::get_if<LaunchStep>(&step)) {
    for (const LaunchStep::Argument& argument : launch->args)
      count = std::max(count, static_cast<size_t>(argument.number + 1));
  }
  if (const auto* routine = std::get_if<RoutineStep>(&step)) {
    for (const auto* map : {&routine->prologue, &routine->weights, &routine->epilogue})
      if (*map) count = std::max(count, (*map)->tape->numberCount());
  }
  return count;
}

}  // namespace

Step readStep(const Fields& fields, Program& program) {
  const std::string kind = fields.text("kind");
  std::string kinds;
  for (const StepReader& reader : kStepReaders) {
    if (kind == reader.kind) {
      Step step = reader.read(fields, program);
      program.numberCount = std::max(program.numberCount, numberCount(step));
      return step;
    }
    kinds += (kinds.empty() ? "one of " : ", ") + std::string(reader.kind);
  }
  fields.reject("kind", kinds);
}

bool canRepeat(const Step& step, const Program& program) {
  if (const auto* zero = std::get_if<ZeroStep>(&step)) return program.buffers[zero->buffer].byteLength > 0;
  if (const auto* product = std::get_if<MatmulStep>(&step))
    return product->m > 0 && product->n > 0 && product->batch > 0;
  return std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ContractionStep>(step) ||
         std::holds_alternative<RoutineStep>(step);
}

}  // namespace weft
