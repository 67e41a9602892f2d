#include "cuda/modules.h"

#include <iterator>

#include "runtime/failure.h"
#include "runtime/loop.h"
#include "runtime/recorder.h"
#include "runtime/sweep.h"

namespace weft::cuda {
namespace {

// Modules kept for programs that no longer exist.
constexpr size_t kKeptModules = 512;
// Dynamic shared memory beyond this has to be asked for.
constexpr unsigned kPlainSharedByteLength = 48 * 1024;

}  // namespace

Module::Module(const Image& image) {
  const recorder::HostSpan span(recorder::Kind::load, "a module", image.bytes.size());
  WEFT_CU(cuModuleLoadData, &module_, image.bytes.data());
}

// Fails only on a lost device, with which the module went.
Module::~Module() { static_cast<void>(driver().cuModuleUnload(module_)); }

CUfunction Module::function(const std::string& name, unsigned sharedByteLength) {
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    CUfunction function = nullptr;
    WEFT_CU(cuModuleGetFunction, &function, module_, name.c_str());
    found = functions_.emplace(name, Function{function, kPlainSharedByteLength}).first;
  }
  Function& entry = found->second;
  if (sharedByteLength > entry.sharedByteLength) {
    WEFT_CU(cuFuncSetAttribute, entry.function, kFunctionMaxDynamicShared,
            static_cast<int>(sharedByteLength));
    entry.sharedByteLength = sharedByteLength;
  }
  return entry.function;
}

namespace {

void addLaunch(const LaunchStep& launch, ProgramCode& code) {
  Module& module = *code.modules[launch.image];
  code.launches.push_back({module.function(launch.function, launch.sharedByteLength), code.parameters.size(),
                           code.tensorMaps.size()});
  const size_t firstMap = code.tensorMaps.size();
  if (!launch.tensorMaps.empty() && !driverState().hasTensorMaps())
    throw Failure(FailureCode::device,
                  "[cuda] expected a driver that encodes tensor maps, of CUDA 12 or later");
  for (const TensorMap& map : launch.tensorMaps) code.tensorMaps.emplace_back(map);
  const auto valueOf = [&](const LaunchStep::Argument& argument) -> const void* {
    switch (argument.kind) {
      case LaunchArgument::buffer:
        return &code.addresses[argument.at];
      case LaunchArgument::block:
        if (argument.at >= code.firstBlock.size()) return &code.window[argument.at - code.firstBlock.size()];
        return &code.firstBlock[argument.at];
      case LaunchArgument::steps:
        return &code.loopSteps;
      case LaunchArgument::done:
        return &code.loopDone;
      case LaunchArgument::tensorMap:
        return code.tensorMaps[firstMap + argument.at].words();
      case LaunchArgument::bytes:
        break;
    }
    if (argument.number >= 0) return &code.numbers[static_cast<size_t>(argument.number) * kConstantBytes];
    return launch.scalars.data() + argument.at;
  };
  // The driver only reads parameters.
  for (const LaunchStep::Argument& argument : launch.args)
    code.parameters.push_back(const_cast<void*>(valueOf(argument)));
}

void addLaunches(const Step& step, ProgramCode& code) {
  if (const auto* launch = std::get_if<LaunchStep>(&step)) addLaunch(*launch, code);
  if (const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step)) {
    for (const SweepBody& part : (*sweep)->body) addLaunches(part.step, code);
  }
  if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step)) {
    for (const Step& part : (*loop)->body) addLaunches(part, code);
    if (const auto& check = (*loop)->check) {
      Module& module = *code.modules[check->image];
      code.loopChecks[loop->get()] = {module.function(check->begin, 0), module.function(check->goOn, 0)};
    }
  }
}

}  // namespace

std::unique_ptr<ProgramCode> Modules::link(const Program& program) {
  auto code = std::make_unique<ProgramCode>();
  for (const auto& image : program.images) code->modules.push_back(get(*image));
  code->addresses.resize(program.buffers.size());
  code->numbers.resize(program.numberCount * kConstantBytes);
  for (const Step& step : program.steps) addLaunches(step, *code);
  dropOldest();
  return code;
}

std::shared_ptr<Module> Modules::get(const Image& image) {
  if (const auto found = byKey_.find(image.key); found != byKey_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->module;
  }
  entries_.push_front({image.key, std::make_shared<Module>(image)});
  byKey_[image.key] = entries_.begin();
  return entries_.front().module;
}

void Modules::dropOldest() {
  // Only modules that nothing but this list holds: programs may be dropped, but never made, meanwhile.
  for (auto it = entries_.end(); entries_.size() > kKeptModules && it != entries_.begin();) {
    --it;
    if (it->module.use_count() > 1) continue;
    byKey_.erase(it->key);
    it = entries_.erase(it);
  }
}

}  // namespace weft::cuda
