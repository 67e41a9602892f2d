/**
 * CUDA C of scans: a warp goes along a tile, four elements a lane and step. Lanes combine theirs in order, the
 * warp their totals by shuffles (Hillis and Steele, "Data parallel algorithms", 1986), each step what is before
 * it: no order depends on what else runs. Launches are made by `exec/calls/scan.ts`.
 */
import { DTYPE_INFO, type DType, isComplex, isFloat } from '../../../graph/dtype.js';
import { CUDA_TYPE } from '../../../graph/ops.js';
import type { ScanOp } from '../../../graph/routines.js';
import { highestLiteral, lowestLiteral } from '../literals.js';

export interface ScanForm {
  readonly dtype: DType;
  readonly op: ScanOp;
  /** The dtype of what is before each tile; undefined: nothing is. */
  readonly carried: DType | undefined;
}

export const SCAN_NAME = 'weft_scan';
export const SCAN_THREADS = 256;
export const SCAN_WARPS = SCAN_THREADS / 32;
const ITEMS = 4;

/** Of elements of a dtype and of the numbers that they are combined as: their types, and how they are combined. */
function printReal({ dtype, op }: ScanForm): string {
  const element = CUDA_TYPE[dtype];
  const isSelected = op === 'min' || op === 'max';
  // Sums and products of integers wrap, which signed ones may not; those of floats are rounded once.
  const wide = isSelected ? element : isFloat(dtype) ? 'double' : 'unsigned long long';
  const better = op === 'min' ? '<' : '>';
  const number = isFloat(dtype) ? '  if (a != a) return a;\n  if (b != b) return b;\n' : '';
  const combined = isSelected
    ? `${number}  return b ${better} a ? b : a;`
    : `  return a ${op === 'sum' ? '+' : '*'} b;`;
  const extreme = op === 'min' ? highestLiteral : lowestLiteral;
  const identity = isSelected ? extreme(dtype) : op === 'prod' ? '1' : isFloat(dtype) ? '-0.0' : '0';
  return `typedef ${element} weft_element;
typedef ${wide} weft_wide;
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return (weft_wide)a; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) { return (weft_element)a; }
__device__ __forceinline__ weft_wide weft_identity() { return (weft_wide)(${identity}); }
__device__ __forceinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
${combined}
}
__device__ __forceinline__ weft_wide weft_up(weft_wide a, unsigned int lanes) {
  return __shfl_up_sync(0xffffffffu, a, lanes);
}
__device__ __forceinline__ weft_wide weft_down(weft_wide a, unsigned int lanes) {
  return __shfl_down_sync(0xffffffffu, a, lanes);
}
`;
}

function printComplex({ dtype, op }: ScanForm): string {
  const part = CUDA_TYPE[DTYPE_INFO[dtype].component];
  const combined =
    op === 'sum'
      ? 'return weft_wide{a.re + b.re, a.im + b.im};'
      : 'return weft_wide{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};';
  return `struct __align__(${dtype === 'complex64' ? 8 : 16}) weft_element {
  ${part} re, im;
};
struct __align__(16) weft_wide {
  double re, im;
};
__device__ __forceinline__ weft_wide weft_widen(weft_element a) { return weft_wide{(double)a.re, (double)a.im}; }
__device__ __forceinline__ weft_element weft_round(weft_wide a) {
  return weft_element{(${part})a.re, (${part})a.im};
}
__device__ __forceinline__ weft_wide weft_identity() { return weft_wide{${op === 'sum' ? '-0.0, -0.0' : '1.0, 0.0'}}; }
__device__ __forceinline__ weft_wide weft_combine(weft_wide a, weft_wide b) {
  ${combined}
}
__device__ __forceinline__ weft_wide weft_up(weft_wide a, unsigned int lanes) {
  return weft_wide{__shfl_up_sync(0xffffffffu, a.re, lanes), __shfl_up_sync(0xffffffffu, a.im, lanes)};
}
__device__ __forceinline__ weft_wide weft_down(weft_wide a, unsigned int lanes) {
  return weft_wide{__shfl_down_sync(0xffffffffu, a.re, lanes), __shfl_down_sync(0xffffffffu, a.im, lanes)};
}
`;
}

/**
 * The kernel. Block b has eight tiles of unit b / blocks, or those that are left of it; tile k of a row begins
 * with element k · tile.
 */
export function printScan(form: ScanForm): string {
  const isCarried = form.carried !== undefined;
  return `${isComplex(form.dtype) ? printComplex(form) : printReal(form)}
extern "C" __global__ void __launch_bounds__(${SCAN_THREADS})
${SCAN_NAME}(unsigned int first_x, const weft_element* in, ${isCarried ? 'const weft_wide* before, ' : ''}weft_element* out, long long tiles, long long unit_tiles, long long unit_blocks, long long row_tiles, long long n, long long tile) {
  const long long block = (long long)blockIdx.x + first_x;
  const long long at = block % unit_blocks * ${SCAN_WARPS} + threadIdx.x / 32;
  const long long own = block / unit_blocks * unit_tiles + at;
  if (at >= unit_tiles || own >= tiles) return;
  const long long start = own % row_tiles * tile;
  const long long first = own / row_tiles * n + start;
  const int count = (int)(n - start < tile ? n - start : tile);
  const unsigned int lane = threadIdx.x % 32;
  weft_wide sum = ${isCarried ? 'before[own]' : 'weft_identity()'};
  for (int step = 0; step < count; step += ${32 * ITEMS}) {
    const int mine = step + ${ITEMS} * (int)lane;
    weft_wide v[${ITEMS}];
    #pragma unroll
    for (int e = 0; e < ${ITEMS}; ++e) {
      v[e] = mine + e < count ? weft_widen(in[first + mine + e]) : weft_identity();
      if (e > 0) v[e] = weft_combine(v[e - 1], v[e]);
    }
    weft_wide total = v[${ITEMS - 1}];
    #pragma unroll
    for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
      const weft_wide lower = weft_up(total, lanes);
      if (lane >= lanes) total = weft_combine(lower, total);
    }
    const weft_wide lower = weft_up(total, 1);
    const weft_wide ahead = lane == 0 ? sum : weft_combine(sum, lower);
    #pragma unroll
    for (int e = 0; e < ${ITEMS}; ++e)
      if (mine + e < count) out[first + mine + e] = weft_round(weft_combine(ahead, v[e]));
    sum = weft_combine(sum, weft_down(total, 31 - lane));
  }
}
`;
}
