#include "runtime/product-workspace.h"

#include "cpu/cpu.h"
#include "cpu/routines.h"
#include "runtime/fields.h"

namespace weft {
namespace {

cpu::Matrix readMatrix(const Fields& operand, size_t outerAxes) {
  const auto stride = [&](const char* name) { return operand.integer(name, -values::kMaxSafeInteger); };
  cpu::Matrix matrix{nullptr, stride("batchStride"), stride("rowStride"), stride("columnStride")};
  if (outerAxes == 0) return matrix;
  matrix.outerStrides = operand.integers("outerStrides", -values::kMaxSafeInteger);
  if (matrix.outerStrides.size() != outerAxes) operand.reject("outerStrides", "one for each outer axis");
  return matrix;
}

Napi::Value valueOf(Napi::Env env, const cpu::WorkspaceNeed& need) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("most", static_cast<double>(need.most));
  result.Set("least", static_cast<double>(need.least));
  return result;
}

cpu::RoutineNeed needOf(const Napi::CallbackInfo& info) {
  const Fields spec(info[0], "");
  const std::string name = spec.text("name");
  const cpu::Routine* const routine = cpu::findRoutine(name);
  if (routine == nullptr) spec.reject("name", "a routine of the CPU: " + name);
  return routine->need(spec.integers("numbers"), cpu::sharedPool());
}

}  // namespace

Napi::Value productWorkspace(const Napi::CallbackInfo& info) {
  const Fields product(info[0], "");
  std::vector<int64_t> outer;
  if (product.has("outer")) outer = product.integers("outer", 1);
  const cpu::Matmul job{values::productDType(product.value("dtype"), "dtype"),
                        product.integer("m"),
                        product.integer("n"),
                        product.integer("k"),
                        product.integer("batch"),
                        readMatrix(product.object("a"), outer.size()),
                        readMatrix(product.object("b"), outer.size()),
                        readMatrix(product.object("c"), outer.size()),
                        outer};
  return valueOf(info.Env(), cpu::workspaceOf(job, cpu::sharedPool()));
}

Napi::Value routineWorkspace(const Napi::CallbackInfo& info) {
  return valueOf(info.Env(), needOf(info).workspace);
}

Napi::Value routineLibrary(const Napi::CallbackInfo& info) {
  const cpu::RoutineNeed need = needOf(info);
  return Napi::String::New(info.Env(), need.prepared == nullptr ? std::string() : need.prepared->text());
}

}  // namespace weft
