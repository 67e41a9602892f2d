// Workspaces of matrix products and routines on the CPU, for plans.
#pragma once
#include <napi.h>

namespace weft {

// productWorkspace(product): { most: number, least: number }, bytes
//
// `product` has the fields of a step of kind `matmul`; its buffers are not looked at.
Napi::Value productWorkspace(const Napi::CallbackInfo& info);

// routineWorkspace(routine): { most: number, least: number }, bytes
//
// `routine` has the name and the numbers of a step of kind `routine`.
Napi::Value routineWorkspace(const Napi::CallbackInfo& info);

// routineLibrary(routine): the library that runs it on the CPU, with its function; empty: Weft's own
Napi::Value routineLibrary(const Napi::CallbackInfo& info);

}  // namespace weft
