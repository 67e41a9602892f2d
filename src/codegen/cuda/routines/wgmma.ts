/**
 * Functions of products by a warpgroup, 128 threads of neighbouring warps, with `wgmma.mma_async` of compute capability
 * 9.0 (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate"): 64 rows, so many columns and 16 terms of each
 * sum at a time. Sums are in float32, in registers: with g = lane / 4 and t = lane % 4 of warp w, element 4j + 2h + e of a
 * thread is at row 16w + g + 8h and column 8j + 2t + e, as of `mma.m16n8k16`.
 */
import type { DType } from '../../../graph/dtype.js';

export interface WarpgroupProduct {
  readonly name: string;
  readonly dtype: DType;
  /** Of the right factor and the sums: a multiple of 8. */
  readonly columns: number;
  /** Whether the left factor is in registers, 4 words of a thread, rather than in shared memory. */
  readonly isLeftHeld: boolean;
  /** Whether columns of the right factor lie side by side, rather than the terms of a column. */
  readonly isRightInRows: boolean;
}

const numbers = (first: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `%${first + i}`).join(', ');

/** A function that adds a product to sums, or puts it there. Factors in shared memory are given by descriptors. */
export function printWarpgroupProduct(product: WarpgroupProduct): string {
  const { name, dtype, columns, isLeftHeld, isRightInRows } = product;
  const type = dtype === 'float16' ? 'f16' : 'bf16';
  const sums = columns / 2;
  const left = isLeftHeld ? 4 : 1;
  const leftText = isLeftHeld ? `{${numbers(sums, left)}}` : `%${sums}`;
  const leftOperands = isLeftHeld ? '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])' : '"l"(a)';
  const [right, adds] = [sums + left, sums + left + 1];
  const order = isLeftHeld ? `${Number(isRightInRows)}` : `0, ${Number(isRightInRows)}`;
  const parameter = isLeftHeld ? 'const unsigned int (&a)[4]' : 'unsigned long long a';
  const outputs = Array.from({ length: sums }, (_, i) => `"+f"(c[${i}])`).join(', ');
  return `__device__ __forceinline__ void ${name}(float (&c)[${sums}], ${parameter}, unsigned long long b, bool adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %${adds}, 0; wgmma.mma_async.sync.aligned.m64n${columns}k16.f32.${type}.${type} {${numbers(0, sums)}}, ${leftText}, %${right}, p, 1, 1, ${order}; }" : ${outputs} : ${leftOperands}, "l"(b), "r"((int)adds));
}
`;
}
