// The recorder's functions for JavaScript.
#pragma once
#include <napi.h>

namespace weft {

// beginProfile(): number
//
// Begins a recording and gives its begin, in nanoseconds of the steady clock. Throws where there is one.
Napi::Value beginProfile(const Napi::CallbackInfo& info);

// endProfile(): Promise<RawTimeline>
//
// Ends it. The timeline (src/exec/native/native-types.ts) comes when devices have reported their times.
Napi::Value endProfile(const Napi::CallbackInfo& info);

}  // namespace weft
