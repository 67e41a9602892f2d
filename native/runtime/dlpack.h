// Tensors of DLPack in capsules: externals of Node-API with the type tag below, whose data is the address of
// a cell that has the address of a DLManagedTensorVersioned. The taker of the tensor puts null into the
// cell, on the JavaScript thread; a tensor that was not taken is deleted with its capsule. The convention is
// Weft's proposal for Node.js, for which DLPack has none; docs/guide/exchange.md describes it for other
// addons.
#pragma once
#include <napi.h>

namespace weft {

inline constexpr napi_type_tag kDlpackTag{0xb3c1f6a2d84e4f0bULL, 0x9a6de57c02f14d38ULL};

// makeDlpack(source: handle | TypedArray, layout: { shape: number[], code: number, bits: number,
//   deviceType: number, deviceId: number, isReadOnly: boolean, stream: bigint }): capsule.
// A tensor over the memory of a buffer, or of an array, in C order, which keeps it. `stream`: of the reader;
// when the tensor is deleted, the device's later work waits for what that stream has. 0: it does not.
Napi::Value makeDlpack(const Napi::CallbackInfo& info);
// describeDlpack(tensor: capsule | bigint): DlpackDescription | undefined. Of a capsule or an address;
// undefined for other values and for capsules whose tensor was taken.
Napi::Value describeDlpack(const Napi::CallbackInfo& info);
// takeDlpack(capsule): bigint. The address of the tensor, which is the caller's from now on.
Napi::Value takeDlpack(const Napi::CallbackInfo& info);
// deleteDlpack(tensor: bigint): void.
Napi::Value deleteDlpack(const Napi::CallbackInfo& info);
// Each (device: string, stream: bigint): Promise<undefined>. A stream of another library's waits for all that
// was asked of the device; what is asked of it later waits for what the stream has.
Napi::Value makeStreamWait(const Napi::CallbackInfo& info);
Napi::Value waitForStream(const Napi::CallbackInfo& info);

}  // namespace weft
