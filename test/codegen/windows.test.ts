/** Neighbours of a window come from chunks that are in registers: each chunk of an array is loaded once by a thread. */
import { expect, it } from 'vitest';
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';

const N = 1 << 20;

/** The CUDA C of a sum of `count` neighbours. */
function sumOf(count: number): string {
  const x = placeholder([N], { dtype: 'float32' });
  const sum = Array.from({ length: count }, (_, k) => x.slice([k, k + N - count + 1]) as Lazy).reduce(
    (a, b) => a.add(b),
  );
  const [step] = partitionOf([sum.expr], { passes: CUDA_TARGET.passes }).steps;
  if (step?.kind !== 'kernel') throw new Error('no kernel');
  return cudaKernel(step.kernel.kernel).source;
}

it.each([
  ['of radius 8', 17, 4, 5],
  ['of radius 16', 33, 4, 9],
  ['of radius 64', 129, 4, 33],
  ['of radius 200', 401, 2, 201],
])('a sum %s', (_, count, width, packs) => {
  const [loop] = sumOf(count).split(`weft_pack<float, ${width}> o0;`);
  expect(loop!.split(`reinterpret_cast<const weft_pack<float, ${width}>*>(b0`)).toHaveLength(packs + 1);
  expect(loop).not.toMatch(/\bb0\[/);
});

it('reads the last elements of a window of even length by themselves', () => {
  const [loop] = sumOf(8).split('weft_pack<float, 4> o0;');
  expect(loop!.split('reinterpret_cast<const weft_pack<float, 4>*>(b0')).toHaveLength(3);
  // Three of the neighbours have elements beyond the last whole chunk.
  expect(loop!.match(/\bb0\[/g)).toHaveLength(3);
});
