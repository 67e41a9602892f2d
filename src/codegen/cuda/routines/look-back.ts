/**
 * CUDA C for tiles that look back at those before them in one pass over memory (Merrill and Garland, "Single-pass
 * Parallel Prefix Scan with Decoupled Look-back", 2016), of which scans (`scan-look-back.ts`), the radix sort and
 * compaction have their own parts: the order in which tiles begin, and the words that have to be 0 before.
 */

/** Tiles are numbered as they begin, by an atomic count, so that none waits for one that may not have begun. */
export const BEGIN = `
__device__ __forceinline__ unsigned int weft_begin(unsigned int* count, unsigned int* begun) {
  if (threadIdx.x == 0) *begun = atomicAdd(count, 1u);
  __syncthreads();
  return *begun;
}
`;

export const CLEAR_NAME = 'weft_clear';
export const CLEAR_THREADS = 256;
/** Words that a block clears. */
export const CLEARED = 16 * CLEAR_THREADS;

/** Before tiles look back: none has begun, and none has published a value. Words begin at 16 bytes. */
export const CLEAR_KERNEL = `
struct __align__(16) weft_cleared {
  unsigned int words[4];
};
extern "C" __global__ void __launch_bounds__(${CLEAR_THREADS})
${CLEAR_NAME}(unsigned int first_x, unsigned int* words, long long count) {
  const long long first = ((long long)blockIdx.x + first_x) * ${CLEARED};
  for (long long i = first + 4 * threadIdx.x; i < first + ${CLEARED} && i < count; i += ${4 * CLEAR_THREADS}) {
    if (i + 4 <= count) {
      *(weft_cleared*)(words + i) = weft_cleared{{0u, 0u, 0u, 0u}};
    } else {
      for (long long k = i; k < count; ++k) words[k] = 0u;
    }
  }
}
`;

/** The bytes of a running count, so that it and two bits more hold so many elements. */
export const countBytes = (elements: number): 4 | 8 => (elements < 2 ** 30 ? 4 : 8);

/**
 * The type of running counts, and what a tile tells the others in one word, so that no fence is needed: its own
 * count, or that of all tiles up to it. An order of the additions does not matter.
 */
export const printCounts = (bytes: 4 | 8): string => {
  const one = bytes === 4 ? '1u' : '1ull';
  return `
typedef ${bytes === 4 ? 'unsigned int' : 'unsigned long long'} weft_count;
#define WEFT_OWN (${one} << ${8 * bytes - 2})
#define WEFT_ALL (${one} << ${8 * bytes - 1})
#define WEFT_COUNTED (WEFT_OWN - ${one})
__device__ __forceinline__ weft_count weft_heard(const weft_count* at) { return *(const volatile weft_count*)at; }
__device__ __forceinline__ void weft_tell(weft_count* at, weft_count word) { *(volatile weft_count*)at = word; }
`;
};
