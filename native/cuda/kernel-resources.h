// The resources of a multiprocessor that kernels take: registers, memory of threads, shared memory, and the
// number of blocks that it then runs at a time.
#pragma once
#include <napi.h>

namespace weft::cuda {

// kernelResources(device: string, image: Uint8Array,
//   launches: { function: string, threads: number, sharedByteLength: number }[]): Promise<
//     { registers, localBytes, sharedBytes, blocks: number }[]>
//
// `sharedBytes`: static and dynamic.
Napi::Value kernelResources(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
