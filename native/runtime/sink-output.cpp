#include "runtime/sink-output.h"

#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/fields.h"
#include "runtime/values.h"

namespace weft {
namespace {

// Writes to one disk gain little from more.
constexpr size_t kThreads = 2;

std::shared_ptr<HostSink> readSink(const Fields& output, size_t byteLength) {
  const auto fd = static_cast<int>(output.integer("fd", 0, INT32_MAX));
  const std::string path = output.text("path");
  std::optional<uint32_t> start;
  if (output.has("checksum")) start = static_cast<uint32_t>(output.integer("checksum", 0, UINT32_MAX));
  return std::make_shared<FileSink>(duplicate(fd, path), path,
                                    static_cast<uint64_t>(output.integer("byteOffset")), byteLength,
                                    values::wordByteLength(output.value("swap"), output.path("swap")), start);
}

class ReserveTask : public NativeTask {
 public:
  ReserveTask(FileDescriptor file, uint64_t byteLength, std::string path)
      : file_(std::move(file)), byteLength_(byteLength), path_(std::move(path)) {}
  void run() override { reserve(file_.get(), byteLength_, path_); }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }

 private:
  const FileDescriptor file_;
  const uint64_t byteLength_;
  const std::string path_;
};

class WriteTask : public BlockingTask {
 public:
  WriteTask(std::vector<std::shared_ptr<HostSink>> sinks, const void* data)
      : sinks_(std::move(sinks)), data_(data) {}
  void run() override {
    for (const auto& sink : sinks_) writeAll(*sink, data_, cancelFlag());
  }
  Napi::Value result(Napi::Env env) override {
    Napi::Array sums = Napi::Array::New(env, sinks_.size());
    for (uint32_t i = 0; i < sinks_.size(); i++) sums.Set(i, sinks_[i]->checksum());
    return sums;
  }

 private:
  const std::vector<std::shared_ptr<HostSink>> sinks_;
  const void* const data_;
};

}  // namespace

std::vector<std::shared_ptr<HostSink>> readSinks(const Napi::Value& value, size_t byteLength,
                                                 const std::string& field) {
  const Napi::Array list = values::array(value, field);
  std::vector<std::shared_ptr<HostSink>> sinks;
  for (uint32_t i = 0; i < list.Length(); i++)
    sinks.push_back(readSink(Fields(list.Get(i), values::item(field, i)), byteLength));
  return sinks;
}

Executor& fileExecutor() {
  static Executor& executor = makeExecutor("weft-files", kThreads);
  return executor;
}

Napi::Value writeFiles(const Napi::CallbackInfo& info) {
  if (!info[0].IsArrayBuffer()) values::reject("bytes", "an ArrayBuffer");
  Napi::ArrayBuffer bytes = info[0].As<Napi::ArrayBuffer>();
  auto sinks = readSinks(info[1], bytes.ByteLength(), "files");
  const auto task = std::make_shared<WriteTask>(std::move(sinks), bytes.Data());
  task->hold(bytes);
  return Environment::of(info.Env()).start(info.Env(), task, fileExecutor());
}

Napi::Value reserveFile(const Napi::CallbackInfo& info) {
  const auto fd = static_cast<int>(values::integer(info[0], "fd", 0, INT32_MAX));
  const int64_t byteLength = values::integer(info[1], "byteLength");
  const std::string path = values::text(info[2], "path");
  const auto task =
      std::make_shared<ReserveTask>(duplicate(fd, path), static_cast<uint64_t>(byteLength), path);
  return Environment::of(info.Env()).start(info.Env(), task, fileExecutor());
}

}  // namespace weft
