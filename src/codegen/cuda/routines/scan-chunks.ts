/**
 * CUDA C of neighbours in shared memory as bulk copies leave them: each thread has `own` chunks of 16 bytes, which lie one
 * behind another. Eight threads that each read a chunk at a time are to find them in different banks; so each begins at
 * another of its chunks, and exchanges them in registers.
 */

/** Chunks that lie in all banks. */
const BANKS = 8;

/** The type of a chunk of so many elements, and `weft_exchange` of a thread's. */
export const printChunks = (own: number, perChunk: number): string => `struct __align__(16) weft_elements {
  weft_element e[${perChunk}];
};
/* Chunk k of a lane lies at weft_turned(k, lane) of its chunks, or the other way round. */
__device__ __forceinline__ unsigned int weft_turned(unsigned int k, unsigned int lane) { return k ^ (lane / ${BANKS / own} & ${own - 1}); }
__device__ __forceinline__ void weft_exchange(weft_elements (&v)[${own}], unsigned int lane) {
  #pragma unroll
  for (unsigned int far = 1; far < ${own}; far *= 2) {
    const bool moves = (lane / ${BANKS / own} & far) != 0;
    #pragma unroll
    for (unsigned int k = 0; k < ${own}; ++k) {
      if ((k & far) != 0) continue;
      #pragma unroll
      for (int e = 0; e < ${perChunk}; ++e) {
        const weft_element a = v[k].e[e], b = v[k | far].e[e];
        v[k].e[e] = moves ? b : a;
        v[k | far].e[e] = moves ? a : b;
      }
    }
  }
}
`;
