// The constants of shared/layout.h for TypeScript.
#pragma once
#include <napi.h>

namespace weft {

// A list of { name, about, value }. Values are numbers, lists of them or of names, and objects with a number,
// a text or a list of numbers for each name.
Napi::Value constants(const Napi::CallbackInfo& info);

}  // namespace weft
