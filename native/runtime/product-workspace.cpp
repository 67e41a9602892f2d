#include "runtime/product-workspace.h"

#include "cpu/cpu.h"
#include "cpu/routines.h"
#include "runtime/values.h"

namespace weft {
namespace {

cpu::Matrix readMatrix(const Napi::Object& product, const char* name) {
  const Napi::Object operand = values::object(product.Get(name), name);
  const auto stride = [&](const char* field) {
    return values::integer(operand.Get(field), std::string(name) + "." + field, -values::kMaxSafeInteger);
  };
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
  const Napi::Object product = values::object(info[0], "product");
  const auto size = [&](const char* name) { return values::integer(product.Get(name), name); };
  const cpu::Matmul job{values::productDType(product.Get("dtype"), "dtype"),
                        size("m"),
                        size("n"),
                        size("k"),
                        size("batch"),
                        readMatrix(product, "a"),
                        readMatrix(product, "b"),
                        readMatrix(product, "c")};
  return valueOf(info.Env(), cpu::workspaceOf(job, cpu::sharedPool()));
}

Napi::Value routineWorkspace(const Napi::CallbackInfo& info) {
  const Napi::Object spec = values::object(info[0], "routine");
  const std::string name = values::text(spec.Get("name"), "name");
  const cpu::Routine* const routine = cpu::findRoutine(name);
  if (routine == nullptr) values::reject("name", "a routine of the CPU: " + name);
  std::vector<int64_t> numbers;
  const Napi::Array list = values::array(spec.Get("numbers"), "numbers");
  for (uint32_t i = 0; i < list.Length(); i++) numbers.push_back(values::integer(list.Get(i), "numbers"));
  return valueOf(info.Env(), routine->need(numbers, cpu::sharedPool()).workspace);
}

}  // namespace weft
