#include "runtime/product-steps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/device.h"
#include "runtime/product-batches.h"
#include "runtime/step-fields.h"
#include "runtime/values.h"

namespace weft {
namespace {

constexpr int64_t kMaxInteger = values::kMaxSafeInteger;

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

// Rows of windows may be further apart than those of the buffer: their sweep checks them.
ByteLengthOf byteLengthsOf(const Program& program) {
  return [&program](int position) {
    const BufferSpec& buffer = program.buffers[position];
    return buffer.windowed ? SIZE_MAX : buffer.byteLength;
  };
}

}  // namespace

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
  checkExtents(step, byteLengthsOf(program), fields.path());
  checkWritable(step.c.buffer, program, fields.path("c"));
  step.workspace = readWorkspace(fields, 0, program);
  return step;
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
  checkExtents(step, byteLengthsOf(program), fields.path());
  checkWritable(step.result.buffer, program, fields.path("result"));
  step.workspace = readWorkspace(fields, 0, program);
  return step;
}

std::string nameOf(const MatmulStep& step) {
  std::string text = "matmul ";
  if (matrixCount(step) != 1) text += std::to_string(matrixCount(step)) + " x ";
  return text + "(" + std::to_string(step.m) + ", " + std::to_string(step.k) + ") @ (" +
         std::to_string(step.k) + ", " + std::to_string(step.n) + ")" +
         (step.epilogue ? " with an epilogue" : "");
}

void checkExtents(const MatmulStep& step, const ByteLengthOf& byteLengthOf, const std::string& field) {
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
    const __int128 elements = byteLengthOf(operand.buffer) / kElementBytes[static_cast<int>(dtype)];
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
      text += label < 26 ? std::string(1, static_cast<char>('a' + label))
                         : std::string("_").append(std::to_string(label));
    return text;
  };
  return "contraction " + letters(step.left) + "," + letters(step.right) + "->" + letters(step.result);
}

void checkExtents(const ContractionStep& step, const ByteLengthOf& byteLengthOf, const std::string& field) {
  const auto check = [&](const TensorOperand& operand, const char* name) {
    __int128 last = operand.offset;
    for (size_t axis = 0; axis < operand.labels.size(); axis++)
      last += static_cast<__int128>(step.sizes[operand.labels[axis]] - 1) * operand.strides[axis];
    const __int128 elements = byteLengthOf(operand.buffer) / kElementBytes[static_cast<int>(step.dtype)];
    if (operand.offset < 0 || last >= elements) values::reject(field + name, "inside its buffer");
  };
  check(step.left, ".left");
  check(step.right, ".right");
  check(step.result, ".result");
  if (step.addend) check(*step.addend, ".addend");
}

}  // namespace weft
