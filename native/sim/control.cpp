// The tests' control of the simulator, a small addon of its own: control(lines: string): void, describe():
// string, announce(source: string, options: string): void, and what fork.h says.
//
// control takes settings (core/settings.h), describe gives JSON. The types of both: test/sim/simulator.ts.
#include <node_api.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/announced.h"
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

// Empty and with an exception where it is none.
std::optional<std::string> textOf(napi_env env, napi_value value, const char* mistake) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) {
    napi_throw_type_error(env, nullptr, mistake);
    return std::nullopt;
  }
  std::string text(length, 0);
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

napi_value control(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = nullptr;
  napi_get_cb_info(env, info, &count, &argument, nullptr, nullptr);
  const std::optional<std::string> request = textOf(env, argument, "control takes a string");
  if (!request.has_value()) return nullptr;
  try {
    obey(*request);
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

napi_value announce(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2] = {};
  napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr);
  const char* mistake = "announce takes strings";
  std::optional<std::string> source = textOf(env, arguments[0], mistake);
  if (!source.has_value()) return nullptr;
  std::optional<std::string> options = textOf(env, arguments[1], mistake);
  if (!options.has_value()) return nullptr;
  weft::sim::Announced::get().add(std::move(*source), std::move(*options));
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
  add("announce", announce);
  add("fork", weft::sim::forkProcess);
  add("leave", weft::sim::leaveProcess);
  return exports;
}
