/**
 * CUDA C of the distinct integers of a line in order and how often each occurs: as `unique.ts` finds them, with a count for
 * each value of a narrow range in the place of a bit. After a sort, compaction writes where each begins, too, and counts are
 * the differences of those.
 */
import { BOUNDARY, COUNT_AHEAD, printDistinct } from './compact.js';
import { eachElement } from './select.js';
import {
  BLOCKS,
  COUNTS_OF_WARPS,
  HEAD,
  printClear,
  printSources,
  printUniqueFill,
  SORT_ENDS,
  TABLE_ENDS,
  UNIQUE_HEAD,
  UNIQUE_THREADS,
  type UniqueForm,
  type UniqueSources,
} from './unique.js';

export const TALLY_NAME = 'weft_unique_tally';
export const LIST_COUNTS_NAME = 'weft_unique_list_counts';
export const LENGTHS_NAME = 'weft_unique_lengths';
/** Steps of a warp over a tile of the table, each of 32 values. */
const STEPS = 8;
/** Values of the table in a tile. */
export const LISTED_COUNTS = STEPS * UNIQUE_THREADS;
/** Values of a range that a block counts in shared memory: few words would be where all blocks count. */
const SHARED_RANGE = 2 ** 12;

const printTally = (form: UniqueForm): string => {
  const count = (counts: string, behind = ')'): string =>
    `      if (is_there) atomicAdd(&${counts}[((unsigned int)(weft_key)(key - least)${behind}], 1u);\n`;
  return `${HEAD}${TALLY_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long counts_at, long long n, long long blocks) {
${TABLE_ENDS}${BLOCKS}  const unsigned int span = (unsigned int)(range.high - ~range.low);
  unsigned int* counted = (unsigned int*)(work + counts_at);
  __shared__ unsigned int held[${SHARED_RANGE}];
  if (span >= ${SHARED_RANGE}u) {
${eachElement(form, count('counted'), { warps: 'true' })}    return;
  }
  // Of few counts a copy for each lane.
  const unsigned int copies = span < ${SHARED_RANGE / 32}u ? 5u : 0u;
  const unsigned int copy = threadIdx.x % (1u << copies);
  for (unsigned int i = threadIdx.x; i < (span + 1) << copies; i += ${UNIQUE_THREADS}) held[i] = 0u;
  __syncthreads();
${eachElement(form, count('held', '<< copies) + copy'), { warps: 'true' })}  __syncthreads();
  for (unsigned int i = threadIdx.x; i <= span; i += ${UNIQUE_THREADS}) {
    unsigned int all = 0u;
    for (unsigned int c = 0; c < 1u << copies; ++c) all += held[(i << copies) + c];
    if (all != 0) atomicAdd(&counted[i], all);
  }
}
`;
};

const PRINT_LIST_COUNTS = `${HEAD}${LIST_COUNTS_NAME}(unsigned int first_x, weft_key* __restrict__ out, long long* __restrict__ counts, long long* length, char* work, long long counts_at) {
${TABLE_ENDS}  __shared__ unsigned int sums[${UNIQUE_THREADS / 32}];
  __shared__ weft_count ahead;
  __shared__ unsigned int begun;
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long size = (long long)(range.high - ~range.low) + 1;
  const long long tiles = (size + ${LISTED_COUNTS - 1}) / ${LISTED_COUNTS};
  const long long tile = weft_begin((unsigned int*)work, &begun);
  if (tile >= tiles) return;
  const unsigned int* counted = (const unsigned int*)(work + counts_at);
  weft_count* told = (weft_count*)(work + ${UNIQUE_HEAD});
  const long long first = tile * ${LISTED_COUNTS} + warp * ${32 * STEPS} + lane;
  unsigned int own[${STEPS}], those[${STEPS}];
  unsigned int count = 0;
  #pragma unroll
  for (int k = 0; k < ${STEPS}; ++k) own[k] = first + k * 32 < size ? counted[first + k * 32] : 0u;
  #pragma unroll
  for (int k = 0; k < ${STEPS}; ++k) {
    those[k] = __ballot_sync(0xffffffffu, own[k] != 0);
    count += __popc(those[k]);
  }
${COUNTS_OF_WARPS}${COUNT_AHEAD}  long long to = (long long)ahead + behind;
  #pragma unroll
  for (int k = 0; k < ${STEPS}; ++k) {
    const long long at = to + __popc(those[k] & ((1u << lane) - 1u));
    if (own[k] != 0) {
      out[at] = weft_element_of((weft_key)(least + (weft_key)(first + k * 32)));
      counts[at] = (long long)own[k];
    }
    to += __popc(those[k]);
  }
}
`;

/** Where each begins becomes how long it goes on: up to the next one, which another block may have, or the line's end. */
const PRINT_LENGTHS = `${HEAD}${LENGTHS_NAME}(unsigned int first_x, long long* counts, const long long* length, const char* work, long long boundaries_at, long long n) {
  if (${SORT_ENDS}) return;
  const long long first = ((long long)blockIdx.x + first_x) * ${BOUNDARY} + threadIdx.x;
  const long long end = first - threadIdx.x + ${BOUNDARY};
  const long long count = *length;
  const long long* boundaries = (const long long*)(work + boundaries_at);
  long long own[${BOUNDARY / UNIQUE_THREADS}];
  #pragma unroll
  for (int k = 0; k < ${BOUNDARY / UNIQUE_THREADS}; ++k) {
    const long long i = first + k * ${UNIQUE_THREADS};
    if (i >= count) break;
    const long long next = i + 1 == count ? n : i + 1 == end ? boundaries[end / ${BOUNDARY}] : counts[i + 1];
    own[k] = next - counts[i];
  }
  __syncthreads();
  #pragma unroll
  for (int k = 0; k < ${BOUNDARY / UNIQUE_THREADS}; ++k)
    if (first + k * ${UNIQUE_THREADS} < count) counts[first + k * ${UNIQUE_THREADS}] = own[k];
}
`;

export const printUniqueCounts = (form: UniqueForm): UniqueSources =>
  printSources(
    form,
    [printClear('span + 1'), printTally(form), PRINT_LIST_COUNTS, printUniqueFill(true)],
    (keys) => [printDistinct({ ...keys, hasPlaces: true }), PRINT_LENGTHS],
  );
