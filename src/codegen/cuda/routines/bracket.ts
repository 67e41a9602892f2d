/**
 * CUDA C of brackets, which narrow selection in long rows down to a few elements (Floyd and Rivest, "Expected time bounds for
 * selection", 1975): two keys of a sample enclose the key of a rank, but for one row in some hundred thousand.
 *
 *     bracket   sort a sample of the row in a block: the keys so many places below and above that of the rank
 *     narrow    read the row: count what is below the brackets, collect what is between
 *     select    in what was collected, by the rank less what is below (`select.ts`)
 *
 * Where a rank is beside its bracket, or many elements are equal, so that there is no room for what was collected, the row
 * itself is selected from. Results are the same.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { eachElement, HEAD, ROW, SELECT_THREADS, type SelectForm } from './select.js';

/**
 * Elements of the shortest row that is narrowed down, bytes of all rows, and digits of keys: fewer are soon counted. The
 * sample of a row takes 0.06 ms on an H100, which a reading of 128 MiB less makes up for.
 */
export const LEAST_NARROWED = 2 ** 22;
export const LEAST_NARROWED_BYTES = 2 ** 27;
export const LEAST_DIGITS = 3;
export const BRACKET_NAME = 'weft_select_bracket';
export const NARROW_NAME = 'weft_select_narrow';
export const BRACKET_THREADS = 1024;
/** Bytes of the sample, which is in shared memory, and of a bracket. */
const SAMPLE_BYTES = 32768;
export const BRACKET_BYTES = 32;
/** Keys that a warp holds until it writes them together. */
const HELD = 128;
/** Deviations of the rank of a sample's key that a bracket has on each side, and keys beyond those. */
const DEVIATIONS = 4.5;
const FURTHER = 8;

const sampledOf = (dtype: SelectForm['dtype']): number => SAMPLE_BYTES / byteLengthOf(dtype);

/** The places of a bracket's keys in the sample in order; those beyond its ends are the least and largest of all keys. */
export interface Bracket {
  readonly low: number;
  readonly high: number;
}

/** Brackets in order, and that of each rank. */
export interface Brackets {
  readonly brackets: readonly Bracket[];
  readonly ofRanks: readonly number[];
}

/** Those of ranks, which share one where they are near. */
export function bracketsOf(dtype: SelectForm['dtype'], length: number, ranks: readonly number[]): Brackets {
  const size = sampledOf(dtype);
  const brackets: Bracket[] = [];
  const ofRanks = new Array<number>(ranks.length);
  const order = ranks.map((_, k) => k).sort((a, b) => ranks[a]! - ranks[b]!);
  for (const k of order) {
    const share = (ranks[k]! + 0.5) / length;
    const margin = Math.ceil(DEVIATIONS * Math.sqrt(size * share * (1 - share))) + FURTHER;
    const place = Math.floor(share * size);
    const [low, high] = [place - margin, place + margin];
    const last = brackets.at(-1);
    if (last !== undefined && low <= last.high) brackets[brackets.length - 1] = { low: last.low, high };
    else brackets.push({ low, high });
    ofRanks[k] = brackets.length - 1;
  }
  return { brackets, ofRanks };
}

/** Elements between brackets that there is room for: half as many again as if the row is like its sample. */
export function bracketRoom(
  dtype: SelectForm['dtype'],
  length: number,
  brackets: readonly Bracket[],
): number {
  const size = sampledOf(dtype);
  const sampled = brackets.reduce(
    (sum, { low, high }) => sum + Math.min(size, high + 1) - Math.max(0, low),
    0,
  );
  return 16 * Math.ceil((1.5 * length * sampled) / size / 16 + 16);
}

const COUNTERS = `struct __align__(16) weft_bracket {
  unsigned long long low, high, under, through;
};
`;

function printSampled(dtype: SelectForm['dtype'], count: number): string {
  const size = sampledOf(dtype);
  const places = Array.from({ length: count }, (_, b) => `int low${b}, int high${b}`).join(', ');
  const set = Array.from(
    { length: count },
    (
      _,
      b,
    ) => `  own[${b}] = weft_bracket{low${b} < 0 ? 0ull : (unsigned long long)keys[low${b}], high${b} >= ${size} ? (unsigned long long)(weft_key)~(weft_key)0 : (unsigned long long)keys[high${b}], 0ull, 0ull};
`,
  ).join('');
  return `extern "C" __global__ void __launch_bounds__(${BRACKET_THREADS})
${BRACKET_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long brackets_at, long long n, ${places}) {
  const long long row = (long long)blockIdx.x + first_x;
  __shared__ weft_key keys[${size}];
  in += row * n;
  const long long stride = n / ${size};
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < ${size}; i += ${BRACKET_THREADS}) {
    /* Not at one place of each stretch, which rows with a period would have alike. */
    const unsigned int scattered = (i * 2654435761u) >> 8;
    keys[i] = weft_key_of(in[i * stride + scattered % (unsigned int)(stride > 65536 ? 65536 : stride)]);
  }
  for (unsigned int length = 2; length <= ${size}; length *= 2) {
    for (unsigned int apart = length / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < ${size / 2}; pair += ${BRACKET_THREADS}) {
        const unsigned int i = 2 * pair - (pair & (apart - 1));
        const weft_key a = keys[i], b = keys[i + apart];
        if ((a > b) == ((i & length) == 0)) {
          keys[i] = b;
          keys[i + apart] = a;
        }
      }
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  weft_bracket* own = (weft_bracket*)(work + brackets_at) + row * ${count};
${set}}
`;
}

/** Writes the keys that a warp holds. */
const FLUSH = `        unsigned int to = 0;
        if (lane == 0) to = atomicAdd(&counters->taken, held);
        to = __shfl_sync(0xffffffffu, to, 0);
        __syncwarp();
        for (unsigned int k = lane; k < held; k += 32)
          if (to + k < room) some[to + k] = own_held[k];
        __syncwarp();
        is_full = to + held > room;
        held = 0;
`;

/** The kernels of rows with so many brackets, and the bracket of each rank. */
export function printBrackets(form: SelectForm, ofRanks: readonly number[]): string {
  const count = Math.max(...ofRanks) + 1;
  const each = (of: (b: number) => string): string => Array.from({ length: count }, (_, b) => of(b)).join('');
  const warps = SELECT_THREADS / 32;
  return `${COUNTERS}${printSampled(form.dtype, count)}${HEAD}${NARROW_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long brackets_at, long long keys_at, long long n, long long blocks, long long room) {
${ROW}  weft_row* counters = (weft_row*)(work + rows_at) + row;
  weft_bracket* brackets = (weft_bracket*)(work + brackets_at) + row * ${count};
  weft_key* some = (weft_key*)(work + keys_at) + row * room;
  __shared__ weft_key all_held[${warps}][${HELD}];
  __shared__ unsigned int begun;
  weft_key* own_held = all_held[threadIdx.x / 32];
  const unsigned int lane = threadIdx.x % 32;
  unsigned int held = 0;
  bool is_full = false;
${each(
  (b) => `  const weft_key low${b} = (weft_key)brackets[${b}].low, high${b} = (weft_key)brackets[${b}].high;
  unsigned int under${b} = 0, through${b} = 0;
`,
)}  in += row * n;
${eachElement(
  form,
  `      bool is_between = false;
${each(
  (b) => `      {
        const bool is_under = is_there && key < low${b}, is_through = is_there && key <= high${b};
        under${b} += is_under;
        through${b} += is_through;
        is_between = is_between || is_under != is_through;
      }
`,
)}      const unsigned int lanes = __ballot_sync(0xffffffffu, is_between);
      if (is_between) own_held[held + __popc(lanes & ((1u << lane) - 1u))] = weft_element_of(key);
      held += __popc(lanes);
      if (held > ${HELD - 32}) {
${FLUSH}        if (is_full) break;
      }
`,
  { warps: '!is_full' },
)}  if (held > 0) {
${FLUSH}  }
${each(
  (b) => `  #pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    under${b} += __shfl_down_sync(0xffffffffu, under${b}, lanes);
    through${b} += __shfl_down_sync(0xffffffffu, through${b}, lanes);
  }
  if (lane == 0) {
    atomicAdd(&brackets[${b}].under, (unsigned long long)under${b});
    atomicAdd(&brackets[${b}].through, (unsigned long long)through${b});
  }
`,
)}  if (!weft_last_block(&begun, &counters->sampled, blocks) || threadIdx.x != 0) return;
  const volatile weft_bracket* counted = brackets;
  const unsigned int taken = *(const volatile unsigned int*)&counters->taken;
  weft_state* states = (weft_state*)work + row * ${form.ranks};
  /* Collected below a bracket: of elements that are in two, which end one and begin the next, those of one. */
  unsigned long long ranks[${form.ranks}], before = 0, last_through = 0;
  bool is_narrow = taken <= room;
${each(
  (b) => `  {
    const unsigned long long under = counted[${b}].under, through = counted[${b}].through;
    before -= last_through > under ? last_through - under : 0ull;
${ofRanks
  .map((of, r) =>
    of === b
      ? `    ranks[${r}] = states[${r}].rank - (under - before);
    is_narrow = is_narrow && states[${r}].rank >= under && states[${r}].rank < through;
`
      : '',
  )
  .join('')}    before += through - under;
    last_through = through;
  }
`,
)}  if (!is_narrow) return;
  counters->few = taken;
  #pragma unroll
  for (int r = 0; r < ${form.ranks}; ++r) states[r].rank = ranks[r];
}
`;
}
