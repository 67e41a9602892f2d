/**
 * Products and routines of the CPU that take no longer than to wake a thread are computed by the call that asks for them.
 */
import { describe, expect, it } from 'vitest';
import { createProgram, runSmall, smallResults } from '../../src/exec/native/native.js';
import { computeTargetOf, devicesOf } from '../../src/exec/run/compute-target.js';
import { programOf } from '../../src/exec/run/program.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { upToBound } from '../../src/graph/extent.js';
import {
  compile,
  compute,
  elementwise,
  eye,
  i0,
  type Lazy,
  lazy,
  limitMemory,
  linalg,
  sparse,
} from '../../src/index.js';

const options = { device: 'cpu' } as const;

/** The native program of expressions. */
async function specOf(...results: readonly Lazy[]) {
  const canonical = canonicalize(results.map(({ expr }) => upToBound(expr)));
  const target = computeTargetOf(devicesOf(canonical, options), options, 'host');
  const { one } = await programOf(canonical, target);
  return cpuProgram(one!.plan);
}

const square = (n: number, count?: number): Lazy =>
  lazy(Float64Array.from({ length: n * n * (count ?? 1) }, (_, k) => Math.sin(k * k))).reshape(
    count === undefined ? [n, n] : [count, n, n],
  );

const line32 = (n: number): Lazy => lazy(Float32Array.from({ length: n }, (_, k) => (k % 17) + 1));

const gammaOfRows = (rows: number): Lazy => {
  const sums = line32(8 * rows)
    .reshape([rows, 8])
    .sum(1);
  return sums.gammainc(sums);
};

/** Products of two rows in a row, each of which is a kernel. */
const kernels = (count: number): Lazy => {
  const a = square(2);
  let x = a;
  for (let k = 0; k < count; k++) x = x.matmul(a);
  return x;
};

/** So many rows of three elements each, as a lazy graph makes them and as the device holds them. */
const line = (rows: number) => sparse.diags([-1, 2, -1], [-1, 0, 1], [rows, rows]).persist(options);

describe('calls of the CPU', () => {
  it('give all results of small matrices in one step, their statuses too', async () => {
    const a = square(12);
    const results = [
      linalg.svd(a),
      linalg.eig(a),

      linalg.qr(a),
      linalg.lu(a),
      linalg.slogdet(a),
    ];
    const steps = await Promise.all(
      results.map(async (each) => (await specOf(...Object.values(each))).steps),
    );
    // Factors before their parts.
    expect(steps.map(({ length }) => length)).toEqual([1, 1, 1, 2, 2]);
  });

  it.each<readonly [string, boolean, () => Lazy]>([
    ['a product of 100 rows', true, () => square(100).matmul(square(100))],
    ['an inverse of 100 rows', true, () => linalg.inv(square(100))],
    // Of the largest norms, whose squarings are a thousand products, they take a millisecond.
    ['an exponential of 19 rows', true, () => linalg.expm(square(19))],
    ['an exponential of 20 rows', false, () => linalg.expm(square(20))],
    ['exponentials of seven matrices', true, () => linalg.expm(square(2, 7))],
    ['exponentials of eight matrices', false, () => linalg.expm(square(2, 8))],
    ['a complex exponential', true, () => linalg.expm(square(8).astype('complex128'))],
    ['two complex exponentials', false, () => linalg.expm(square(2, 2).astype('complex128'))],
    ['a product of 200 rows', false, () => square(200).matmul(square(200))],
    [
      'long columns times rows',
      false,
      () =>
        square(1000)
          .slice([], [0, 1])
          .matmul(square(1000).slice([0, 1])),
    ],
    ['a solution of 100 rows', true, () => linalg.solve(square(100), square(100).slice([], [0, 1]))],
    ['a solution of 300 rows', false, () => linalg.solve(square(300), square(300).slice([], [0, 1]))],
    [
      'factors of 1,000 rows of 20, of which a library takes more threads',
      false,
      () => linalg.qr(square(1000).slice([], [0, 20])).r,
    ],
    ['an exponential of 10 rows', true, () => linalg.expm(square(10))],
    [
      'an exponential of 40 rows, whose norm may ask for 1,000 squarings',
      false,
      () => linalg.expm(square(40)),
    ],
    ['many small solutions', false, () => linalg.solve(square(4, 1000), square(4, 1000))],
    ['a sort, whose time nobody knows', false, () => square(10).sort()],
    ['a map of 20,000 elements', true, () => line32(20_000).mul(2).add(1)],
    ['a map of a million', false, () => line32(1_000_000).mul(2).add(1)],
    ['a sum of products of 40,000 elements', true, () => line32(40_000).mul(line32(40_000)).sum()],
    ['Bessel functions of 16,000 elements, whose time nobody measured', false, () => i0(line32(16_000))],
    ['logarithms of 16,000 elements, which may be next to 0', false, () => line32(16_000).log()],
    ['sums of exponentials of 16,000 elements', false, () => line32(16_000).logsumexp()],
    [
      'a product beside Bessel functions of 16,000 elements',
      false,
      () =>
        square(64)
          .matmul(square(64))
          .add(i0(line32(16_000)).sum()),
    ],
    [
      'a product beside Bessel functions of 100 elements',
      true,
      () =>
        square(64)
          .matmul(square(64))
          .add(i0(line32(100)).sum()),
    ],
    ['tangents of 100,000 elements', false, () => line32(100_000).astype('float64').tan()],
  ])('%s is short: %s', async (_, isShort, of) => {
    expect((await specOf(of())).isShort ?? false).toBe(isShort);
  });

  it.each([
    [10, true],
    [60, false],
  ])('%i small kernels are computed where they are asked for: %s', async (count, isShort) => {
    const program = createProgram(await specOf(kernels(count)));
    const results = [new Float64Array(4).fill(1)];
    const memory = results.map(({ buffer }) => buffer);
    expect(runSmall(program, [new Float64Array(4)], memory, undefined)).toBe(isShort);
    expect([...results[0]!]).toEqual(isShort ? [0, 0, 0, 0] : [1, 1, 1, 1]);
  });

  it.each<readonly [string, boolean, () => Lazy]>([
    ['exponentials of 8,000 elements', true, () => line32(8000).exp()],
    ['sums of exponentials of 8,000 elements', true, () => line32(8000).logsumexp()],
    ['a softmax of 4,000 elements', true, () => line32(4000).softmax()],
    ['tangents of 3,500 elements', true, () => line32(3500).tan()],
    ['tangents of 16,000 elements', false, () => line32(16_000).tan()],
    ['incomplete gamma functions of 50 elements', true, () => line32(50).gammainc(line32(50))],
    ['incomplete gamma functions of 200 elements', false, () => line32(200).gammainc(line32(200))],
    ['incomplete gamma functions of sums of 1,000 rows', false, () => gammaOfRows(1000)],
    ['incomplete gamma functions of sums of 20 rows', true, () => gammaOfRows(20)],
    ['gamma functions of 8,000 elements', false, () => line32(8000).gamma()],
    ['gamma functions of 200 elements', true, () => line32(200).gamma()],
  ])('%s are computed where they are asked for: %s', async (_, isShort, of) => {
    const spec = await specOf(of());
    const bytes = spec.buffers.filter(({ role }) => role === 'input').map(({ byteLength }) => byteLength);
    const program = createProgram(spec);
    const results = smallResults(program)!.map((byteLength) => new ArrayBuffer(byteLength));
    const inputs = bytes.map((byteLength) => new Uint8Array(byteLength));
    const numbers = new Uint8Array(16 * 64);
    expect(runSmall(program, inputs, results, numbers)).toBe(isShort);
  });

  it('have results that the calling thread clears soon, all together', async () => {
    const sums = (count: number) => {
      const x = line32(16_384);
      return Array.from({ length: count }, (_, k) => x.add(k));
    };
    const [two, three] = [await specOf(...sums(2)), await specOf(...sums(3))];
    expect([two, three].map(({ isShort }) => isShort ?? false)).toEqual([true, false]);
    expect([two, three].map((spec) => smallResults(createProgram(spec)))).toEqual([
      [65_536, 65_536],
      undefined,
    ]);
  });

  it('leave loops of elements to a thread, however few elements there are', async () => {
    const slowly = elementwise((x: number) => {
      let sum = x;
      let k = 0;
      while (k < 20_000) {
        sum = sum * 0.5 + 1;
        k = k + 1;
      }
      return sum;
    });
    const x = lazy(new Float64Array([4, 5]));
    const whole = slowly(x) as Lazy;
    const besideCall = (slowly(square(10)) as Lazy).matmul(square(10));
    for (const result of [whole, whole.sum(), besideCall]) {
      const spec = await specOf(result);
      const program = createProgram(spec);
      const inputs = spec.buffers.flatMap(({ role, byteLength }) =>
        role === 'input' ? [new Float64Array(byteLength / 8)] : [],
      );
      const memory = spec.buffers.flatMap(({ role, byteLength }) =>
        role === 'output' ? [new ArrayBuffer(byteLength)] : [],
      );
      expect(runSmall(program, inputs, memory, undefined)).toBe(false);
    }
    expect([...(await whole.compute(options)).data]).toEqual([2, 2]);
    expect((await compile((y: Lazy) => slowly(y) as Lazy, options)(x)).data).toEqual(
      new Float64Array([2, 2]),
    );
  });

  it('wait for others within a limit of the process', async () => {
    const program = createProgram(await specOf(kernels(10)));
    const isThere = (): boolean => runSmall(program, [new Float64Array(4)], [new ArrayBuffer(32)], undefined);
    expect(isThere()).toBe(true);
    await limitMemory('1GiB', 'cpu');
    expect(isThere()).toBe(false);
    await limitMemory(null, 'cpu');
    expect(isThere()).toBe(true);
  });

  it('have the bits of longer computes', async () => {
    const a = square(90).add(eye(90).mul(3));
    const b = square(90);
    const [alone] = await compute([linalg.solve(a, b)], options);
    const [beside] = await compute([linalg.solve(a, b), square(300).matmul(square(300))], options);
    expect(beside!.data).toEqual(alone!.data);
  });

  it('fail where they are awaited', async () => {
    await expect(linalg.solve(square(40).mul(0), square(40)).compute(options)).rejects.toThrow(
      /pivot 1 is 0/,
    );
  });

  it.each([true, false])('of sparse matrices are short where there are few elements: %s', async (isShort) => {
    const a = await line(isShort ? 2000 : 100_000);
    const parts = ({ data, indices, indptr }: typeof a): readonly Lazy[] => [data, indices, indptr];
    const [rows] = a.shape;
    const graphs = [
      parts(a.add(a)),
      parts(a.T),
      parts(a.rows(1, rows)),
      parts(a.columns(1, rows)),
      [a.sum(0)],
      // A map and a call.
      parts(a.greater(0)),
      [a.matmul(lazy(new Float64Array(rows)))],
      ...(isShort ? [[a.rows(0, 40).columns(0, 40).toDense()]] : []),
    ];
    for (const each of graphs) expect((await specOf(...each)).isShort ?? false).toBe(isShort);
  });
});
