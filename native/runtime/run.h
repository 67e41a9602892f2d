// run(): checks a run's inputs, begins it here or on its device's executor, and turns its outputs into
// JavaScript values.
#pragma once
#include <napi.h>

namespace weft {

// run(program: NativeProgram,
//     inputs: (ArrayBufferView | BufferHandle | FileInput | ChunkedInput | ReaderInput |
//       PiecesInput)[],
//     keep: (boolean | FileOutput[] | ArrayBufferView)[], cancel?: object, timeline?: boolean,
//     whenQueued?: boolean, ahead?: boolean, tileQueue?: object, numbers?: Uint8Array):
//   Results | Promise<Results>,
//   where Results is (ArrayBuffer | BufferHandle | number[] | undefined | number)[]
//
// keep[i]: whether output i stays on its device, or the files it goes to, which give their checksums, or, for
// a windowed one, the handle of the host memory that its windows are written to.
//
// whenQueued: whether results that all stay on the device are wanted once they are queued. Small runs that
// are complete, or queued where that is enough, when this returns give their results at once.
//
// ahead: whether such results are wanted then however long the work takes, where it reads nothing of
// JavaScript's. A run that gave them so took -1 nanoseconds: its end is that of any later run on the device.
//
// tileQueue: made by createTileQueue, given to all the runs that share a sweep of tiles.
//
// numbers: the constants that come with the run, 16 bytes each, in the program's order.
//
// The outputs, then nanoseconds: what the run took, and if the timeline is asked for, those from the call to
// the executor's taking it, to all being queued, to the end's being seen, to its being reported.
Napi::Value run(const Napi::CallbackInfo& info);

// allocateHost(device: string, byteLength: number, lockByteLength?: number): object
//
// A handle of host memory of undefined contents, from the pool of results, for runs on the device and on
// others of its kind: page-locked where it comes again, no more than `lockByteLength` of results in all.
Napi::Value allocateHost(const Napi::CallbackInfo& info);

// sliceMemory(handle: object, first: number, byteLength: number): BufferHandle
//
// A part of memory, which is kept as long.
Napi::Value sliceMemory(const Napi::CallbackInfo& info);

// hostArray(handle: object): ArrayBuffer
//
// Over the memory of a buffer of the CPU, which is disposed.
Napi::Value hostArray(const Napi::CallbackInfo& info);

// disposeBuffer(handle: object): void
Napi::Value disposeBuffer(const Napi::CallbackInfo& info);

}  // namespace weft
