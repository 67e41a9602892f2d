#include "runtime/program-steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/element-map.h"
#include "cpu/routines.h"
#include "cpu/tape.h"
#include "cuda/library-routines.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/loop.h"
#include "runtime/product-batches.h"
#include "runtime/sweep.h"

namespace weft {
namespace {

constexpr size_t kScalarAlignment = 16;
constexpr int64_t kMaxInteger = values::kMaxSafeInteger;

int64_t lastOf(size_t count) { return static_cast<int64_t>(count) - 1; }

int readBuffer(const Fields& fields, const char* name, const Program& program) {
  return static_cast<int>(fields.integer(name, 0, lastOf(program.buffers.size())));
}

// Inputs may be the user's memory: nothing is written there.
void checkWritable(int buffer, const Program& program, const std::string& path) {
  if (program.buffers[buffer].isReadOnly) values::reject(path, "an output or a temporary");
}

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
    const std::string axis = fields.text("block");
    if (axis != "x" && axis != "y") fields.reject("block", "x or y");
    step.args.push_back({kind, axis == "x" ? size_t{0} : size_t{1}});
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
  step.args.push_back({kind, offset});
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

// Instructions times elements of a tape.
double workOf(const cpu::Tape& tape) {
  int64_t instructions = 1;
  for (const cpu::Section& walk : tape.walks) instructions += static_cast<int64_t>(walk.size());
  // In floating point, which does not overflow.
  const double elements = static_cast<double>(tape.tileCount()) * static_cast<double>(tape.walkBlocks()) *
                          static_cast<double>(tape.rows) * static_cast<double>(tape.width());
  return elements * static_cast<double>(instructions);
}

std::vector<int> readBuffers(const Fields& fields, const char* name, const Program& program) {
  return fields.list(name, [&](const Napi::Value& item, const std::string& path) {
    return static_cast<int>(values::integer(item, path, 0, lastOf(program.buffers.size())));
  });
}

// The temporary of the field `workspace`, of at least `byteLength` bytes; -1 where there is none and it is
// not needed.
int readWorkspace(const Fields& fields, size_t byteLength, const Program& program) {
  if (!fields.has("workspace") && byteLength == 0) return -1;
  const int workspace = readBuffer(fields, "workspace", program);
  const BufferSpec& spec = program.buffers[workspace];
  if (spec.role != Role::temporary || spec.windowed || spec.byteLength < byteLength)
    fields.reject("workspace", "a temporary of at least " + std::to_string(byteLength) + " bytes");
  return workspace;
}

std::shared_ptr<const cpu::Tape> readTapeSpec(const Fields& fields, const std::vector<int>& buffers,
                                              const Program& program) {
  if (!program.device->isHost()) fields.reject("kind", "one a GPU runs, not a tape");
  std::shared_ptr<const cpu::Tape> tape =
      cpu::parseTape(values::object(fields.value("tape"), fields.path("tape")));
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
  if (step.tape->slotCount() == 1) fields.reject("tape", "one whose reduced axes have several slots");
  const BufferSpec& scratch = program.buffers[step.scratch];
  const size_t bytes = cpu::phaseByteLength(*step.tape);
  if (scratch.role != Role::temporary || scratch.windowed || scratch.byteLength < bytes)
    fields.reject("buffers", "followed by a temporary of at least " + std::to_string(bytes) + " bytes");
  return step;
}

// An operand of a product with so many outer axes.
MatrixOperand readOperand(const Fields& fields, const Program& program, size_t outerAxes) {
  MatrixOperand operand{};
  operand.buffer = readBuffer(fields, "buffer", program);
  operand.offset = fields.integer("offset");
  operand.batchStride = fields.integer("batchStride", -kMaxInteger);
  operand.rowStride = fields.integer("rowStride", -kMaxInteger);
  operand.columnStride = fields.integer("columnStride", -kMaxInteger);
  if (outerAxes == 0) return operand;
  operand.outerStrides = fields.integers("outerStrides", -kMaxInteger);
  if (operand.outerStrides.size() != outerAxes) fields.reject("outerStrides", "one for each outer axis");
  return operand;
}

Epilogue::Activation readActivation(const Fields& fields) {
  if (!fields.has("activation")) return Epilogue::Activation::none;
  const std::string name = fields.text("activation");
  if (name == "relu") return Epilogue::Activation::relu;
  if (name == "gelu") return Epilogue::Activation::gelu;
  fields.reject("activation", "relu or gelu");
}

double readFactor(const Fields& fields, const char* name) {
  const Napi::Value value = fields.value(name);
  const double factor = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!std::isfinite(factor)) fields.reject(name, "a finite number");
  return factor;
}

Epilogue readEpilogue(const Fields& fields, const MatmulStep& step, const Program& program) {
  Epilogue epilogue{};
  epilogue.dtype = values::productDType(fields.value("dtype"), fields.path("dtype"));
  const bool isHalf = step.dtype == DType::float16 || step.dtype == DType::bfloat16;
  if (epilogue.dtype != step.dtype && !(isHalf && epilogue.dtype == DType::float32))
    fields.reject("dtype", "that of the operands, or float32 for halves");
  epilogue.alpha = readFactor(fields, "alpha");
  epilogue.beta = readFactor(fields, "beta");
  epilogue.activation = readActivation(fields);
  if (fields.has("addend"))
    epilogue.addend = readOperand(fields.object("addend"), program, step.outer.size());
  if (epilogue.addend && (epilogue.addend->columnStride != 1 || epilogue.addend->rowStride < step.n))
    fields.reject("addend", "in rows");
  if (epilogue.addend.has_value() != (epilogue.beta != 0)) fields.reject("addend", "where beta is not 0");
  if (fields.has("bias")) {
    const Fields bias = fields.object("bias");
    epilogue.bias = readBuffer(bias, "buffer", program);
    epilogue.biasOffset = bias.integer("offset");
  }
  const bool hasMore = epilogue.bias >= 0 || epilogue.activation != Epilogue::Activation::none;
  if (hasMore && epilogue.dtype != DType::float32 && !isHalf)
    fields.reject("dtype", "float32 or a half for a bias or an activation");
  if (program.device->isHost()) fields.reject("alpha", "of a product on a GPU");
  if (step.k == 0) fields.reject("alpha", "of a product that sums something");
  return epilogue;
}

// The words of an algorithm, halved: JavaScript's integers have 53 bits.
std::array<uint64_t, 8> readAlgorithm(const Fields& fields) {
  const std::vector<int64_t> halves = fields.integers("algorithm");
  std::array<uint64_t, 8> words{};
  const auto isHalf = [](int64_t half) { return half >= 0 && half <= UINT32_MAX; };
  if (halves.size() != 2 * words.size() || !std::all_of(halves.begin(), halves.end(), isHalf))
    fields.reject("algorithm", "16 numbers of 32 bits");
  for (size_t i = 0; i < words.size(); i++)
    words[i] = static_cast<uint64_t>(halves[2 * i]) | static_cast<uint64_t>(halves[2 * i + 1]) << 32;
  return words;
}

Step readMatmul(const Fields& fields, const Program& program) {
  MatmulStep step{};
  step.dtype = values::productDType(fields.value("dtype"), fields.path("dtype"));
  step.allowsTf32 = fields.flag("allowsTf32");
  if (step.allowsTf32 && step.dtype != DType::float32 && step.dtype != DType::complex64)
    fields.reject("allowsTf32", "of a product of float32 or complex64");
  step.ownKernels = fields.flag("ownKernels");
  if (fields.has("stretch")) step.stretch = fields.integer("stretch", 1);
  if (step.stretch > 0 && fields.has("epilogue"))
    fields.reject("stretch", "of a product without an epilogue");
  step.m = fields.integer("m");
  step.n = fields.integer("n");
  step.k = fields.integer("k");
  step.batch = fields.integer("batch");
  if (fields.has("outer")) step.outer = fields.integers("outer", 1);
  step.a = readOperand(fields.object("a"), program, step.outer.size());
  step.b = readOperand(fields.object("b"), program, step.outer.size());
  step.c = readOperand(fields.object("c"), program, step.outer.size());
  if (fields.has("epilogue") && (step.c.columnStride != 1 || step.c.rowStride < step.n))
    fields.reject("c", "in rows, for an epilogue");
  if (fields.has("epilogue")) step.epilogue = readEpilogue(fields.object("epilogue"), step, program);
  if (fields.has("algorithm")) {
    if (!step.epilogue) fields.reject("algorithm", "of a product with an epilogue");
    step.algorithm = readAlgorithm(fields);
  }
  // Rows of windows may be further apart than those of the buffer: their sweep knows.
  std::vector<size_t> byteLengths;
  for (const BufferSpec& buffer : program.buffers)
    byteLengths.push_back(buffer.windowed ? SIZE_MAX : buffer.byteLength);
  checkExtents(step, byteLengths, fields.path());
  checkWritable(step.c.buffer, program, fields.path("c"));
  step.workspace = readWorkspace(fields, 0, program);
  return step;
}

TensorOperand readTensor(const Fields& fields, const ContractionStep& step, const Program& program) {
  TensorOperand operand{};
  operand.buffer = readBuffer(fields, "buffer", program);
  operand.offset = fields.integer("offset");
  operand.isConjugated = fields.flag("conjugated");
  operand.strides = fields.integers("strides");
  for (const int64_t label : fields.integers("labels")) {
    if (label >= static_cast<int64_t>(step.sizes.size())) fields.reject("labels", "labels that have sizes");
    operand.labels.push_back(static_cast<int32_t>(label));
  }
  const auto isLess = [](int64_t stride) { return stride < 1; };
  if (operand.strides.size() != operand.labels.size() ||
      std::any_of(operand.strides.begin(), operand.strides.end(), isLess))
    fields.reject("strides", "as many numbers from 1 on as there are labels");
  if (operand.isConjugated && step.dtype != DType::complex64 && step.dtype != DType::complex128)
    fields.reject("conjugated", "of complex numbers");
  return operand;
}

ContractionStep::Precision readPrecision(const Fields& fields, DType dtype) {
  using Precision = ContractionStep::Precision;
  if (!fields.has("precision")) return Precision::full;
  const std::string name = fields.text("precision");
  if (name != "tf32" && name != "tf32x3") fields.reject("precision", "tf32 or tf32x3");
  if (dtype != DType::float32 && dtype != DType::complex64)
    fields.reject("precision", "of a contraction of float32 or complex64");
  return name == "tf32" ? Precision::tf32 : Precision::tf32x3;
}

Step readContraction(const Fields& fields, const Program& program) {
  if (program.device->isHost()) fields.reject("kind", "one the CPU runs, not a contraction");
  ContractionStep step{};
  step.dtype = values::productDType(fields.value("dtype"), fields.path("dtype"));
  step.precision = readPrecision(fields, step.dtype);
  step.sizes = fields.integers("sizes");
  if (std::any_of(step.sizes.begin(), step.sizes.end(), [](int64_t size) { return size < 1; }))
    fields.reject("sizes", "numbers from 1 on");
  step.left = readTensor(fields.object("left"), step, program);
  step.right = readTensor(fields.object("right"), step, program);
  step.result = readTensor(fields.object("result"), step, program);
  step.alpha = readFactor(fields, "alpha");
  step.beta = readFactor(fields, "beta");
  if (fields.has("addend")) step.addend = readTensor(fields.object("addend"), step, program);
  if (step.addend.has_value() != (step.beta != 0)) fields.reject("addend", "where beta is not 0");
  if (step.addend &&
      (step.addend->labels != step.result.labels || step.addend->strides != step.result.strides))
    fields.reject("addend", "as the result lies");
  std::vector<size_t> byteLengths;
  for (const BufferSpec& buffer : program.buffers)
    byteLengths.push_back(buffer.windowed ? SIZE_MAX : buffer.byteLength);
  checkExtents(step, byteLengths, fields.path());
  checkWritable(step.result.buffer, program, fields.path("result"));
  step.workspace = readWorkspace(fields, 0, program);
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
    if (isElsewhere != (buffer < 0) || (wanted[i].isOutput && map.result >= 0) ||
        (buffer >= 0 && program.buffers[buffer].byteLength < bytesOf(i)))
      values::reject(values::item(fields.path("buffers"), i), "memory of what is read");
    if (wanted[i].isOutput) map.result = static_cast<int>(i);
  }
  if (map.result < 0) fields.reject("tape", "one with a result");
  if (bytesOf(isPrologue ? map.result : map.given) != bytes)
    fields.reject("tape", "of the routine's elements");
  try {
    cpu::checkElementMap(*map.tape, wanted[map.result].elementCount);
    if (!isPrologue && wanted[map.given].elementCount != wanted[map.result].elementCount)
      throw std::invalid_argument("a map of the routine's elements");
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
  const bool takesMaps = isHost && step.routine->takesMaps;
  if ((fields.has("prologue") || fields.has("epilogue")) && !takesMaps)
    fields.reject("name", "a routine that takes maps: " + step.name);
  if (fields.has("prologue")) {
    step.prologue = readRoutineMap(fields.object("prologue"), program, need.operands[0], true);
    need.operands.erase(need.operands.begin());
  }
  if (fields.has("epilogue")) {
    step.epilogue = readRoutineMap(fields.object("epilogue"), program, need.results[0], false);
    const cpu::Buffer& result = step.epilogue->tape->buffers[step.epilogue->result];
    need.results[0] =
        static_cast<size_t>(result.elementCount) * kElementBytes[static_cast<int>(result.dtype)];
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

Step readStep(const Fields& fields, Program& program) {
  const std::string kind = fields.text("kind");
  std::string kinds;
  for (const StepReader& reader : kStepReaders) {
    if (kind == reader.kind) return reader.read(fields, program);
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

std::string nameOf(const MatmulStep& step) {
  std::string text = "matmul ";
  if (matrixCount(step) != 1) text += std::to_string(matrixCount(step)) + " x ";
  return text + "(" + std::to_string(step.m) + ", " + std::to_string(step.k) + ") @ (" +
         std::to_string(step.k) + ", " + std::to_string(step.n) + ")" +
         (step.epilogue ? " with an epilogue" : "");
}

void checkExtents(const MatmulStep& step, const std::vector<size_t>& byteLengths, const std::string& field) {
  const auto check = [&](const MatrixOperand& operand, int64_t rows, int64_t columns, DType dtype,
                         const char* name) {
    if (step.batch == 0 || rows == 0 || columns == 0) return;
    __int128 low = operand.offset;
    __int128 high = operand.offset;
    const auto extend = [&](int64_t size, int64_t stride) {
      const __int128 reach = static_cast<__int128>(size - 1) * stride;
      (reach < 0 ? low : high) += reach;
    };
    extend(step.batch, operand.batchStride);
    for (size_t axis = 0; axis < step.outer.size(); axis++)
      extend(step.outer[axis], operand.outerStrides[axis]);
    extend(rows, operand.rowStride);
    extend(columns, operand.columnStride);
    const __int128 elements = byteLengths[operand.buffer] / kElementBytes[static_cast<int>(dtype)];
    if (low < 0 || high >= elements) values::reject(field + name, "inside its buffer");
  };
  check(step.a, step.m, step.k, step.dtype, ".a");
  check(step.b, step.k, step.n, step.dtype, ".b");
  check(step.c, step.m, step.n, step.resultDType(), ".c");
  if (!step.epilogue) return;
  const Epilogue& epilogue = *step.epilogue;
  if (epilogue.addend) check(*epilogue.addend, step.m, step.n, epilogue.dtype, ".epilogue.addend");
  const MatrixOperand row{
      epilogue.bias, epilogue.biasOffset, 0, 0, 1, std::vector<int64_t>(step.outer.size(), 0)};
  if (epilogue.bias >= 0) check(row, 1, step.n, epilogue.dtype, ".epilogue.bias");
}

std::string nameOf(const ContractionStep& step) {
  const auto letters = [](const TensorOperand& operand) {
    std::string text;
    for (const int32_t label : operand.labels)
      text += label < 26 ? std::string(1, static_cast<char>('a' + label)) : "_" + std::to_string(label);
    return text;
  };
  return "contraction " + letters(step.left) + "," + letters(step.right) + "->" + letters(step.result);
}

void checkExtents(const ContractionStep& step, const std::vector<size_t>& byteLengths,
                  const std::string& field) {
  const auto check = [&](const TensorOperand& operand, const char* name) {
    __int128 last = operand.offset;
    for (size_t axis = 0; axis < operand.labels.size(); axis++)
      last += static_cast<__int128>(step.sizes[operand.labels[axis]] - 1) * operand.strides[axis];
    const __int128 elements = byteLengths[operand.buffer] / kElementBytes[static_cast<int>(step.dtype)];
    if (operand.offset < 0 || last >= elements) values::reject(field + name, "inside its buffer");
  };
  check(step.left, ".left");
  check(step.right, ".right");
  check(step.result, ".result");
  if (step.addend) check(*step.addend, ".addend");
}
}  // namespace weft
