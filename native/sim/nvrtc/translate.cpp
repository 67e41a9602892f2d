#include "nvrtc/translate.h"

#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace weft::sim {
namespace {

struct Kernel {
  std::string name;
  std::string maxThreads;
  std::vector<std::string> parameterTypes;
};

[[noreturn]] void fail(size_t line, const std::string& what) {
  throw std::invalid_argument("weft.cu(" + std::to_string(line) + "): error: the simulator does not know " +
                              what);
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  const size_t end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// Parts between commas that are in no brackets.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : list) {
    if (c == '<' || c == '(') depth++;
    if (c == '>' || c == ')') depth--;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

// "const float* __restrict__ b0" → "const float*".
std::string typeOf(std::string parameter) {
  const size_t restricted = parameter.find("__restrict__");
  if (restricted != std::string::npos) return trimmed(parameter.substr(0, restricted));
  const size_t end = parameter.find_last_of(" *");
  return trimmed(parameter.substr(0, end + 1));
}

// asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a)); in one line, and reads of special registers.
std::string translateAsm(const std::string& line, size_t number) {
  static const std::regex form(R"re(asm\("([\w.]+) [^"]*" : "=\w"\(([^)]*)\) : (.*)\);)re");
  static const std::regex operand(R"re("\w"\(([^)]*)\))re");
  static const std::regex special(R"re(asm volatile\("mov\.u64 %0, %%(\w+);" : "=l"\((\w+)\)\);)re");
  std::smatch found;
  if (std::regex_search(line, found, special))
    return found.prefix().str() + found[2].str() + " = weft_sim_" + found[1].str() + "();" +
           found.suffix().str();
  if (!std::regex_search(line, found, form)) fail(number, "this inline PTX: " + trimmed(line));
  std::string name = found[1];
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  std::string call = "weft_ptx_" + name + "(" + found[2].str();
  const std::string operands = found[3];
  for (std::sregex_iterator it(operands.begin(), operands.end(), operand), end; it != end; ++it)
    call += ", " + (*it)[1].str();
  return found.prefix().str() + call + ");" + found.suffix().str();
}

// extern __shared__ T name[]; becomes T* name = the launch's dynamic shared memory.
std::string translateShared(const std::string& line, size_t number) {
  static const std::regex form(R"re(extern __shared__ (.*?)(\w+)\[\];)re");
  std::smatch found;
  if (!std::regex_search(line, found, form)) fail(number, "this dynamic shared memory: " + trimmed(line));
  const std::string type = trimmed(found[1]) + "*";
  return found.prefix().str() + type + " " + found[2].str() + " = (" + type + ")weft_sim_dynamic_shared();" +
         found.suffix().str();
}

std::string wrapper(const Kernel& kernel) {
  std::string call, sizes;
  for (size_t i = 0; i < kernel.parameterTypes.size(); i++) {
    const std::string& type = kernel.parameterTypes[i];
    call += std::string(i == 0 ? "" : ", ") + "*(" + type + " const*)a[" + std::to_string(i) + "]";
    sizes += ", sizeof(" + type + ")";
  }
  const std::string facts = kernel.maxThreads + ", " + std::to_string(kernel.parameterTypes.size()) + sizes;
  return "extern \"C\" const unsigned weft_sim_facts_" + kernel.name + "[];\n" +
         "const unsigned weft_sim_facts_" + kernel.name + "[] = {" + facts + "};\n" +
         "extern \"C\" WEFT_SIM_UNCHECKED void weft_sim_call_" + kernel.name + "(void** a) { " + kernel.name +
         "(" + call + "); }\n";
}

// `name(parameters) {` after `extern "C" __global__ void __launch_bounds__(threads…)`, which may end the line
// before.
Kernel readKernel(const std::string& text, size_t line) {
  static const std::regex form(
      R"re(__global__ void\s+(?:__launch_bounds__\((\d+)(?:, \d+)?\)\s+)?(\w+)\(([^{]*)\)\s*\{)re");
  std::smatch found;
  if (!std::regex_search(text, found, form)) fail(line, "this kernel: " + trimmed(text));
  Kernel kernel{found[2], found[1].matched ? found[1].str() : "0", {}};
  for (const std::string& parameter : split(found[3])) kernel.parameterTypes.push_back(typeOf(parameter));
  return kernel;
}

}  // namespace

namespace {

constexpr const char* kInstructions = "#if __CUDA_ARCH__ >= 800";

// `isOwn`: whether a line that begins a kernel is one of Weft's.
std::string translateLines(const std::string& source, bool (*isOwn)(const std::string& line),
                           std::vector<Kernel>& kernels) {
  std::istringstream lines(source);
  std::string out, line, heading;
  size_t number = 0;
  out += "#line 1 \"weft.cu\"\n";
  bool isOther = false;
  while (std::getline(lines, line)) {
    number++;
    // Instructions of real devices, behind which stands the same without them. Lines keep their numbers.
    if (line == kInstructions || isOther) {
      isOther = line != "#else";
      line = isOther ? "" : "#if 1";
    }
    if (line.find("asm(") != std::string::npos || line.find("asm volatile") != std::string::npos)
      line = translateAsm(line, number);
    if (line.find("extern __shared__") != std::string::npos) line = translateShared(line, number);
    const size_t linkage = line.find("extern \"C\" __global__");
    if (linkage != std::string::npos && isOwn(line)) {
      heading = line + "\n";
      line = line.substr(0, linkage) + "static __attribute__((noinline)) " + line.substr(linkage + 11);
    } else if (!heading.empty()) {
      heading += line + "\n";
    }
    if (!heading.empty() && heading.find('{') != std::string::npos) {
      kernels.push_back(readKernel(heading, number));
      heading.clear();
    }
    out += line + "\n";
  }
  return out;
}

std::string footer(int architecture, const std::vector<Kernel>& kernels) {
  std::string out;
  out += "\nextern \"C\" const int weft_sim_architecture;\nconst int weft_sim_architecture = " +
         std::to_string(architecture) + ";\n" +
         "extern \"C\" char __start_weft_shared[] __attribute__((weak, visibility(\"hidden\")));\n" +
         "extern \"C\" char __stop_weft_shared[] __attribute__((weak, visibility(\"hidden\")));\n" +
         "extern \"C\" WEFT_SIM_UNCHECKED void weft_sim_shared(char** begin, char** end) {\n" +
         "  *begin = __start_weft_shared;\n  *end = __stop_weft_shared;\n}\n";
  for (const Kernel& kernel : kernels) out += wrapper(kernel);
  return out;
}

}  // namespace

std::string translate(const std::string& source, int architecture) {
  std::vector<Kernel> kernels;
  const std::string lines = translateLines(
      source, [](const std::string&) { return true; }, kernels);
  return lines + footer(architecture, kernels);
}

std::string translateUsers(const std::string& source, int architecture,
                           const std::map<std::string, std::string>& names) {
  std::vector<Kernel> kernels;
  const auto isOwn = [](const std::string& line) { return line.find(" weft_initial_") != std::string::npos; };
  const std::string lines = translateLines(source, isOwn, kernels);
  // Hidden, a kernel is not mistaken for a function of the process with the same name.
  std::string out = "#pragma GCC visibility push(hidden)\n" + lines + "#pragma GCC visibility pop\n" +
                    footer(architecture, kernels);
  const std::string seen = "__attribute__((visibility(\"default\"))) ";
  for (const auto& [expression, name] : names) {
    const std::string facts = "weft_sim_facts_of(&" + expression + ")";
    const std::string declared = "const " + seen + "decltype(" + facts + ") weft_sim_facts_" + name;
    out += "extern \"C\" " + declared + ";\n" + declared + " = " + facts + ";\n" +
           "extern \"C\" WEFT_SIM_UNCHECKED " + seen + "void weft_sim_call_" + name +
           "(void** a) { weft_sim_invoke(&" + expression + ", a); }\n";
  }
  return out;
}

}  // namespace weft::sim
