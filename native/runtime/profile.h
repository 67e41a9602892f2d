// The recorder's functions for JavaScript.
#pragma once
#include <napi.h>

namespace weft {

// beginProfile(yields: boolean): { begin: number, number: number }
//
// Begins a recording and gives its begin, in nanoseconds of the steady clock, and its number. One that yields
// is dropped where another begins. Throws where there is one that does not yield.
Napi::Value beginProfile(const Napi::CallbackInfo& info);

// endProfile(number: number): Promise<RawTimeline | null> | null
//
// Ends it. The timeline (src/exec/native/native-types.ts) comes when devices have reported their times; null:
// the recording was dropped for another.
Napi::Value endProfile(const Napi::CallbackInfo& info);

// workTotals(): Float64Array
//
// For each kind of span: how often there was such work since the process began, and its bytes; on all
// threads, in recordings and outside of them.
Napi::Value workTotals(const Napi::CallbackInfo& info);

}  // namespace weft
