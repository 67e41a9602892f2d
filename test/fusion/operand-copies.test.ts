/** Operands of products reach the CPU's library, or its own packing, where they lie. Of GPUs: `test/sim/strided-products.test.ts`. */
import { describe, expect, it } from 'vitest';
import { reshapeStrides } from '../../src/fusion/partition/strided-view.js';
import { type DType, type Explanation, einsum, type Lazy, lazy, placeholder } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers } from '../support/random.js';

const p = (...shape: number[]): Lazy<'float32'> => placeholder(shape, 'float32');
const [A, B, T, V] = [p(64, 64), p(64, 64), p(8, 64, 64), p(64)];
const whole = async (x: Lazy): Promise<Lazy> => lazy(await x.compute({ device: 'cpu' }));
/** In memory, of values whose sums round. */
const random = (shape: number[], seed: number, dtype: DType): Promise<Lazy> =>
  whole(
    toLazy(randomIntegers('int16', shape, seed))
      .div(7)
      .astype(dtype),
  );
const explained = (x: Lazy): Explanation => x.explain({ device: 'cpu' });
/** The names of the steps, with the bytes that copies write. */
const stepsOf = (x: Lazy): string[] =>
  explained(x).steps.map(({ name, bytesWritten }) => (name === 'map_copy' ? `copy ${bytesWritten}` : name));

describe('a product reads without a copy', () => {
  it.each<[string, () => Lazy]>([
    ['a matrix and its transpose', () => A.matmul(A.mT)],
    ['sliced rows', () => p(100, 64).slice([2, 66]).matmul(B)],
    ['sliced columns', () => p(64, 100).slice(null, [2, 66]).matmul(B)],
    ['every other row', () => p(128, 64).slice([null, null, 2]).matmul(B)],
    ['batches that share the right matrix', () => T.matmul(B)],
    ['batches that share the left matrix', () => A.matmul(T)],
    ['sliced rows of batches that share a matrix', () => p(8, 65, 64).slice(null, [1, 65]).matmul(B)],
    ['batches along a middle axis', () => p(64, 8, 64).permuteDims([1, 0, 2]).matmul(B)],
    ['batches of batches along a middle axis', () => p(64, 8, 64).permuteDims([1, 0, 2]).matmul(T)],
    ['a matrix that is broadcast to batches', () => A.broadcastTo([8, 64, 64]).matmul(T)],
    ['two summed labels that run on', () => einsum('ijk,jkl->il', p(64, 8, 8), p(8, 8, 64))],
    ['heads of attention', () => einsum('bhqd,bhkd->bhqk', p(2, 4, 64, 32), p(2, 4, 64, 32))],
    ['sliced operands of tensordot', () => p(4, 65, 64).slice(null, [1, 65]).tensordot(B, 1)],
    ['every other column', () => p(64, 128).slice(null, [null, null, 2]).matmul(B)],
    ['rows and columns backwards', () => A.slice([null, null, -1], [null, null, -3]).matmul(p(22, 64))],
    ['batches along the last axis', () => p(64, 64, 8).permuteDims([2, 0, 1]).matmul(B)],
    ['heads behind positions', () => einsum('bqhd,bkhd->bhqk', p(2, 64, 4, 32), p(2, 64, 4, 32))],
    ['heads back behind positions', () => einsum('bhqk,bkhd->bqhd', p(2, 4, 64, 64), p(2, 64, 4, 32))],
    ['batches backwards', () => T.slice([null, null, -1]).matmul(T)],
    ['batches of three strides', () => einsum('abcij,cbajk->abcik', p(2, 3, 2, 34, 35), p(2, 3, 2, 35, 36))],
  ])('%s', (_, build) => {
    expect(stepsOf(build())).toEqual(['matmul']);
  });

  it('rows that are one row, whose product is computed once and broadcast', () => {
    expect(stepsOf(V.broadcastTo([64, 64]).matmul(B))).toEqual(['reduce_multiply_sum', 'copy 16384']);
    const [first] = explained(V.broadcastTo([64, 64]).matmul(B)).steps;
    expect(first!.bytesWritten).toBe(64 * 4);
  });
});

describe('a product packs what others copy', () => {
  const [ROWS, STEPS] = [[null, null, -1] as const, [null, null, 2] as const];

  it.each<DType>(['float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'])(
    'with the bits of copies, of %s',
    async (dtype) => {
      const [a, b] = [await random([4, 70, 90], 1, dtype), await random([4, 90, 80], 2, dtype)];
      for (const [left, right] of [
        [a.slice(null, ROWS, STEPS), b.slice(ROWS, STEPS, ROWS)],
        [a.slice(STEPS, null, ROWS), b.slice(STEPS, null, STEPS)],
        [a.permuteDims([1, 0, 2]), await random([70, 90, 36], 3, dtype)],
        [a.reshape(2, 2, 70, 90).permuteDims([1, 0, 2, 3]), b.reshape(2, 2, 90, 80)],
      ] as const) {
        const build = (x: Lazy, y: Lazy): Lazy => x.matmul(y, { library: 'weft' });
        const [packed, copied] = [build(left, right), build(await whole(left), await whole(right))];
        expect(stepsOf(packed)).toEqual(['matmul']);
        expect(await packed.compute({ device: 'cpu' })).toEqual(await copied.compute({ device: 'cpu' }));
      }
    },
  );

  it('within the bytes of the result and its panels', () => {
    const [result, panels] = [16 * 256 * 256 * 4, 2 ** 21];
    const scores = einsum('bqhd,bkhd->bhqk', p(4, 256, 4, 64), p(4, 256, 4, 64));
    const { peakBytes } = explained(scores);
    expect(peakBytes).toBeLessThan(result + panels);
    const flipped = p(4096, 64)
      .slice(null, [null, null, -1])
      .matmul(p(128, 64).slice([null, null, 2]));
    expect(explained(flipped).peakBytes).toBeLessThan(4096 * 64 * 4 + panels);
    expect(String(explained(flipped))).toContain('packed from where its operands lie');
  });
});

describe('strides of a reshape', () => {
  it.each<[number[], number[], number[], number[] | undefined]>([
    [
      [4096, 64, 1],
      [8, 64, 64],
      [512, 64],
      [64, 1],
    ],
    [[4160, 64, 1], [8, 64, 64], [512, 64], undefined],
    [
      [64, 1],
      [512, 64],
      [8, 64, 64],
      [4096, 64, 1],
    ],
    [
      [1, 64],
      [64, 64],
      [1, 64, 64],
      [64, 1, 64],
    ],
    [
      [0, 1],
      [8, 64],
      [8, 1, 8, 8],
      [0, 64, 8, 1],
    ],
    [
      [7, 1],
      [1, 6],
      [2, 3],
      [3, 1],
    ],
    [
      [6, 3, 1],
      [2, 2, 3],
      [3, 4],
      [4, 1],
    ],
    [[1, 6], [6, 2], [12], undefined],
    [[], [], [1, 1], [1, 1]],
    [
      [3, 1],
      [0, 3],
      [3, 0],
      [0, 1],
    ],
  ])('%j of %j as %j are %j', (strides, from, to, wanted) => {
    expect(reshapeStrides(strides, from, to)).toEqual(wanted);
  });
});
