#include "runtime/product-workspace.h"

#include "cpu/cpu.h"
#include "cpu/routines.h"
#include "runtime/fields.h"

namespace weft {
namespace {

cpu::Matrix readMatrix(const Fields& operand) {
  const auto stride = [&](const char* name) { return operand.integer(name, -values::kMaxSafeInteger); };
  return {nullptr, stride("batchStride"), stride("rowStride"), stride("columnStride")};
}

Napi::Value valueOf(Napi::Env env, const cpu::WorkspaceNeed& need) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("most", static_cast<double>(need.most));
  result.Set("least", static_cast<double>(need.least));
  return result;
}

}  // namespace

Napi::Value productWorkspace(const Napi::CallbackInfo& info) {
  const Fields product(info[0], "");
  const cpu::Matmul job{values::productDType(product.value("dtype"), "dtype"),
                        product.integer("m"),
                        product.integer("n"),
                        product.integer("k"),
                        product.integer("batch"),
                        readMatrix(product.object("a")),
                        readMatrix(product.object("b")),
                        readMatrix(product.object("c"))};
  return valueOf(info.Env(), cpu::workspaceOf(job, cpu::sharedPool()));
}

Napi::Value routineWorkspace(const Napi::CallbackInfo& info) {
  const Fields spec(info[0], "");
  const std::string name = spec.text("name");
  const cpu::Routine* const routine = cpu::findRoutine(name);
  if (routine == nullptr) spec.reject("name", "a routine of the CPU: " + name);
  return valueOf(info.Env(), routine->need(spec.integers("numbers"), cpu::sharedPool()).workspace);
}

}  // namespace weft
