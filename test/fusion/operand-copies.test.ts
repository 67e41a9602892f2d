/** Operands of products reach the library where they lie; those that cannot are copied, which explain() says. */
import { describe, expect, it } from 'vitest';
import { reshapeStrides } from '../../src/fusion/partition/strided-view.js';
import { type Explanation, einsum, type Lazy, placeholder } from '../../src/index.js';

const p = (...shape: number[]): Lazy<'float32'> => placeholder(shape, 'float32');
const [A, B, T, V] = [p(64, 64), p(64, 64), p(8, 64, 64), p(64)];
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
  ])('%s', (_, build) => {
    expect(stepsOf(build())).toEqual(['matmul']);
  });

  it('rows that are one row, whose product is computed once and broadcast', () => {
    expect(stepsOf(V.broadcastTo([64, 64]).matmul(B))).toEqual(['reduce_multiply_sum', 'copy 16384']);
    const [first] = explained(V.broadcastTo([64, 64]).matmul(B)).steps;
    expect(first!.bytesWritten).toBe(64 * 4);
  });
});

describe('a product copies', () => {
  it.each<[string, () => Lazy, readonly string[]]>([
    ['every other column', () => p(64, 128).slice(null, [null, null, 2]).matmul(B), ['copy 16384']],
    ['rows backwards', () => A.slice([null, null, -1]).matmul(B), ['copy 16384']],
    ['batches along the last axis', () => p(64, 64, 8).permuteDims([2, 0, 1]).matmul(B), ['copy 131072']],
  ])('%s, with its bytes as a step and a reason', (_, build, copies) => {
    expect(stepsOf(build())).toEqual([...copies, 'matmul']);
    const { edges } = explained(build());
    expect(edges.map(({ reason }) => reason)).toEqual(['operand-copy']);
    expect(edges[0]!.bytes).toBe(2 * Number(copies[0]!.split(' ')[1]));
    expect(edges[0]!.advice).toContain('they are a copy');
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
