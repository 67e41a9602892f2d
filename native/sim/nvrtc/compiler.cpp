#include "nvrtc/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "core/image-part.h"

extern char** environ;

namespace weft::sim {
namespace {

namespace fs = std::filesystem;

// -Og: with -O1 kernels take longer to compile, large ones by half, and run no faster. With -O0 they compile
// sooner still, but run so much slower that tests with long runs take longer.
const std::vector<std::string> kFlags = {
    "-std=c++17", "-Og", "-w", "-fPIC", "-shared", "-nostdlib", "-fno-exceptions", "-fno-rtti",
    "-fno-asynchronous-unwind-tables", "-fno-strict-aliasing", "-ffp-contract=off",
    // A call in front of every access, and checks of alignment and of indices into arrays: core/hooks.cpp.
    "-fsanitize=thread,alignment,bounds",
    // Accesses to volatile memory by calls of their own: blocks of a launch may tell one another by them.
    "--param=tsan-distinguish-volatile=1"};

// Of users' kernels: mistakes in them are reported with their lines.
const std::string kLines = "-g1";

// Where the simulator's libraries and kernel.h are.
const fs::path& home() {
  static const fs::path& path = *new fs::path([] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&compileKernel), &info) == 0)
      throw std::runtime_error("the simulator does not know where it is");
    return fs::absolute(info.dli_fname).parent_path();
  }());
  return path;
}

std::vector<char> readAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string readText(const fs::path& path) {
  const std::vector<char> bytes = readAll(path);
  return {bytes.begin(), bytes.end()};
}

int runCompiler(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  const int failed = posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("g++ cannot be started");
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("g++ was lost");
  }
  return status;
}

// 128 bits of two FNV-1a hashes.
std::string digest(const std::vector<std::string>& parts) {
  uint64_t hashes[] = {0xcbf29ce484222325, 0x9ae16a3b2f90404f};
  for (const std::string& part : parts) {
    for (const char c : part + '\n') {
      for (uint64_t& hash : hashes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      hashes[1] ^= hashes[0] >> 29;
    }
  }
  char text[33];
  std::snprintf(text, sizeof text, "%016lx%016lx", static_cast<unsigned long>(hashes[0]),
                static_cast<unsigned long>(hashes[1]));
  return text;
}

fs::path cacheFolder() {
  const char* chosen = std::getenv("WEFT_SIM_CACHE");
  const fs::path folder = chosen == nullptr || *chosen == 0 ? home() / "cache" : fs::path(chosen);
  fs::create_directories(folder);
  return folder;
}

// A name that no other thread or process uses.
fs::path temporary(const fs::path& folder, const char* suffix) {
  static std::atomic<unsigned> count{0};
  return folder / ("new-" + std::to_string(getpid()) + "-" + std::to_string(count++) + suffix);
}

const std::string& compilerVersion(const fs::path& folder) {
  static const std::string& version = *new std::string([&] {
    const fs::path log = temporary(folder, ".version");
    if (runCompiler({"g++", "--version"}, log) != 0) throw std::runtime_error("g++ --version failed");
    std::string text = readText(log);
    fs::remove(log);
    return text;
  }());
  return version;
}

const fs::path& folder() {
  static const fs::path& path = *new fs::path(cacheFolder());
  return path;
}

// Of all that a kernel's image is made of.
std::string keyOf(const std::string& translated, bool usesFurther, const std::vector<std::string>& options) {
  static const std::string& header = *new std::string(readText(home() / "kernel.h"));
  static const std::string& further = *new std::string(readText(home() / "user-kernel.h"));
  std::vector<std::string> parts = {translated, header, compilerVersion(folder())};
  parts.insert(parts.end(), kFlags.begin(), kFlags.end());
  if (usesFurther) parts.insert(parts.end(), {further, kLines});
  parts.insert(parts.end(), options.begin(), options.end());
  return digest(parts);
}

// Compiles a text to a file of that name in the folder.
Compilation compileText(const std::string& text, const std::string& name, bool usesFurther,
                        const std::vector<std::string>& options) {
  const fs::path source = temporary(folder(), ".cpp");
  const fs::path library = temporary(folder(), ".so");
  const fs::path log = temporary(folder(), ".log");
  std::ofstream(source, std::ios::binary) << text;
  std::vector<std::string> command = {"g++"};
  command.insert(command.end(), kFlags.begin(), kFlags.end());
  command.insert(command.end(), options.begin(), options.end());
  const std::string last = (home() / (usesFurther ? "user-kernel.h" : "kernel.h")).string();
  if (usesFurther) command.insert(command.end(), {kLines, "-include", (home() / "kernel.h").string()});
  for (const std::string& argument :
       {std::string("-include"), last, source.string(), std::string("-o"), library.string(),
        "-L" + home().string(), std::string("-lweft-sim-core"), std::string("-lm")})
    command.push_back(argument);
  Compilation result;
  result.ok = runCompiler(command, log) == 0;
  result.log = readText(log);
  if (result.ok) {
    result.image = readAll(library);
    fs::rename(library, folder() / name);
  }
  std::error_code ignored;
  for (const fs::path& path : {source, library, log}) fs::remove(path, ignored);
  return result;
}

// Where a kernel is that was compiled with others: its number and the library's name.
fs::path partPath(const std::string& key) { return folder() / (key + ".part"); }

// The image that is kept by a key; none: it has no bytes.
std::vector<char> keptImage(const std::string& key) {
  std::ifstream part(partPath(key));
  unsigned number = 0;
  std::string library;
  if (part >> number >> library) {
    std::vector<char> image = readAll(folder() / library);
    if (!image.empty()) return setPart(image.data(), number), image;
  }
  return readAll(folder() / (key + ".so"));
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// A translated source as one of several of a file: in a namespace, with the number in the names that modules
// look up, a section of its own for shared memory, and without its macros behind it.
std::string apart(std::string text, unsigned number) {
  const std::string suffix = partSuffix(number);
  for (const char* name :
       {"weft_sim_architecture", "weft_sim_shared", "__start_weft_shared", "__stop_weft_shared"})
    replaceAll(text, name, name + suffix);
  for (const char* name : {"weft_sim_facts_", "weft_sim_call_"})
    replaceAll(text, name, name + suffix.substr(1) + "_");
  replaceAll(text, "__shared__", "static __attribute__((section(\"weft_shared" + suffix + "\")))");
  std::string macros;
  std::istringstream lines(text);
  const std::string define = "#define ";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(define, 0) != 0) continue;
    const std::string named = line.substr(define.size());
    macros += "#undef " + named.substr(0, named.find_first_of(" (")) + "\n";
  }
  return "namespace weft_part" + suffix + " {\n" + text + "}\n" + macros;
}

}  // namespace

Compilation compileKernel(const std::string& translated, bool usesFurther,
                          const std::vector<std::string>& options) {
  const std::string key = keyOf(translated, usesFurther, options);
  if (std::vector<char> kept = keptImage(key); !kept.empty()) return {true, std::move(kept), {}};
  return compileText(translated, key + ".so", usesFurther, options);
}

bool isKept(const std::string& translated) {
  const std::string key = keyOf(translated, false, {});
  return fs::exists(partPath(key)) || fs::exists(folder() / (key + ".so"));
}

void compileTogether(const std::vector<std::string>& translated) {
  std::string all;
  std::vector<std::string> keys;
  for (const std::string& text : translated) {
    keys.push_back(keyOf(text, false, {}));
    all += apart(text, static_cast<unsigned>(keys.size()));
  }
  const std::string library = "together-" + digest(keys) + ".so";
  if (!compileText(all, library, false, {}).ok) return;
  for (size_t i = 0; i < keys.size(); i++) {
    const fs::path written = temporary(folder(), ".part");
    std::ofstream(written) << i + 1 << ' ' << library;
    fs::rename(written, partPath(keys[i]));
  }
}

}  // namespace weft::sim
