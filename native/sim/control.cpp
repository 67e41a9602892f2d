// The tests' control of the simulator, a small addon of its own: control(lines: string): void, describe():
// string, and what fork.h says.
//
// control takes settings (core/settings.h), describe gives JSON. The types of both: test/sim/simulator.ts.
#include <node_api.h>

#include <mutex>
#include <stdexcept>
#include <string>

#include "core/simulator.h"
#include "fork.h"

namespace {

using weft::sim::Simulator;

void obey(const std::string& lines) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  simulator.obey(lines);
}

std::string description() {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  return simulator.describe().print();
}

napi_value control(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = nullptr;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  size_t length = 0;
  if (napi_get_value_string_utf8(env, argument, nullptr, 0, &length) != napi_ok) {
    napi_throw_type_error(env, nullptr, "control takes a string");
    return nullptr;
  }
  std::string request(length, 0);
  napi_get_value_string_utf8(env, argument, request.data(), length + 1, &length);
  try {
    obey(request);
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

napi_value describe(napi_env env, napi_callback_info) {
  const std::string text = description();
  napi_value result = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &result);
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  const auto add = [&](const char* name, napi_callback call) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &function);
    napi_set_named_property(env, exports, name, function);
  };
  add("control", control);
  add("describe", describe);
  add("fork", weft::sim::forkProcess);
  add("leave", weft::sim::leaveProcess);
  return exports;
}
