#include "fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

// Of libuv, whose header Node-API's do not bring along.
extern "C" int uv_loop_fork(uv_loop_s* loop);

namespace weft::sim {
namespace {

// Of a copy, in seconds.
constexpr unsigned kLongestLife = 20;

// V8 keeps its code from copies, which then cannot run JavaScript.
void giveAllToCopies() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return;
  char line[4096];
  uintptr_t first = 0;
  uintptr_t last = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &last) != 2) continue;
    // Fails for what is the system's, which every process has.
    static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_DOFORK));
  }
  std::fclose(maps);
}

}  // namespace

napi_value forkProcess(napi_env env, napi_callback_info) {
  giveAllToCopies();
  napi_value result = nullptr;
  const pid_t pid = fork();
  if (pid == 0) {
    // A copy that stands still would outlive its test.
    alarm(kLongestLife);
    // A loop that is turned in a copy takes events that its parent waits for.
    uv_loop_s* loop = nullptr;
    if (napi_get_uv_event_loop(env, &loop) == napi_ok) uv_loop_fork(loop);
  }
  napi_create_int32(env, pid, &result);
  return result;
}

napi_value leaveProcess(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = nullptr;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  int32_t code = 1;
  napi_get_value_int32(env, argument, &code);
  _exit(code);
}

}  // namespace weft::sim
