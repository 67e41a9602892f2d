/**
 * Matrix products in CUDA graphs, where memory is placed as plans say: what a library queues is recorded once
 * for each of a few places of its operands and results, and gives the bits of plain calls; whichever call
 * fails.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { compile, iterate, type Lazy, lazy, linalg, persist, synchronize } from '../../src/index.js';
import { bitsOf } from './programs.js';
import { describeSimulator, setFaults, setSchedule, show, takeProblems } from './simulator.js';

const OUT_OF_MEMORY = 2;
const BLAS_OUT_OF_MEMORY = 3;
const BLAS_FAILED = 13;
const LAUNCH_FAILED = 719;
const UNKNOWN = 999;
/** Runs of a program before it is repeated as graphs. */
const PLAIN_RUNS = 3;
const LAYERS = 5;
const SIZE = 12;
const device = 'cuda';

const values = (seed: number): Float32Array =>
  Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(seed + i));
const square = (seed: number): { data: Float32Array; shape: number[] } => ({
  data: values(seed),
  shape: [SIZE, SIZE],
});

/** Layers of a small network: a product and a kernel each. */
function layers(x: Lazy, weights: Lazy): Lazy {
  let h = x;
  for (let i = 0; i < LAYERS; i++) h = h.matmul(weights).add(i).maximum(0);
  return h;
}
const product = (a: Lazy, b: Lazy): Lazy => a.matmul(b);

/** Calls since faults were set last. */
function calls(): Record<'products' | 'launches' | 'graphs' | 'captures' | 'set' | 'made', number> {
  const { counts } = describeSimulator();
  const of = (name: string): number => counts[name] ?? 0;
  return {
    products: of('cublasGemmEx'),
    launches: of('cuLaunchKernel'),
    graphs: of('cuGraphLaunch'),
    captures: of('cuStreamBeginCapture_v2'),
    set: of('cuGraphExecChildGraphNodeSetParams'),
    made: of('cuGraphInstantiate_v2'),
  };
}
const none = { products: 0, launches: 0, graphs: 0, captures: 0, set: 0, made: 0 };

async function callsOf(run: () => Promise<unknown>): Promise<ReturnType<typeof calls>> {
  setFaults([]);
  await run();
  return calls();
}

const stored = (seed: number): Promise<Lazy> =>
  lazy(values(seed), { shape: [SIZE, SIZE] }).persist({ device });

const same = (a: ArrayBufferView, b: ArrayBufferView): boolean =>
  Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength));

// Programs that no test has run.
beforeEach(clearPrograms);
afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a program with products that is repeated', () => {
  it('is one graph, in which products are recorded once', async () => {
    const f = compile(layers, { device });
    const [x, w] = [square(1), square(2)];
    expect(f.explain(x, w).graphs).toEqual([2 * LAYERS]);
    const first = await f(x, w);
    const plain = { ...none, products: LAYERS, launches: LAYERS };
    for (let i = 1; i < PLAIN_RUNS; i++) expect(await callsOf(() => f(x, w))).toEqual(plain);
    expect(await callsOf(() => f(x, w))).toEqual({
      ...none,
      products: LAYERS,
      captures: LAYERS,
      graphs: 1,
      made: 1,
    });
    for (let i = 0; i < 3; i++) {
      expect(await callsOf(async () => expect((await f(x, w)).data).toEqual(first.data))).toEqual({
        ...none,
        graphs: 1,
      });
    }
  });

  it('records a product where it is for the second time, and remembers both places', async () => {
    const f = compile(product, { device });
    const [a, b, w] = [await stored(1), await stored(2), await stored(3)];
    const once = (x: Lazy): Promise<unknown> => f.persist(x, w).then((r) => r.dispose());
    for (let i = 0; i <= PLAIN_RUNS; i++) await once(a);
    await synchronize('cuda:0');
    const asGraphs = { ...none, graphs: 1 };
    expect(await callsOf(() => once(a))).toEqual(asGraphs);
    expect(await callsOf(() => once(b))).toEqual({ ...none, products: 1 });
    expect(await callsOf(() => once(b))).toEqual({ ...asGraphs, products: 1, captures: 1, set: 1 });
    expect(await callsOf(() => once(a))).toEqual({ ...asGraphs, set: 1 });
    expect(await callsOf(() => once(b))).toEqual({ ...asGraphs, set: 1 });
    expect(await callsOf(() => once(b))).toEqual(asGraphs);
    for (const each of [a, b, w]) each.dispose();
  });

  it('remembers eight places, those that it was in last', async () => {
    const f = compile(product, { device });
    const inputs = await persist(
      Array.from({ length: 10 }, (_, k) => lazy(values(k), { shape: [SIZE, SIZE] })),
      { device },
    );
    const [w, ...others] = inputs as [Lazy, ...Lazy[]];
    const through = async (count: number): Promise<void> => {
      for (const x of others.slice(0, count)) await f(x, w);
    };
    for (let i = 0; i < PLAIN_RUNS; i++) await through(1);
    expect(await callsOf(() => through(8))).toMatchObject({ captures: 1, products: 8 });
    expect(await callsOf(() => through(8))).toMatchObject({ captures: 7, graphs: 8 });
    expect(await callsOf(() => through(8))).toEqual({ ...none, graphs: 8, set: 8 });
    // One more takes the place of another now and then.
    for (let i = 0; i < 4; i++) {
      const { captures, graphs } = await callsOf(() => through(9));
      expect(graphs).toBeGreaterThanOrEqual(7);
      expect(captures).toBeLessThanOrEqual(1);
    }
    // Graphs that were given up are destroyed, although no run waits for another thread.
    const { graphs } = describeSimulator().devices[0]!.live;
    for (let i = 0; i < 100; i++) await through(9);
    expect(describeSimulator().devices[0]!.live.graphs! - graphs!).toBeLessThan(40);
    for (const each of inputs) each.dispose();
  });

  it('is a graph where few of its products are elsewhere', async () => {
    const f = compile(layers, { device });
    const [a, b, w] = [await stored(1), await stored(2), await stored(3)];
    for (let i = 0; i <= PLAIN_RUNS; i++) await f(a, w);
    // The first product alone reads what it is given.
    const moved = { ...none, graphs: 1, products: 1, captures: 1, set: 1 };
    expect(await callsOf(() => f(b, w))).toEqual(moved);
    for (const each of [a, b, w]) each.dispose();
  });

  it('is right with many in flight, whose results are all elsewhere', async () => {
    const f = compile(layers, { device });
    const inputs = await persist(
      Array.from({ length: 6 }, (_, k) => lazy(values(k), { shape: [SIZE, SIZE] })),
      { device },
    );
    const wanted = await Promise.all(inputs.map((x) => f(x, inputs[0]!)));
    takeProblems();
    for (const [seed, timing] of (['late', 'random', 'eager', 'random', 'late'] as const).entries()) {
      setSchedule({ timing, seed });
      const results = await Promise.all([...inputs, ...inputs].map((x) => f.persist(x, inputs[0]!)));
      for (const [k, result] of results.entries()) {
        const { data } = await result.compute();
        expect(same(data, wanted[k % inputs.length]!.data)).toBe(true);
        result.dispose();
      }
      expect(takeProblems().map(show)).toEqual([]);
    }
    for (const each of inputs) each.dispose();
  });

  it('has the bits of plain calls for batches, long sums, transposes, complex numbers and empty sums', async () => {
    const x = lazy(
      Float32Array.from({ length: 6 * 40 * 7 }, (_, i) => Math.cos(i)),
      { shape: [6, 40, 7] },
    );
    const z = x.astype('complex64').mul(2);
    const outputs = [
      x.transpose([0, 2, 1]).matmul(x),
      x.reshape([6, 280]).matmul(x.reshape([280, 6])),
      z.slice(1).transpose().matmul(z.slice(2)),
      x.astype('float64').slice(0).matmul(x.astype('float64').slice(1).transpose()),
      x.astype('bfloat16').slice(0).transpose().matmul(x.astype('bfloat16').slice(3)),
      x
        .slice(0, [0, 0])
        .transpose()
        .matmul(x.slice(1, [0, 0])),
    ];
    const first = await bitsOf(outputs, device);
    setFaults([]);
    for (let i = 0; i < PLAIN_RUNS + 2; i++) {
      const bits = await bitsOf(outputs, device);
      expect(bits.map((bytes, k) => bytes.equals(first[k]!))).toEqual(first.map(() => true));
    }
    expect(calls().graphs).toBeGreaterThan(0);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('goes on after a run that was cancelled', async () => {
    const x = layers(lazy(values(1), { shape: [SIZE, SIZE] }), lazy(values(2), { shape: [SIZE, SIZE] }));
    const wanted = await x.compute({ device });
    for (let i = 0; i < PLAIN_RUNS + 3; i++) {
      const controller = new AbortController();
      setFaults([{ call: i < PLAIN_RUNS + 1 ? 'cublasGemmEx' : 'cuGraphLaunch', nth: 1, delayMs: 20 }]);
      const running = x.compute({ device, signal: controller.signal }).catch((error: unknown) => error);
      setTimeout(() => controller.abort(), 5);
      const outcome = await running;
      if (outcome instanceof Error) expect(outcome.name).toBe('AbortError');
      setFaults([]);
      expect((await x.compute({ device })).data).toEqual(wanted.data);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });
});

describe('a loop with products', () => {
  const STEPS = 301;
  const next = (weights: Lazy) => (h: Lazy) => h.matmul(weights).tanh();
  const looped = (x: Lazy, weights: Lazy): Lazy => iterate(STEPS, x, next(weights));
  /** The same, a step at a time. */
  async function plainly(seed: number): Promise<ArrayBufferView> {
    const step = compile((h: Lazy, weights: Lazy) => next(weights)(h), { device });
    const w = await stored(9);
    let h = await stored(seed);
    for (let i = 0; i < STEPS; i++) {
      const after = await step.persist(h, w);
      h.dispose();
      h = after;
    }
    const { data } = await h.compute();
    for (const each of [h, w]) each.dispose();
    return data;
  }

  it('repeats some steps as one graph, with the bits of steps by themselves', async () => {
    const f = compile(looped, { device });
    const wanted = await plainly(1);
    for (const isFirst of [true, false]) {
      const made = await callsOf(async () => {
        expect(same((await f(square(1), square(9))).data, wanted)).toBe(true);
      });
      expect(made.graphs).toBeGreaterThan(STEPS / 32);
      expect(made.captures > 0).toBe(isFirst);
      expect(made.products - made.captures).toBeLessThan(32);
    }
  });

  it('keeps states between', async () => {
    const states = compile((x: Lazy, w: Lazy) => iterate(STEPS, x, next(w), { every: 100 }), { device });
    const kept = (await states(square(2), square(9))).data as Float32Array;
    const shorter = compile((x: Lazy, w: Lazy) => iterate(200, x, next(w)), { device });
    const { data } = await shorter(square(2), square(9));
    expect(same(kept.slice(SIZE * SIZE, 2 * SIZE * SIZE), data)).toBe(true);
  });

  it('calls what cannot be captured', async () => {
    const wanted = await plainly(3);
    setFaults([{ call: 'cuStreamBeginCapture_v2', nth: 0, status: UNKNOWN }]);
    const { data } = await compile(looped, { device })(square(3), square(9));
    expect(calls()).toMatchObject({ graphs: 0, captures: 1 });
    setFaults([]);
    expect(same(data, wanted)).toBe(true);
  });
});

describe('products that are not part of graphs', () => {
  const matrix = (side: number) => ({ data: new Float64Array(side * side), shape: [side, side] });
  const graphsOf = (fn: (a: Lazy, b: Lazy) => Lazy, side: number): readonly number[] =>
    compile(fn, { device }).explain(matrix(side), matrix(side)).graphs;

  it('are those that take long by themselves', () => {
    expect(graphsOf(product, 1000)).toEqual([1]);
    expect(graphsOf(product, 2000)).toEqual([]);
  });

  it('part the graphs before and after them', () => {
    const between = (a: Lazy, b: Lazy): Lazy => a.add(1).matmul(b).tanh();
    expect(graphsOf(between, 1000)).toEqual([3]);
    expect(graphsOf(between, 2000)).toEqual([1, 1]);
  });
});

it.each([
  ['eigenvectors', (x: Lazy) => linalg.eigh(x.add(x.matrixTranspose())).eigenvectors],
  ['eigenvalues', (x: Lazy) => linalg.eigvals(x).abs()],
  ['singular values', (x: Lazy) => linalg.svdvals(x)],
] as const)('are none where cuSOLVER waits on the host: %s', async (_, of) => {
  const g = compile((x: Lazy) => of(x).mul(2), { device });
  const given = lazy(
    Float64Array.from({ length: 1600 }, (_, i) => Math.sin(i * i)),
    { shape: [40, 40] },
  );
  const x = await given.persist({ device });
  const wanted = (await g(x)).data;
  for (let i = 0; i <= PLAIN_RUNS; i++) expect((await g(x)).data).toEqual(wanted);
  x.dispose();
  expect(takeProblems()).toEqual([]);
});

describe('a call for recordings that fails', () => {
  const [x, w] = [square(1), square(2)];
  let f = compile(layers, { device });
  /** The results of a program that begins anew, and the next run makes its graph. */
  async function begin(): Promise<Float32Array> {
    f = compile(layers, { device });
    const { data } = await f(x, w);
    for (let i = 1; i < PLAIN_RUNS; i++) await f(x, w);
    return data as Float32Array;
  }

  const RECORDING = [
    ['cuStreamBeginCapture_v2', UNKNOWN],
    ['cuStreamEndCapture', UNKNOWN],
    ['cublasSetStream_v2', BLAS_FAILED],
    ['cublasSetWorkspace_v2', BLAS_FAILED],
    ['cublasGemmEx', BLAS_FAILED],
  ] as const;

  it.each(RECORDING)('%s: products are called, then and later', async (call, status) => {
    const wanted = await begin();
    const plain = { ...none, products: LAYERS, launches: LAYERS };
    setFaults([{ call, nth: 1, status }]);
    expect((await f(x, w)).data).toEqual(wanted);
    expect(describeSimulator().faultsMet).toBe(1);
    expect(calls()).toMatchObject({ launches: LAYERS, graphs: 0 });
    for (let i = 0; i < 2; i++)
      expect(await callsOf(async () => expect((await f(x, w)).data).toEqual(wanted))).toEqual(plain);
  });

  it('a product that fails in a plain call, too, is an error', async () => {
    const wanted = await begin();
    setFaults([{ call: 'cublasGemmEx', nth: 0, status: BLAS_FAILED }]);
    await expect(f(x, w)).rejects.toThrow(DeviceError);
    setFaults([]);
    expect((await f(x, w)).data).toEqual(wanted);
  });

  it.each([
    ['cuStreamBeginCapture_v2', OUT_OF_MEMORY],
    ['cuStreamEndCapture', OUT_OF_MEMORY],
    ['cuGraphAddChildGraphNode', OUT_OF_MEMORY],
    ['cublasGemmEx', BLAS_OUT_OF_MEMORY],
  ] as const)('%s for want of memory: products are called, and recorded later', async (call, status) => {
    const wanted = await begin();
    setFaults([{ call, nth: 2, status }]);
    expect((await f(x, w)).data).toEqual(wanted);
    expect(describeSimulator().faultsMet).toBe(1);
    expect(calls()).toMatchObject({ launches: LAYERS, graphs: 0 });
    expect(await callsOf(() => f(x, w))).toMatchObject({ launches: 0, graphs: 1, captures: LAYERS });
    expect((await f(x, w)).data).toEqual(wanted);
  });

  it('cuGraphAddChildGraphNode is an error otherwise', async () => {
    const wanted = await begin();
    setFaults([{ call: 'cuGraphAddChildGraphNode', nth: 2, status: UNKNOWN }]);
    await expect(f(x, w)).rejects.toThrow(DeviceError);
    setFaults([]);
    expect((await f(x, w)).data).toEqual(wanted);
    expect(await callsOf(() => f(x, w))).toEqual({ ...none, graphs: 1 });
  });

  it.each([1, 910, OUT_OF_MEMORY, UNKNOWN])(
    'a node that cannot be set elsewhere, with status %d',
    async (status) => {
      const g = compile(product, { device });
      const [a, b, v] = [await stored(1), await stored(2), await stored(3)];
      const wanted = (await g(b, v)).data;
      for (let i = 0; i <= PLAIN_RUNS; i++) await g(a, v);
      await g(b, v);
      setFaults([{ call: 'cuGraphExecChildGraphNodeSetParams', nth: 1, status }]);
      const outcome = await g(b, v).catch((error: unknown) => error);
      expect(describeSimulator().faultsMet).toBe(1);
      const isReshaped = status === 1 || status === 910;
      // Of another form, the graph is made anew.
      if (isReshaped) expect(calls()).toMatchObject({ graphs: 1, made: 1 });
      if (status === UNKNOWN) expect(outcome).toBeInstanceOf(DeviceError);
      else if (!(outcome instanceof MemoryError)) expect(outcome).toMatchObject({ data: wanted });
      setFaults([]);
      for (let i = 0; i < 2; i++) expect((await g(b, v)).data).toEqual(wanted);
      for (const each of [a, b, v]) each.dispose();
    },
  );

  // Last: the device is gone afterwards.
  it('that loses the device says so', async () => {
    await begin();
    setFaults([{ call: 'cuStreamEndCapture', nth: 2, status: LAUNCH_FAILED, sticky: true }]);
    await expect(f(x, w)).rejects.toThrow(DeviceLostError);
  });
});
