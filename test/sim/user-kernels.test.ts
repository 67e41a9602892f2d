/** Kernels of users' own in CUDA C on the simulated GPU. */
import { describe, expect, it } from 'vitest';
import { type ExplainedStep, kernel, lazy, plan } from '../../src/index.js';
import * as cuda from '../support/cuda-kernels.js';
import { setDevices } from './simulator.js';

setDevices([{}]);

const floats = (n: number, of: (k: number) => number): Float32Array =>
  Float32Array.from({ length: n }, (_, k) => of(k));

describe('kernels in CUDA C', () => {
  it("add vectors, as CuPy's guide does", async () => {
    const x = floats(25, (k) => k);
    const y = await cuda.myAdd(x, x).compute();
    expect([...y.data]).toEqual([...x].map((v) => 2 * v));
  });

  it("take complex numbers as structs, as CuPy's guide does", async () => {
    const x = lazy(floats(25, (k) => k)).astype('complex64');
    const y = await cuda.complexAdd(x, x.mul({ re: 0, im: 1 }), 3).compute();
    expect([...y.data]).toEqual(
      Array.from({ length: 50 }, (_, k) => (k % 2 === 0 ? k / 2 : (3 * (k - 1)) / 2)),
    );
  });

  it('are instantiated from templates by the dtypes of their arguments, in the place of an input', async () => {
    const x = lazy(floats(40, (k) => k));
    for (const dtype of ['float32', 'float64', 'int32'] as const) {
      const y = await cuda.fx3(x.astype(dtype), 40).compute();
      expect([y.dtype, [...y.data]]).toEqual([dtype, Array.from({ length: 40 }, (_, k) => 3 * k)]);
    }
    const y = await cuda.scaled(lazy([1, 2]), 2).compute();
    expect([...y.data]).toEqual([7, 14]);
  });

  it('multiply matrices by tiles in shared memory', async () => {
    const [m, n, k] = [37, 20, 33];
    const a = lazy(
      floats(m * k, (i) => (i % 7) - 3),
      { shape: [m, k] },
    );
    const b = lazy(
      floats(k * n, (i) => (i % 5) - 2),
      { shape: [k, n] },
    );
    const [own, wanted] = [await cuda.tiledProduct(a, b, m, n, k).compute(), await a.matmul(b).compute()];
    expect(own.data).toEqual(wanted.data);
  });

  it('count by atomic operations, from zeros and from arrays', async () => {
    const x = Uint8Array.from({ length: 5000 }, (_, k) => (k * k) % 251);
    const counts = await cuda.histogram(x, x.length).compute();
    const wanted = new Uint32Array(256);
    for (const value of x) wanted[value]!++;
    expect(counts.data).toEqual(wanted);
    const { total, doubled } = cuda.accumulate(Int32Array.of(1, 2, 3), Int32Array.of(100), 3);
    expect([...(await total.compute()).data, ...(await doubled.compute()).data]).toEqual([106, 2, 4, 6]);
  });

  it('are nodes: what they read is computed by kernels, views are put in order', async () => {
    const x = lazy(
      floats(50, (k) => k),
      { shape: [5, 10] },
    );
    const y = cuda.myAdd(x.permuteDims([1, 0]).mul(2), x.permuteDims([1, 0])).sum();
    expect((await y.compute()).item()).toBe(3 * 1225);
    expect(y.explain().toString()).toContain('my_add');
  });

  it('run in parts where they say how, with the same bits', async () => {
    const x = floats(256 * 40 + 17, (k) => Math.sin(k));
    const y = cuda.smooth(x, x.length);
    const whole = await y.compute({ device: 'cuda' });
    const memory = x.byteLength / 2;
    const parts = await y.compute({ device: 'cuda', memory });
    expect(parts.data).toEqual(whole.data);
    expect(plan([y], { device: 'cuda', memory }).peakBytes).toBeLessThanOrEqual(memory);
    const [rows, columns] = [64, 33];
    const cells = lazy(
      Uint8Array.from({ length: rows * columns }, (_, k) => ((k * 7 + (k >> 3)) % 3 === 0 ? 1 : 0)),
      { shape: [rows, columns] },
    );
    const next = cuda.life(cells, rows, columns);
    expect((await next.compute({ device: 'cuda', memory: 3600 })).data).toEqual((await next.compute()).data);
  });

  it('are refused by name within a budget that they do not fit as a whole', async () => {
    const x = floats(10_000, () => 1);
    await expect(cuda.myAdd(x, x).compute({ device: 'cuda', memory: 65_536 })).rejects.toThrow(/my_add/);
  });

  it('tell what they take of a multiprocessor, as all kernels do', async () => {
    const x = lazy(
      floats(4096, (k) => k),
      { shape: [64, 64] },
    );
    const explained = await cuda
      .tiledProduct(x.add(1), x, 64, 64, 64)
      .explain({ device: 'cuda', measure: true });
    const [sum, product] = explained.steps.map(({ kernels }) => kernels!);
    // Registers are those of real code.
    expect(sum).toMatchObject([{ registers: 0, localBytes: 0, sharedBytes: 0, blocks: 16, occupancy: 1 }]);
    expect(product).toMatchObject([
      { name: 'product', threads: 256, sharedBytes: 2048, blocks: 8, occupancy: 1 },
    ]);
    expect(explained.toString()).toContain(
      'product: 256 threads, 0 registers, 0 B of local memory, 2.00 KiB shared, 8 blocks at a time, occupancy 100 %',
    );
    expect(JSON.parse(JSON.stringify(explained)).steps[1].kernels).toEqual(product);
    // Generated kernels are timed on memory of their own, a user's on none.
    const [{ predictedMs, measuredMs }, { measuredMs: ofProduct, whyNotTimed }] = explained.steps as [
      ExplainedStep,
      ExplainedStep,
    ];
    expect(measuredMs).toBeGreaterThan(0);
    expect(predictedMs).toBeGreaterThan(0);
    expect(ofProduct).toBeUndefined();
    expect(whyNotTimed).toBe('data may decide what a kernel of a user does');
    expect(explained.toString()).toMatch(/predicted \S+ µs, measured \S+ µs\n/);
    expect(() => x.explain({ measure: 1 as never })).toThrow('measure to be true or false: 1');
  });

  it('say where their source does not compile, in the file of the user', async () => {
    const wrong = kernel(
      `extern "C" __global__ void wrong(float* y) {
        y[0] = undeclared; // line 2
      }`,
      { inputs: {}, outputs: { y: { dtype: 'float32', shape: 1 } }, grid: 1, block: 1 },
    );
    await expect(wrong().compute()).rejects.toThrow(
      /CUDA C with wrong that compiles[\s\S]*user-kernels\.test\.ts:\d+.*undeclared/,
    );
  });
});
