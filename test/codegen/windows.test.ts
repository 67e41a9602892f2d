/** Neighbours of a window come from chunks that are in registers: each chunk of an array is loaded once by a thread. */
import { expect, it } from 'vitest';
import { fusedPrograms } from '../../bench/fused-programs.js';
import { cudaKernel, printSchedule } from '../../src/codegen/cuda/cuda.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { loadsOf } from '../../src/fusion/kernel/algebra.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { printKernel } from '../../src/fusion/kernel/print.js';
import { trafficOf } from '../../src/fusion/kernel/traffic.js';
import { type Lazy, placeholder } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';

const N = 1 << 20;

/** The kernels of an expression where all of it is there at once. */
const kernelsOf = (expression: Lazy): Kernel[] =>
  partitionOf([expression.expr], { passes: CUDA_TARGET.passes, last: CUDA_TARGET.wholePasses }).steps.map(
    (step) => {
      if (step.kind !== 'kernel') throw new Error('no kernel');
      return step.kernel.kernel;
    },
  );

/** Sums of `width` neighbours, each element of the sums written out. */
const sums = (x: Lazy, width: number): Lazy =>
  Array.from({ length: width }, (_, k) => x.slice([k, k + x.size - width + 1])).reduce((sum, each) =>
    sum.add(each),
  );

/** The CUDA C of a sum of `count` neighbours. */
function sumOf(count: number): string {
  const [kernel] = kernelsOf(sums(placeholder([N], { dtype: 'float32' }), count));
  return cudaKernel(kernel!).source;
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

/** The kernels of a program of the bench. */
function kernelsOfProgram(name: string): Kernel[] {
  const program = fusedPrograms((full) => full).find((each) => each.name === name)!;
  return kernelsOf(program.expression(...program.inputs.map(({ shape }) => placeholder(shape, 'float32'))));
}

it.each([
  ['stencil27', 27, 512 ** 3],
  ['rolling_z_score', 128, 2 ** 27],
])('%s is one kernel that reads once and writes once, four elements a thread', (name, loads, size) => {
  const kernels = kernelsOfProgram(name);
  expect(kernels).toHaveLength(1);
  expect(loadsOf(kernels[0]!).length).toBeLessThanOrEqual(loads);
  const { bytesRead, bytesWritten } = trafficOf(kernels[0]!);
  expect(bytesRead + bytesWritten).toBeLessThanOrEqual(8 * size);
  expect(printSchedule(cudaKernel(kernels[0]!).schedule)).toBe('map: width 4, unroll 1, threads 128');
});

it('loads a line of a torus as one pack and its neighbours in the packs beside it', () => {
  const [loop] = cudaKernel(kernelsOfProgram('stencil27')[0]!).source.split('weft_pack<float, 4> o0;');
  expect(loop!.split('reinterpret_cast<const weft_pack<float, 4>*>(b0')).toHaveLength(9 + 1);
  expect(loop!.match(/\bb0\[/g)).toHaveLength(18);
});

it('stores what is read by windows where it is long to compute, is a result or is read in pieces', () => {
  const x = placeholder([N], 'float32');
  const y = placeholder([N], 'float32');
  const named = (expression: Lazy): string[] => kernelsOf(expression).map(({ name }) => name);
  expect(named(sums(x.mul(2).add(1), 17))).toHaveLength(1);
  expect(named(sums(x.exp().sin(), 65))).toEqual(['map_exp_sin', 'map_add']);
  expect(named(sums(x.square(), 400))).toHaveLength(1);
  expect(named(sums(x.square().add(y), 400))).toHaveLength(2);
});

it('stores rolls that are results or operands as they were', () => {
  const x = placeholder([64, 64], 'float32');
  expect(kernelsOf(x.roll(1, 0)).map(printKernel).join()).not.toMatch(/wrap/);
  expect(kernelsOf(x.sub(x.roll([3, -1], [0, 1]))).map(printKernel)).toEqual([
    expect.stringMatching(/else wrap 64 and .* else wrap 1 /),
  ]);
});

it('folds rolls of products like others', () => {
  const [x, y] = [placeholder([64], 'float32'), placeholder([64], 'float32')];
  const folds = (rolled: Lazy): boolean =>
    /wrap/.test(
      kernelsOf(rolled.sub(rolled.roll(1)))
        .map(printKernel)
        .join(),
    );
  const turned = x.reshape([8, 8]).mT.reshape([64]);
  for (const rolled of [x, x.mul(y), x.exp(), x.mul(y).add(x), turned]) expect(folds(rolled)).toBe(true);
});
