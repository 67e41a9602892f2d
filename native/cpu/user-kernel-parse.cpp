#include <stdexcept>
#include <string>

#include "cpu/user-kernel.h"

namespace weft::cpu {
namespace {

constexpr int64_t kMany = int64_t{1} << 53;
constexpr int64_t kMostList = 1 << 20;
constexpr int kDeepest = 200;

class Reader {
 public:
  explicit Reader(const std::vector<int64_t>& numbers) : numbers_(numbers) {}

  UserKernel kernel() {
    UserKernel kernel;
    for (int64_t& size : kernel.grid) size = next(0, kMany);
    for (int64_t& size : kernel.block) size = next(1, 1024);
    if (kernel.threads() > 1024) malformed("threads");
    kernel.cutAxis = orNone(1);
    kernel.isChecked = next(0, 1) == 1;
    kernel.inputs.resize(count());
    for (KernelArray& input : kernel.inputs) array(input);
    kernel.outputs.resize(count());
    for (KernelOutput& output : kernel.outputs) {
      array(output);
      output.part = next(0, kMany);
      output.initial = static_cast<Initial>(next(0, 2));
      output.input = next(0, std::max<int64_t>(0, static_cast<int64_t>(kernel.inputs.size()) - 1));
      output.value = bits();
      const bool isInput = output.initial == Initial::input;
      if (isInput && (kernel.inputs.empty() ||
                      kernel.inputs[static_cast<size_t>(output.input)].byteLength() != output.byteLength()))
        malformed("what an output begins as");
    }
    kernel.scalars.resize(count());
    for (Bits& scalar : kernel.scalars) scalar = bits();
    program(kernel);
    if (at_ != numbers_.size()) malformed("length");
    return kernel;
  }

 private:
  [[noreturn]] static void malformed(const std::string& what) {
    throw std::invalid_argument(what + " of a kernel");
  }

  int64_t next(int64_t least, int64_t most) {
    if (at_ == numbers_.size()) malformed("length");
    const int64_t value = numbers_[at_++];
    if (value < least || value > most) malformed("a number");
    return value;
  }
  // A number up to `most`, or -1, as one more.
  int orNone(int64_t most) { return static_cast<int>(next(0, most + 1)) - 1; }
  size_t count() { return static_cast<size_t>(next(0, kMostList)); }
  DType dtype() { return static_cast<DType>(next(0, kDTypes - 1)); }
  Bits bits() {
    Bits bits;
    for (uint32_t& word : bits) word = static_cast<uint32_t>(next(0, UINT32_MAX));
    return bits;
  }

  void array(KernelArray& out) {
    out.dtype = dtype();
    out.shape.resize(count());
    for (int64_t& size : out.shape) size = next(0, kMany);
  }

  void program(UserKernel& kernel) {
    kernel.registers.resize(count());
    for (DType& each : kernel.registers) each = dtype();
    kernel.arrays.resize(count());
    for (KernelMemory& memory : kernel.arrays) {
      memory.kind = static_cast<MemoryKind>(next(0, 2));
      const size_t list = memory.kind == MemoryKind::input ? kernel.inputs.size() : kernel.outputs.size();
      memory.at =
          memory.kind == MemoryKind::shared ? next(1, 1 << 20) : next(0, static_cast<int64_t>(list) - 1);
      memory.dtype = dtype();
      if (memory.kind != MemoryKind::shared) {
        const auto at = static_cast<size_t>(memory.at);
        const DType own =
            memory.kind == MemoryKind::input ? kernel.inputs[at].dtype : kernel.outputs[at].dtype;
        if (own != memory.dtype) malformed("dtype of an array");
      }
    }
    kernel.scopes = static_cast<int>(next(1, kMostList));
    registry_ = &Registry::of(currentIsa());
    kernel_ = &kernel;
    kernel.body = list(0);
  }

  int reg() { return static_cast<int>(next(0, static_cast<int64_t>(kernel_->registers.size()) - 1)); }
  DType dtypeOf(int reg) const { return kernel_->registers[static_cast<size_t>(reg)]; }
  int boolean() {
    const int found = reg();
    if (dtypeOf(found) != DType::boolean) malformed("a condition");
    return found;
  }
  int indexRegister() {
    const int found = reg();
    if (dtypeOf(found) != DType::int32 && dtypeOf(found) != DType::int64) malformed("an index");
    return found;
  }
  int scope() { return static_cast<int>(next(0, kernel_->scopes - 1)); }

  KernelList list(int depth) {
    if (depth > kDeepest) malformed("depth");
    KernelList list(count());
    for (KernelInstruction& each : list) instruction(each, depth);
    return list;
  }

  void place(KernelInstruction& out) {
    out.line = static_cast<int>(next(0, kMostList));
    out.column = static_cast<int>(next(0, INT32_MAX));
  }

  // The array of an access, whose elements have the dtype of a register.
  void element(KernelInstruction& out, int value, bool isWritten) {
    const KernelMemory& memory = kernel_->arrays[static_cast<size_t>(out.array)];
    if (memory.dtype != dtypeOf(value)) malformed("dtype of an element");
    if (isWritten && memory.kind == MemoryKind::input) malformed("an input that is written");
  }
  int arrayAt() { return static_cast<int>(next(0, static_cast<int64_t>(kernel_->arrays.size()) - 1)); }

  void map(KernelInstruction& out) {
    out.to = reg();
    std::string name(count(), ' ');
    for (char& c : name) c = static_cast<char>(next(32, 126));
    out.args.resize(static_cast<size_t>(next(1, 3)));
    for (int& arg : out.args) arg = reg();
    out.function = registry_->op(name.c_str(), dtypeOf(out.args.back()));
    if (!out.function) malformed("op " + name);
  }

  // Registers by their numbers and 1, 0 for none.
  int registerOrNone() { return orNone(static_cast<int64_t>(kernel_->registers.size()) - 1); }

  void warp(KernelInstruction& out) {
    out.warp = static_cast<WarpOp>(next(0, static_cast<int64_t>(WarpOp::sync)));
    out.to = reg();
    out.mask = registerOrNone();
    out.from = registerOrNone();
    out.lane = registerOrNone();
    out.width = static_cast<int>(next(1, kWarpLanes));
    const auto is = [&](int found, DType dtype) { return found >= 0 && dtypeOf(found) == dtype; };
    const bool isMask = out.warp == WarpOp::activemask ? out.mask < 0 : is(out.mask, DType::uint32);
    if (!isMask || (out.width & (out.width - 1)) != 0 || !isWarpValue(out, is)) malformed("a warp function");
  }

  // Whether the registers of a warp function have dtypes that it takes.
  template <typename Is>
  bool isWarpValue(const KernelInstruction& it, const Is& is) const {
    switch (it.warp) {
      case WarpOp::shfl:
      case WarpOp::shflUp:
      case WarpOp::shflDown:
      case WarpOp::shflXor:
        return it.from >= 0 && is(it.to, dtypeOf(it.from)) && is(it.lane, DType::int32) &&
               isExchanged(dtypeOf(it.from));
      case WarpOp::ballot:
        return is(it.to, DType::uint32) && is(it.from, DType::boolean);
      case WarpOp::any:
      case WarpOp::all:
        return is(it.to, DType::boolean) && is(it.from, DType::boolean);
      case WarpOp::matchAny:
      case WarpOp::matchAll:
        return is(it.to, DType::uint32) && it.from >= 0 && isExchanged(dtypeOf(it.from));
      case WarpOp::activemask:
        return is(it.to, DType::uint32);
      case WarpOp::sync:
        return true;
      default:
        return it.from >= 0 && is(it.to, dtypeOf(it.from)) &&
               (is(it.from, DType::int32) || is(it.from, DType::uint32));
    }
  }

  static bool isExchanged(DType dtype) {
    return dtype == DType::int32 || dtype == DType::uint32 || dtype == DType::int64 ||
           dtype == DType::uint64 || dtype == DType::float32 || dtype == DType::float64;
  }

  void instruction(KernelInstruction& out, int depth) {
    out.code = static_cast<KernelCode>(next(0, static_cast<int64_t>(KernelCode::leave)));
    switch (out.code) {
      case KernelCode::map:
        return map(out);
      case KernelCode::cast:
        out.to = reg();
        out.args = {reg()};
        out.function = registry_->cast(dtypeOf(out.args[0]), dtypeOf(out.to));
        if (!out.function) malformed("a cast");
        return;
      case KernelCode::constant:
        out.to = reg();
        out.bits = bits();
        return;
      case KernelCode::number:
        out.to = reg();
        out.number = static_cast<KernelNumber>(next(0, static_cast<int64_t>(KernelNumber::scalar)));
        return number(out);
      case KernelCode::copy:
        out.to = reg();
        out.from = reg();
        if (dtypeOf(out.to) != dtypeOf(out.from)) malformed("dtype of a copy");
        return;
      case KernelCode::read:
        out.to = reg();
        out.array = arrayAt();
        out.index = indexRegister();
        element(out, out.to, false);
        return place(out);
      case KernelCode::write:
        out.array = arrayAt();
        out.index = indexRegister();
        out.from = reg();
        element(out, out.from, true);
        return place(out);
      case KernelCode::atomic:
        out.atomic = static_cast<AtomicOp>(next(0, static_cast<int64_t>(AtomicOp::compare)));
        out.to = reg();
        out.array = arrayAt();
        out.index = indexRegister();
        out.from = reg();
        out.compare = orNone(static_cast<int64_t>(kernel_->registers.size()) - 1);
        element(out, out.from, true);
        if (dtypeOf(out.to) != dtypeOf(out.from) || (out.compare < 0) != (out.atomic != AtomicOp::compare))
          malformed("an atomic operation");
        return place(out);
      case KernelCode::bound:
        out.index = indexRegister();
        out.from = indexRegister();
        return place(out);
      case KernelCode::sync:
        return place(out);
      case KernelCode::warp:
        warp(out);
        return place(out);
      case KernelCode::branch:
        out.from = boolean();
        out.first = list(depth + 1);
        out.second = list(depth + 1);
        return;
      case KernelCode::loop:
        out.from = boolean();
        out.scope = scope();
        out.end = scope();
        out.first = list(depth + 1);
        out.second = list(depth + 1);
        out.third = list(depth + 1);
        return;
      case KernelCode::scope:
        out.scope = scope();
        out.first = list(depth + 1);
        return;
      case KernelCode::leave:
        out.scope = scope();
        return;
    }
  }

  void number(KernelInstruction& out) {
    const DType type = dtypeOf(out.to);
    if (out.number == KernelNumber::scalar) {
      out.from = static_cast<int>(next(0, static_cast<int64_t>(kernel_->scalars.size()) - 1));
      next(0, 0);
      return;
    }
    if (type != DType::int32 && type != DType::int64) malformed("dtype of a number");
    if (out.number != KernelNumber::size) {
      out.axis = static_cast<int>(next(0, 2));
      next(0, 0);
      return;
    }
    out.array = arrayAt();
    const std::vector<int64_t>* shape = kernel_->shapeOf(out.array);
    if (shape == nullptr) malformed("size of shared memory");
    out.axis = orNone(static_cast<int64_t>(shape->size()) - 1);
  }

  const std::vector<int64_t>& numbers_;
  size_t at_ = 0;
  const Registry* registry_ = nullptr;
  UserKernel* kernel_ = nullptr;
};

}  // namespace

int64_t KernelArray::size() const {
  int64_t size = 1;
  for (const int64_t length : shape) size *= length;
  return size;
}

int64_t KernelArray::byteLength() const { return size() * byteLengthOf(dtype); }

const std::vector<int64_t>* UserKernel::shapeOf(int array) const {
  const KernelMemory& memory = arrays[static_cast<size_t>(array)];
  const auto at = static_cast<size_t>(memory.at);
  if (memory.kind == MemoryKind::input) return &inputs[at].shape;
  return memory.kind == MemoryKind::output ? &outputs[at].shape : nullptr;
}

int64_t UserKernel::sizeOf(int array) const {
  const std::vector<int64_t>* shape = shapeOf(array);
  if (shape == nullptr) return arrays[static_cast<size_t>(array)].at;
  int64_t size = 1;
  for (const int64_t length : *shape) size *= length;
  return size;
}

UserKernel readUserKernel(const std::vector<int64_t>& numbers) { return Reader(numbers).kernel(); }

}  // namespace weft::cpu
