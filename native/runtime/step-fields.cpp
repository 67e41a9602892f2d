#include "runtime/step-fields.h"

#include "runtime/values.h"

namespace weft {

int readBuffer(const Fields& fields, const char* name, const Program& program) {
  return static_cast<int>(fields.integer(name, 0, lastOf(program.buffers.size())));
}

std::vector<int> readBuffers(const Fields& fields, const char* name, const Program& program) {
  return fields.list(name, [&](const Napi::Value& item, const std::string& path) {
    return static_cast<int>(values::integer(item, path, 0, lastOf(program.buffers.size())));
  });
}

void checkWritable(int buffer, const Program& program, const std::string& path) {
  if (program.buffers[buffer].isReadOnly) values::reject(path, "an output or a temporary");
}

int readWorkspace(const Fields& fields, size_t byteLength, const Program& program) {
  if (!fields.has("workspace") && byteLength == 0) return -1;
  const int workspace = readBuffer(fields, "workspace", program);
  const BufferSpec& spec = program.buffers[workspace];
  if (spec.role != Role::temporary || spec.windowed || spec.byteLength < byteLength)
    fields.reject("workspace", "a temporary of at least " + std::to_string(byteLength) + " bytes");
  return workspace;
}

}  // namespace weft
