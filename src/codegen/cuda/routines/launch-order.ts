/**
 * CUDA C of launches that begin early, from compute capability 9.0 on: their blocks come to multiprocessors while the launch
 * before them ends, and wait for it there, so that the device need not find out that it has ended before it begins another
 * (`isEarly` of `exec/calls/call-row.ts`). The wait stands before all that reads or writes memory, so the order of memory is that
 * of launches one after the other. Parts of a text may have this each.
 *
 *     launch a   ████████████ ends ┐
 *     launch b            begins · waits ████████
 */
export const LAUNCH_ORDER = `
#ifndef WEFT_LAUNCH_ORDER
#define WEFT_LAUNCH_ORDER
#if __CUDA_ARCH__ >= 800
/* Waits until the launch before this one has ended, and what it wrote is there. */
__device__ __forceinline__ void weft_await() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
/* Blocks of the next launch may begin as soon as all blocks of this one have come here. */
__device__ __forceinline__ void weft_let_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}
/* Has the line at an address brought to the second-level cache. */
__device__ __forceinline__ void weft_fetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" : : "l"(at)); }
#else
__device__ __forceinline__ void weft_await() {}
__device__ __forceinline__ void weft_let_begin() {}
__device__ __forceinline__ void weft_fetch(const void*) {}
#endif
#endif
`;
