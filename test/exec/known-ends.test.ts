/** Ends of index arrays that devices hold, which are looked for once. */
import { describe, expect, it } from 'vitest';
import { arrayOfCheck, knownEnds } from '../../src/exec/run/known-ends.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { checksOf } from '../../src/fusion/passes/index-check.js';
import { compile, type Lazy, lazy, RangeArgumentError, sparse, topK } from '../../src/index.js';

const table = lazy(Float32Array.of(10, 20, 30, 40));
const stored = async (indices: readonly number[]): Promise<Lazy> =>
  await lazy(Int32Array.from(indices)).persist({ device: 'cpu' });

/** The ends that are known of the indices of a gather. */
function knownOf(gather: Lazy): unknown {
  return knownEnds([arrayOfCheck(checksOf(gather.expr)[0]!)]);
}

describe('indices that a device holds', () => {
  it('are looked through once', async () => {
    const indices = await stored([3, 0, -1]);
    const taken = table.take(indices);
    expect(knownOf(taken)).toBeUndefined();
    expect([...(await taken.compute({ device: 'cpu' })).data]).toEqual([40, 10, 40]);
    expect(knownOf(taken)).toEqual([[-1n, 3n]]);
    expect([...(await taken.mul(2).compute({ device: 'cpu' })).data]).toEqual([80, 20, 80]);
    // Other axes may be too short for the same indices.
    await expect(table.slice([0, 3]).take(indices).compute({ device: 'cpu' })).rejects.toThrow(
      RangeArgumentError,
    );
  });

  it('are those of all elements, in whatever shape and dtype', async () => {
    const indices = await stored([3, 0, 2, 1]);
    await table.take(indices.reshape([2, 2])).compute({ device: 'cpu' });
    expect(knownOf(table.take(indices))).toEqual([[0n, 3n]]);
    expect(knownOf(table.take(indices.slice([0, 2])))).toBeUndefined();
    expect(knownOf(table.take(indices.astype('int8')))).toBeUndefined();
  });

  it('are not looked for of places that an order gives, so that what is in order is computed once', () => {
    const long = table.tile([2]);
    for (const order of [table.argsort(), long.argsort().slice([0, 2]), topK(long, 3).indices]) {
      expect(checksOf(long.take(order).expr)).toEqual([]);
      expect(checksOf(lazy([1, 2, 3]).take(order).expr)).toHaveLength(1);
    }
    const { eigenvalues, eigenvectors } = sparse.eigsh(sparse.eye(40), { k: 2 });
    expect(canonicalize([eigenvalues.expr, eigenvectors.expr]).checks).toEqual([]);
  });

  it('are refused each time', async () => {
    const taken = table.take(await stored([1, 4]));
    for (let k = 0; k < 2; k++) await expect(taken.compute({ device: 'cpu' })).rejects.toThrow(/4/);
  });

  it('are those of each argument of a compiled function', async () => {
    const look = compile((x: Lazy, i: Lazy) => x.take(i), { device: 'cpu' });
    const [right, wrong] = [await stored([2, 1]), await stored([2, 9])];
    for (let k = 0; k < 2; k++) {
      expect([...(await look(table, right)).data]).toEqual([30, 20]);
      await expect(look(table, wrong)).rejects.toThrow(RangeArgumentError);
    }
    expect(knownOf(table.take(right))).toEqual([[1n, 2n]]);
  });

  it('are looked through each time where they are on the host', async () => {
    const taken = table.take(lazy(Int32Array.of(1, 2)));
    await taken.compute({ device: 'cpu' });
    expect(knownOf(taken)).toBeUndefined();
  });

  it('are known of what is computed of them, as of the lengths of sparse rows', async () => {
    const [indices, shift] = [await stored([1, 2]), await stored([0, 1])];
    const shifted = (by: number): Lazy => table.take(indices.add(shift).sub(by));
    await shifted(1).compute({ device: 'cpu' });
    expect(knownOf(shifted(1))).toEqual([[0n, 2n]]);
    expect(knownOf(shifted(2))).toBeUndefined();
    expect(knownOf(table.take(shift.add(indices).sub(1)))).toBeUndefined();
    await expect(shifted(-1).compute({ device: 'cpu' })).rejects.toThrow(RangeArgumentError);

    const data = await lazy(Float32Array.of(5, 6)).persist({ device: 'cpu' });
    const indptr = await stored([0, 1, 2]);
    const product = (): Lazy => sparse.csr({ data, indices: indices.sub(1), indptr }, [2, 4]).matmul(table);
    expect([...(await product().compute({ device: 'cpu' })).data]).toEqual([50, 120]);
    const checks = checksOf(product().expr.inputs[0]!);
    expect(knownEnds(checks.map(arrayOfCheck))).toEqual([
      [0n, 2n],
      [1n, 1n],
      [0n, 1n],
    ]);
  });

  it('are told apart by the sign of a zero, by parts of complex constants and by shapes', async () => {
    const ones = await lazy(Float32Array.of(1, 1)).persist({ device: 'cpu' });
    const signed = (zero: number): Lazy => table.take(ones.copysign(zero).mul(4).astype('int32'));
    expect([...(await signed(-0).compute({ device: 'cpu' })).data]).toEqual([10, 10]);
    await expect(signed(0).compute({ device: 'cpu' })).rejects.toThrow(RangeArgumentError);

    const turned = (im: number): Lazy =>
      table.take(ones.astype('complex64').mul({ re: 0, im }).imag().astype('int32'));
    expect([...(await turned(1).compute({ device: 'cpu' })).data]).toEqual([20, 20]);
    await expect(turned(9).compute({ device: 'cpu' })).rejects.toThrow(RangeArgumentError);
  });

  it('are kept of few computed indices of a memory', async () => {
    const indices = await stored([0, 1]);
    const shifted = (by: number): Lazy => table.take(indices.add(by).sub(by));
    for (let by = 0; by < 70; by++) await shifted(by).compute({ device: 'cpu' });
    expect(knownOf(shifted(0))).toBeUndefined();
    expect(knownOf(shifted(69))).toEqual([[0n, 1n]]);
  });

  it('are looked for below any number of views and casts', async () => {
    let indices = (await stored([0, 1, 2, 3])).reshape([2, 2]);
    for (let k = 0; k < 8000; k++) indices = indices.transpose().astype(k % 2 === 0 ? 'int64' : 'int32');
    expect(knownOf(table.take(indices))).toBeUndefined();
  });
});
