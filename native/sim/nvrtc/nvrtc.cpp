// The simulated NVRTC: compiles the CUDA C that Weft generated with g++, and gives the shared library as a
// cubin.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "core/simulator.h"
#include "nvrtc/compiler.h"
#include "nvrtc/together.h"
#include "nvrtc/translate.h"

using namespace weft::sim;

namespace {

constexpr int kOk = 0, kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6,
              kNamesAfterCompilation = 8, kNoNamesBeforeCompilation = 9, kUnknownName = 10,
              kInternalError = 11;
constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};
constexpr int kArchitectureCount = std::size(kArchitectures);

struct Program {
  std::string source;
  std::string log;
  std::vector<char> image;
  bool isPtx = false;
  // Functions that are asked for, and their names in the image.
  std::map<std::string, std::string> names;
};

struct Options {
  int architecture = 75;
  bool virtualArchitecture = false;
  // Definitions and folders of headers.
  std::vector<std::string> further;
  // The mistake in them; empty: none.
  std::string problem;
};

Options readOptions(int count, const char* const* texts) {
  Options options;
  for (int i = 0; i < count; i++) {
    const std::string text = texts[i];
    const std::string key = "--gpu-architecture=";
    if (text.rfind(key, 0) == 0) {
      const std::string name = text.substr(key.size());
      const size_t digits = name.find('_') + 1;
      options.virtualArchitecture = name.rfind("compute_", 0) == 0;
      options.architecture = digits == 0 ? 0 : std::atoi(name.c_str() + digits);
      const bool known = std::find(std::begin(kArchitectures), std::end(kArchitectures),
                                   options.architecture) != std::end(kArchitectures);
      if (!known || (name.rfind("sm_", 0) != 0 && !options.virtualArchitecture))
        options.problem = "nvrtc: error: invalid value for --gpu-architecture (-arch)";
    } else if (text.rfind("-D", 0) == 0 || text.rfind("-I", 0) == 0) {
      options.further.push_back(text);
    } else if (text != "--std=c++17" && text != "--fmad=true" && text != "--fmad=false" &&
               text != "--disable-warnings" && text != "--minimal" && text != "--use_fast_math") {
      options.problem = "nvrtc: error: unrecognized option '" + text + "' found";
    }
  }
  return options;
}

std::string linesOf(int count, const char* const* texts) {
  std::string lines;
  for (int i = 0; i < count; i++) lines += std::string(i == 0 ? "" : "\n") + texts[i];
  return lines;
}

struct State {
  std::mutex mutex;
  std::set<Program*> programs;
};

State& state() {
  static State& it = *new State();
  return it;
}

bool isLive(Program* program) {
  const std::lock_guard lock(state().mutex);
  if (state().programs.count(program) > 0) return true;
  Simulator& simulator = Simulator::get();
  const std::lock_guard simulatorLock(simulator.mutex);
  simulator.misuse("NVRTC is given a program that does not exist");
  return false;
}

// Counts a call and gives the status it is to fail with.
int meetFault(const char* call) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  return simulator.meetFaults(call);
}

void countPrograms(int change) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  simulator.libraryObjects["nvrtcPrograms"] += static_cast<size_t>(change);
}

int give(Program* program, const std::vector<char>* bytes, size_t* size) {
  if (!isLive(program)) return kInvalidProgram;
  return *size = bytes == nullptr ? 0 : bytes->size(), kOk;
}

int give(Program* program, const std::vector<char>& bytes, char* out) {
  if (!isLive(program)) return kInvalidProgram;
  return std::memcpy(out, bytes.data(), bytes.size()), kOk;
}

}  // namespace

#define WEFT_SIM_NVRTC extern "C" __attribute__((visibility("default")))

WEFT_SIM_NVRTC const char* nvrtcGetErrorString(int status) {
  switch (status) {
    case kOk:
      return "NVRTC_SUCCESS";
    case 1:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case 2:
      return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation:
      return "NVRTC_ERROR_COMPILATION";
    case 7:
      return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case kInternalError:
      return "NVRTC_ERROR_INTERNAL_ERROR";
    default:
      return "NVRTC_ERROR unknown";
  }
}

WEFT_SIM_NVRTC int nvrtcVersion(int* major, int* minor) {
  if (const int fault = meetFault("nvrtcVersion")) return fault;
  return *major = 13, *minor = 0, kOk;
}

WEFT_SIM_NVRTC int nvrtcGetNumSupportedArchs(int* count) { return *count = kArchitectureCount, kOk; }

WEFT_SIM_NVRTC int nvrtcGetSupportedArchs(int* architectures) {
  return std::copy(std::begin(kArchitectures), std::end(kArchitectures), architectures), kOk;
}

WEFT_SIM_NVRTC int nvrtcCreateProgram(Program** out, const char* source, const char*, int headerCount,
                                      const char* const*, const char* const*) {
  if (const int fault = meetFault("nvrtcCreateProgram")) return fault;
  // Weft gives no headers.
  if (source == nullptr || headerCount != 0) return kInvalidInput;
  auto* program = new Program{source, {}, {}, false, {}};
  {
    const std::lock_guard lock(state().mutex);
    state().programs.insert(program);
  }
  countPrograms(1);
  return *out = program, kOk;
}

WEFT_SIM_NVRTC int nvrtcDestroyProgram(Program** program) {
  if (!isLive(*program)) return kInvalidProgram;
  {
    const std::lock_guard lock(state().mutex);
    state().programs.erase(*program);
  }
  countPrograms(-1);
  delete *program;
  return *program = nullptr, kOk;
}

WEFT_SIM_NVRTC int nvrtcCompileProgram(Program* program, int optionCount, const char* const* texts) {
  if (!isLive(program)) return kInvalidProgram;
  if (const int fault = meetFault("nvrtcCompileProgram")) return fault;
  const Options options = readOptions(optionCount, texts);
  program->log = options.problem;
  if (!options.problem.empty()) return kInvalidOption;
  try {
    const bool hasNames = !program->names.empty();
    const std::string text = hasNames ? translateUsers(program->source, options.architecture, program->names)
                                      : translate(program->source, options.architecture);
    const bool takesFurther = hasNames || usesFurther(program->source);
    if (!takesFurther && options.further.empty())
      compileAnnounced(program->source, text, options.architecture, linesOf(optionCount, texts));
    Compilation result = compileKernel(text, takesFurther, options.further);
    program->log = std::move(result.log);
    program->image = std::move(result.image);
    program->isPtx = options.virtualArchitecture;
    return result.ok ? kOk : kCompilation;
  } catch (const std::invalid_argument& error) {
    program->log = error.what();
    return kCompilation;
  } catch (const std::exception& error) {
    program->log = error.what();
    return kInternalError;
  }
}

WEFT_SIM_NVRTC int nvrtcAddNameExpression(Program* program, const char* name) {
  if (!isLive(program)) return kInvalidProgram;
  if (const int fault = meetFault("nvrtcAddNameExpression")) return fault;
  if (!program->image.empty()) return kNamesAfterCompilation;
  program->names.emplace(name, "users_kernel_" + std::to_string(program->names.size()));
  return kOk;
}

WEFT_SIM_NVRTC int nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  if (!isLive(program)) return kInvalidProgram;
  if (program->image.empty()) return kNoNamesBeforeCompilation;
  const auto found = program->names.find(name);
  if (found == program->names.end()) return kUnknownName;
  return *lowered = found->second.c_str(), kOk;
}

WEFT_SIM_NVRTC int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  if (!isLive(program)) return kInvalidProgram;
  return *size = program->log.size() + 1, kOk;
}

WEFT_SIM_NVRTC int nvrtcGetProgramLog(Program* program, char* log) {
  if (!isLive(program)) return kInvalidProgram;
  return std::memcpy(log, program->log.c_str(), program->log.size() + 1), kOk;
}

WEFT_SIM_NVRTC int nvrtcGetCUBINSize(Program* program, size_t* size) {
  return give(program, program->isPtx ? nullptr : &program->image, size);
}

WEFT_SIM_NVRTC int nvrtcGetCUBIN(Program* program, char* image) {
  return give(program, program->image, image);
}

WEFT_SIM_NVRTC int nvrtcGetPTXSize(Program* program, size_t* size) {
  return give(program, program->isPtx ? &program->image : nullptr, size);
}

WEFT_SIM_NVRTC int nvrtcGetPTX(Program* program, char* image) { return give(program, program->image, image); }
