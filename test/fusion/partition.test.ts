import { describe, expect, it } from 'vitest';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { loadsOf } from '../../src/fusion/kernel/algebra.js';
import { bufferName } from '../../src/fusion/partition/buffer-key.js';
import type { FusedStep } from '../../src/fusion/partition/partition.js';
import type { Expr } from '../../src/graph/expr.js';
import { constant, contract, map, reduce } from '../../src/graph/infer.js';
import { concat, stack } from '../../src/graph/joins.js';
import { pad, roll } from '../../src/graph/masks.js';
import { reshape, view } from '../../src/graph/view-nodes.js';
import { array, kept, namesOf, partitionOf, softmax } from '../support/graphs.js';

const names = (...outputs: Parameters<typeof partitionOf>[0][number][]): string[] =>
  namesOf(partitionOf(outputs).steps);

const sizeOfCall = (step: FusedStep): readonly number[] => (step.kind === 'call' ? step.nodes[0]!.shape : []);

describe('partition', () => {
  it('fuses a chain of maps into one kernel', () => {
    const x = array([1000]);
    const y = array([1000]);
    expect(
      names(map('exp', [map('add', [map('multiply', [map('sin', [x]), 0.5]), map('cos', [y])])])),
    ).toEqual(['map_sin_multiply_cos_add_exp']);
  });

  it('fuses a map chain into its reduction, and what follows into its epilogue', () => {
    const x = array([100, 200]);
    expect(names(map('sqrt', [reduce('sum', map('square', [x]), [1])]))).toEqual(['reduce_square_sum_sqrt']);
  });

  it('takes what follows a reduction once for each column of a larger array', () => {
    const roots = map('sqrt', [reduce('sum', map('square', [array([2048, 64])]), [1])]);
    const down = map('divide', [array([2048, 2048]), roots]);
    expect(names(reduce('max', down, [1]))).toEqual(['reduce_square_sum_sqrt', 'reduce_divide_max']);
    const across = map('divide', [array([2048, 2048]), reshape(roots, [2048, 1])]);
    expect(names(reduce('max', across, [1]))).toEqual(['reduce_square_sum', 'reduce_sqrt_divide_max']);
  });

  it('runs softmax along either axis as one kernel', () => {
    expect(names(softmax(array([4096, 1024]), 1))).toHaveLength(1);
    expect(names(softmax(array([1024, 4096]), 0))).toHaveLength(1);
  });

  it('leaves a sum by itself whose elements another kernel takes in another order', () => {
    const x = array([100, 200]);
    const turned = view(x, { type: 'permute', order: [1, 0] }, [200, 100]);
    const plan = partitionOf([
      reduce('sum', x, [0, 1]),
      map('add', [map('exp', [turned]), array([200, 100])]),
    ]);
    expect(namesOf(plan.steps).toSorted()).toEqual(['map_exp_add', 'reduce_sum']);
    const most = partitionOf([
      reduce('max', x, [0, 1]),
      map('add', [map('exp', [turned]), array([200, 100])]),
    ]);
    expect(most.steps).toHaveLength(1);
  });

  it('reduces one input several ways in one pass', () => {
    const x = array([1 << 20]);
    const [kernel, ...rest] = partitionOf([
      reduce('min', x, [0]),
      reduce('max', x, [0]),
      reduce('sum', x, [0]),
      reduce('argmax', x, [0]),
    ]).steps;
    expect(rest).toEqual([]);
    expect(kernel?.kind === 'kernel' && loadsOf(kernel.kernel.kernel)).toHaveLength(1);
  });

  it('standardizes columns of a tall array in two passes', () => {
    const x = array([1 << 20, 32]);
    const mean = map('divide', [kept('sum', x, 0), 2 ** 20]);
    const std = map('sqrt', [map('divide', [kept('squaredDeviations', x, 0), 2 ** 20])]);
    expect(names(map('divide', [map('subtract', [x, mean]), std]))).toHaveLength(2);
  });

  it('normalizes rows in one kernel', () => {
    const x = array([4096, 1024]);
    const mean = map('divide', [kept('sum', x, 1), 1024]);
    const variance = map('divide', [kept('squaredDeviations', x, 1), 1024]);
    const y = map('divide', [map('subtract', [x, mean]), map('sqrt', [map('add', [variance, 1e-5])])]);
    expect(names(map('add', [map('multiply', [y, array([1024])]), array([1024])]))).toHaveLength(1);
  });

  it('reads through transposes, slices and broadcasts without a copy', () => {
    const x = array([64, 64]);
    const transposed = view(x, { type: 'permute', order: [1, 0] }, [64, 64]);
    const flipped = view(x, { type: 'slice', starts: [63, 0], steps: [-1, 1] }, [64, 64]);
    expect(names(map('add', [map('add', [x, transposed]), flipped]))).toEqual(['map_add']);
  });

  it('reads through a reshape that a finer domain makes affine', () => {
    const x = array([24]);
    const y = array([4, 6]);
    const sum = map('add', [reshape(map('exp', [x]), [4, 6]), y]);
    expect(names(reshape(map('sqrt', [reshape(sum, [2, 2, 6])]), [8, 3]))).toHaveLength(1);
  });

  it('stores what a reshape cannot read as an affine map', () => {
    const x = view(array([6, 4]), { type: 'permute', order: [1, 0] }, [4, 6]);
    expect(names(map('exp', [reshape(map('sin', [x]), [3, 8])]))).toEqual(['map_sin', 'map_exp']);
  });

  it('stores what two kernels would else compute from many arrays', () => {
    const shape = [512, 512];
    let sum = array(shape);
    for (let k = 0; k < 9; k++) sum = map('add', [sum, array(shape)]);
    const { steps } = partitionOf([reduce('max', sum, [0]), reduce('max', sum, [1])]);
    const arrays = steps.flatMap((step) => (step.kind === 'kernel' ? step.kernel.keys.map(bufferName) : []));
    expect(arrays.filter((key) => key.startsWith('source'))).toHaveLength(10);
  });

  it('reads a stored value in the rows of a matrix that each are reduced with it', () => {
    const [a, b, c] = [array([5000]), array([5000]), array([5000])];
    const rest = map('subtract', [map('subtract', [a, b]), c]);
    const rows = reduce('sum', map('multiply', [array([20, 5000]), reshape(rest, [1, 5000])]), [1]);
    const { steps } = partitionOf([rest, rows]);
    const loads = steps.map((step) => (step.kind === 'kernel' ? loadsOf(step.kernel.kernel).length : 0));
    expect(loads).toEqual([3, 2]);
  });

  it('computes only what a slice of a transposed reduction or product needs', () => {
    const sum = reduce('sum', array([64, 32, 16]), [2]);
    const factors = [array([64, 32]), array([32, 16])];
    const product = contract(
      'matmul',
      [
        [0, 1],
        [1, 2],
      ],
      [0, 2],
      factors,
    );
    for (const [x, shape] of [
      [sum, [32, 64]],
      [product, [16, 64]],
    ] as const) {
      const transposed = view(x, { type: 'permute', order: [1, 0] }, shape);
      const slice = view(transposed, { type: 'slice', starts: [3, 5], steps: [2, 1] }, [4, 10]);
      for (const step of partitionOf([slice]).steps) {
        const size = step.kind === 'kernel' ? step.kernel.kernel.parallel : sizeOfCall(step);
        expect(size.reduce((a, b) => a * b, 1)).toBe(40);
      }
    }
  });

  it('puts scalars side by side in one kernel', () => {
    const scalars = [1, 2, 3, 4].map((value) => constant(value, 'float64'));
    expect(names(stack(scalars))).toHaveLength(1);
  });

  it('does not join kernels so that each needs the other', () => {
    const reversed = (x: Expr): Expr => view(x, { type: 'slice', starts: [2], steps: [-1] }, [3]);
    const a = map('exp', [array([3])]);
    const b = map('sin', [array([3])]);
    const onB = map('add', [b, reversed(a)]);
    const onA = map('add', [a, reversed(b)]);
    const { steps } = partitionOf([a, b, onB, onA]);
    const written = new Set<string>();
    for (const step of steps) {
      if (step.kind !== 'kernel') throw new Error('no library call was asked for');
      const { kernel } = step.kernel;
      const keys = step.kernel.keys.map(bufferName);
      const read = keys.filter((key, k) => key.startsWith('node') && kernel.buffers[k]!.role === 'input');
      expect([...written]).toEqual(expect.arrayContaining(read));
      keys.forEach((key, k) => {
        if (kernel.buffers[k]!.role === 'output') written.add(key);
      });
    }
    expect(written.size).toBe(4);
  });

  it('keeps maps apart that have a product between them', () => {
    const x = array([64, 64]);
    const flipped = view(x, { type: 'slice', starts: [63, 0], steps: [-1, 1] }, [64, 64]);
    const times = (a: Expr, b = array([64, 64])): Expr =>
      contract(
        'matmul',
        [
          [0, 1],
          [1, 2],
        ],
        [0, 2],
        [a, b],
      );
    const product = times(flipped);
    expect(names(map('add', [product, x]))).toEqual(['map_copy', 'matmul', 'map_add']);
    expect(names(map('add', [times(times(x), flipped), x]))).toEqual([
      'matmul',
      'map_copy',
      'matmul',
      'map_add',
    ]);
  });

  it('keeps a value that is used and wanted in one kernel', () => {
    const x = array([1000]);
    const y = map('exp', [x]);
    const [kernel, ...rest] = partitionOf([y, map('sqrt', [y]), reduce('sum', y, [0])]).steps;
    expect(rest).toEqual([]);
    expect(kernel?.kind === 'kernel' && kernel.kernel.kernel.stores).toHaveLength(3);
  });

  it('turns a column sum of a product into a sum and a matrix-vector product', () => {
    const [a, b] = [array([1000, 500]), array([500, 700])];
    const product = contract(
      'matmul',
      [
        [0, 1],
        [1, 2],
      ],
      [0, 2],
      [a, b],
    );
    expect(names(reduce('sum', product, [0]))).toEqual(['reduce_sum', 'reduce_multiply_sum']);
    expect(namesOf(partitionOf([reduce('sum', product, [0])], { exact: true }).steps)).toEqual([
      'matmul',
      'reduce_sum',
    ]);
  });

  it('gives a library the views of its operands, not copies', () => {
    const [a, b] = [array([300, 200]), array([300, 400])];
    const product = contract(
      'matmul',
      [
        [0, 1],
        [0, 2],
      ],
      [1, 2],
      [a, b],
    );
    expect(names(product)).toEqual(['matmul']);
  });

  it('does long products of what is in another order, or computed, in a kernel on a GPU alone', () => {
    const on = (gpu: boolean, x: Expr): string[] =>
      namesOf(partitionOf([x], gpu ? { passes: CUDA_TARGET.passes } : {}).steps);
    const labels = [
      [0, 1, 2, 3],
      [3, 1, 4, 0],
    ];
    const inOrder = contract('einsum', labels, [4, 2], [array([12, 8, 10, 16]), array([16, 8, 9, 12])]);
    expect(on(true, inOrder)).toEqual(['reduce_multiply_sum']);
    expect(on(false, inOrder)).toEqual(['map_copy', 'map_copy', 'matmul']);
    const product = (a: Expr, b: Expr): Expr =>
      contract(
        'matmul',
        [
          [0, 1],
          [0, 2],
        ],
        [1, 2],
        [a, b],
      );
    const computed = (m: number, k: number): Expr => map('exp', [array([k, m])]);
    expect(on(true, product(computed(20, 5000), array([5000, 30])))).toEqual(['reduce_exp_term_product_sum']);
    // A library is faster at what lies in order, at long rows, and at halves.
    expect(on(true, product(array([5000, 20]), array([5000, 30])))).toEqual(['matmul']);
    expect(on(true, product(computed(100, 5000), array([5000, 100])))).toEqual(['map_exp', 'matmul']);
    expect(on(true, product(computed(200, 5000), array([5000, 20])))).toEqual(['map_exp', 'matmul']);
    // One copy serves both operands; up to 64 columns, a kernel takes them up once and computes a half.
    const [few, many, more] = [20, 64, 80].map((columns) => computed(columns, 5000));
    expect(on(true, product(few!, few!))).toEqual(['reduce_exp_term_product_sum']);
    expect(on(true, product(many!, many!))).toEqual(['reduce_exp_term_product_sum']);
    expect(on(true, product(more!, more!))).toEqual(['map_exp', 'matmul']);
    expect(on(true, product(computed(200, 300), array([300, 20])))).toEqual(['map_exp', 'matmul']);
    expect(
      on(true, product(map('exp', [array([5000, 20], 'float64')]), array([5000, 30], 'float64'))),
    ).toEqual(['map_exp', 'matmul']);
  });

  it('computes a transposed product as the product of the transposes', () => {
    const [a, b] = [array([300, 200]), array([200, 400])];
    const product = contract(
      'matmul',
      [
        [0, 1],
        [1, 2],
      ],
      [2, 0],
      [a, b],
    );
    expect(names(product)).toEqual(['matmul']);
  });

  it('cuts a chain that is longer than a kernel may be', () => {
    let x = array([1 << 16]);
    for (let k = 0; k < 3000; k++) x = map(k % 2 === 0 ? 'sin' : 'cos', [x]);
    const { steps } = partitionOf([x]);
    expect(steps.length).toBeGreaterThan(2);
    expect(steps.length).toBeLessThan(10);
  });

  it('stores what is expensive and put beside others of other sizes, once it is large', () => {
    const parts = (size: number, op: 'tanh' | 'square'): Expr[] =>
      Array.from({ length: 8 }, (_, k) => map(op, [array([size + k])]));
    expect(names(concat(parts(1 << 18, 'tanh')))).toHaveLength(9);
    expect(names(concat(parts(100, 'tanh')))).toHaveLength(1);
    expect(names(concat(parts(1 << 18, 'square')))).toHaveLength(1);
  });

  it('leaves the slices of a roll and the border of a stencil where they are', () => {
    const x = map('tanh', [array([1 << 20])]);
    expect(names(map('add', [roll(x, 1), 1]))).toHaveLength(1);
    expect(names(pad(x, 1))).toHaveLength(1);
  });

  it('joins many arrays a few at a time', () => {
    const loads = (count: number): number =>
      partitionOf([concat(Array.from({ length: count }, () => array([1 << 12])))]).steps.reduce(
        (sum, step) => sum + (step.kind === 'kernel' ? loadsOf(step.kernel.kernel).length : 0),
        0,
      );
    expect(loads(16)).toBe(16);
    // As many as one kernel stores; of more, 16 at a time, and then these.
    expect(loads(256)).toBe(256);
    expect(loads(512)).toBe(512 + 32 + 2);
  });

  it('names a reason for every edge that was not fused', () => {
    const x = array([1 << 20, 4]);
    const mean = map('divide', [kept('sum', x, 0), 2 ** 20]);
    const edges = partitionOf([map('subtract', [x, mean])]).edges();
    expect(edges).toMatchObject([{ from: 0, to: 1, reason: 'needs-result' }]);
  });
});

describe('a short reduction inside another', () => {
  it('is written out, so that a sum over pairs is one kernel', () => {
    const [x, y, b] = [array([500, 1, 3]), array([1, 500, 3]), array([500])];
    const distance = reduce('sum', map('square', [map('subtract', [x, y])]), [2]);
    const weights = map('exp', [map('negative', [distance])]);
    expect(names(reduce('sum', map('multiply', [weights, b]), [1]))).toHaveLength(1);
  });

  it('stays a kernel of its own where its value is wanted', () => {
    const x = reduce('sum', map('square', [array([500, 3])]), [1]);
    expect(names(x, reduce('max', x, [0]))).toHaveLength(2);
  });
});
