#include "runtime/product-workspace.h"

#include "cpu/cpu.h"
#include "runtime/values.h"

namespace weft {
namespace {

constexpr int64_t kFirstDType = 9;
constexpr int64_t kLastDType = 14;

cpu::Matrix readMatrix(const Napi::Object& product, const char* name) {
  const Napi::Object operand = values::object(product.Get(name), name);
  const auto stride = [&](const char* field) {
    return values::integer(operand.Get(field), std::string(name) + "." + field, -values::kMaxSafeInteger);
  };
  return {nullptr, stride("batchStride"), stride("rowStride"), stride("columnStride")};
}

}  // namespace

Napi::Value productWorkspace(const Napi::CallbackInfo& info) {
  const Napi::Object product = values::object(info[0], "product");
  const auto size = [&](const char* name) { return values::integer(product.Get(name), name); };
  const auto dtype =
      static_cast<int>(values::integer(product.Get("dtype"), "dtype", kFirstDType, kLastDType));
  const cpu::Matmul job{dtype,
                        size("m"),
                        size("n"),
                        size("k"),
                        size("batch"),
                        readMatrix(product, "a"),
                        readMatrix(product, "b"),
                        readMatrix(product, "c")};
  const cpu::WorkspaceNeed need = cpu::workspaceOf(job, cpu::sharedPool());
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("most", static_cast<double>(need.most));
  result.Set("least", static_cast<double>(need.least));
  return result;
}

}  // namespace weft
