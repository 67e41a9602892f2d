/**
 * CUDA C of bins whose keys may stand in runs, as those of sorted rows do: a warp adds what belongs to one bin before it
 * goes to memory, where atomic operations on one place wait for one another. Sums of integers are the same in any order.
 * Used by `bins.ts`.
 */
import { BIN_THREADS, type BinForm, FLIGHT, findBin, hasValues, pitchOf } from './bin-form.js';
import { keyAt, valueAt } from './bin-rows.js';

/** Runs in a warp up to which they are added so: of more, an atomic operation for each lane takes no longer. */
export const MOST_RUNS = 12;

/** Whether elements of one bin that stand side by side are added before they go to memory. */
export const hasRuns = ({ op, width }: BinForm): boolean =>
  width === 1 && (op === 'count' || op === 'sum' || op === 'exact');

/**
 * Goes through elements as `printWalk` does, one a row, whole warps at once: lanes that stand side by side and have one
 * bin add theirs by shuffles, if there are few runs of such, and one of them adds that to memory. Keys in order have no
 * more than one or two.
 */
export function printRuns(form: BinForm): string {
  const valued = hasValues(form);
  const isExact = form.op === 'exact';
  const type = isExact ? 'long long' : 'weft_result';
  const given = isExact
    ? `long long number = 0;
      const int window = bin < 0 ? 0 : weft_window(v[j], &number);
      weft_add_runs(own, ${pitchOf(form)}, bin, window, number);`
    : `weft_add_runs(own, bin, bin < 0 ? (${type})0 : (${type})${valued ? 'v[j]' : '1'});`;
  return `  const long long stride = unit_blocks * ${BIN_THREADS};
  const unsigned int lane = threadIdx.x % 32;
  for (long long from = block % unit_blocks * ${BIN_THREADS} + threadIdx.x; from - lane < count; from += ${FLIGHT} * stride) {
    weft_key k[${FLIGHT}];
${valued ? `    weft_value v[${FLIGHT}];\n` : ''}    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + j * stride;
      if (e < count) {
        k[j] = ${keyAt(form, 'row + e')};
${valued ? `        v[j] = ${valueAt(form, 'row + e')};\n` : ''}      }
    }
    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + j * stride;
      if (e - lane >= count) break;
      const long long bin = e < count ? ${findBin(form)} : -1;
      ${given}
    }
  }
`;
}

/** The sum of a run's elements over its lanes, from the first of it on. */
export const RUN_SUM = `/* The lane that the run of a lane ends with, and whether it begins with that; how many there are in the warp. */
struct weft_run {
  bool is_first;
  int last;
  int count;
  template <class P> __device__ __forceinline__ weft_run(P bin) {
    const int lane = threadIdx.x % 32;
    const P before = __shfl_up_sync(0xffffffffu, bin, 1);
    is_first = lane == 0 || before != bin;
    const unsigned int firsts = __ballot_sync(0xffffffffu, is_first);
    const unsigned int behind = lane == 31 ? 0u : firsts >> (lane + 1);
    last = behind == 0 ? 31 : lane + __popc(~behind & (behind - 1));
    count = __popc(firsts);
  }
  /* The sum of a run, in its first lane. */
  template <class T> __device__ __forceinline__ T sum(T value) const {
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
      const T other = __shfl_down_sync(0xffffffffu, value, lanes);
      if (lane + lanes <= last) value += other;
    }
    return value;
  }
};
`;

export function printAddRuns({ op, parts, result }: BinForm): string {
  const atomic = result === 'uint32' ? 'unsigned int' : 'unsigned long long';
  if (op !== 'exact')
    return `${RUN_SUM}__device__ __forceinline__ void weft_add_runs(weft_result* own, long long bin, weft_result value) {
  const weft_run run(bin);
  if (run.count <= ${MOST_RUNS}) {
    const weft_result all = run.sum(value);
    value = run.is_first ? all : 0;
  }
  if (bin >= 0 && value != 0) atomicAdd((${atomic}*)own + bin, (${atomic})value);
}
`;
  return `${RUN_SUM}/* Of few runs, those of the windows of up to two lanes are added together. */
__device__ __forceinline__ void weft_add_runs(weft_result* own, long long bins, long long bin, int window, long long number) {
  const weft_run run(bin);
  bool waits = bin >= 0;
  for (int round = 0; round < 2 && run.count <= ${MOST_RUNS}; ++round) {
    const unsigned int left = __ballot_sync(0xffffffffu, waits && window != ${parts - 1});
    if (left == 0) break;
    const int chosen = __shfl_sync(0xffffffffu, window, __popc(~left & (left - 1)));
    const bool is_chosen = waits && window == chosen;
    const long long sum = run.sum(is_chosen ? number : 0ll);
    if (run.is_first && bin >= 0) weft_add_window(own, bins, bin, chosen, sum);
    waits = waits && !is_chosen;
  }
  if (waits) weft_add_window(own, bins, bin, window, number);
}
`;
}
