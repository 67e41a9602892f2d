// The time of kernels by themselves, on memory of their own: what a device takes for them while it is busy
// with nothing else, without what it takes to queue them.
#pragma once
#include <napi.h>

namespace weft::cuda {

// kernelSeconds(device: string, image: Uint8Array,
//   launches: { function: string, grid, block: number[3], sharedByteLength: number,
//     args: ({ buffer: number } | { bytes: Uint8Array })[] }[],
//   buffers: { byteLength: number, pattern: Uint8Array }[]): Promise<number>
//
// Of all launches together, one after the other. `pattern`: the bytes of a buffer before, again and again.
// Rejects where there is no room for the buffers.
Napi::Value kernelSeconds(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
