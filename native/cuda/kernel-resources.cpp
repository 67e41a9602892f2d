#include "cuda/kernel-resources.h"

#include <vector>

#include "cuda/modules.h"
#include "cuda/named-device.h"
#include "cuda/resources.h"
#include "runtime/environment.h"
#include "runtime/fields.h"

namespace weft::cuda {
namespace {

struct Launched {
  std::string function;
  int threads;
  unsigned sharedByteLength;
};

struct Found {
  int registers = 0, localBytes = 0, staticShared = 0, blocks = 0;
};

Found resourcesOf(Module& module, const Launched& launch) {
  Found found;
  CUfunction function = module.function(launch.function, launch.sharedByteLength);
  const auto read = [&](FunctionAttribute which, int& value) {
    WEFT_CU(cuFuncGetAttribute, &value, static_cast<int>(which), function);
  };
  read(FunctionAttribute::registers, found.registers);
  read(FunctionAttribute::localBytes, found.localBytes);
  read(FunctionAttribute::sharedBytes, found.staticShared);
  WEFT_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, &found.blocks, function, launch.threads,
          launch.sharedByteLength);
  return found;
}

class ResourcesTask : public NativeTask {
 public:
  ResourcesTask(CudaDevice& device, Image image, std::vector<Launched> launches)
      : device_(device), image_(std::move(image)), launches_(std::move(launches)) {}

  void run() override {
    device_.use([this](Resources&) {
      Module module(image_);
      for (const Launched& launch : launches_) found_.push_back(resourcesOf(module, launch));
    });
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Array list = Napi::Array::New(env, found_.size());
    for (uint32_t i = 0; i < found_.size(); i++) {
      const Found& found = found_[i];
      Napi::Object entry = Napi::Object::New(env);
      entry.Set("registers", found.registers);
      entry.Set("localBytes", found.localBytes);
      entry.Set("sharedBytes", static_cast<double>(found.staticShared) + launches_[i].sharedByteLength);
      entry.Set("blocks", found.blocks);
      list.Set(i, entry);
    }
    return list;
  }

 private:
  CudaDevice& device_;
  const Image image_;
  const std::vector<Launched> launches_;
  std::vector<Found> found_;
};

}  // namespace

Napi::Value kernelResources(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  Image image;
  image.bytes = values::bytes(info[1], "image");
  std::vector<Launched> launches;
  const Napi::Array list = values::array(info[2], "launches");
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Fields fields(list.Get(i), values::item("launches", i));
    launches.push_back({fields.text("function"), static_cast<int>(fields.integer("threads", 1, 1024)),
                        static_cast<unsigned>(fields.integer("sharedByteLength", 0, UINT32_MAX))});
  }
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<ResourcesTask>(device, std::move(image), std::move(launches)),
             device.executor());
}

}  // namespace weft::cuda
