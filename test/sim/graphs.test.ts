/**
 * Repeated programs as CUDA graphs, where memory is placed as plans say: the same bits as launches one by
 * one, whatever arrays a run is given and wherever its memory is; whichever call fails.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { createProgram, keptObjects, run, trim } from '../../src/exec/native/native.js';
import { clearPrograms, keptPrograms } from '../../src/exec/run/program.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { DeviceError, MemoryError } from '../../src/host/errors.js';
import { compile, type Lazy, lazy, synchronize } from '../../src/index.js';
import { bitsOf, CASES } from './programs.js';
import { floats, ramp, scale, scaleBy } from './scale.js';
import {
  describeSimulator,
  type Fault,
  GRAPH_CALLS,
  setFaults,
  setSchedule,
  show,
  takeProblems,
} from './simulator.js';

const OUT_OF_MEMORY = 2;
const UNKNOWN = 999;
/** Runs of a program before it is repeated as graphs. */
const PLAIN_RUNS = 3;
const N = 50;
const toHost = { outputs: ['host'] } as const;

/** y = 2^count x by `count` launches, as one graph when it is repeated. */
const doubling = (count: number) =>
  createProgram({
    ...scaleBy(N, [2], { steps: Array.from({ length: count - 1 }, () => scale(1, 1, 2, N)) }),
    graphs: [{ first: 0, count }],
  });

const counts = (): Readonly<Record<string, number>> => describeSimulator().counts;

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a program that is repeated', () => {
  it('is launched as one graph from the fourth run on', async () => {
    const program = doubling(6);
    const seen: (readonly [number, number])[] = [];
    for (let i = 0; i < PLAIN_RUNS + 4; i++) {
      setFaults([]);
      const x = ramp(N).map((value) => value + i);
      const { outputs } = await run(program, [x], toHost);
      expect(floats(outputs[0])).toEqual([...x.map((value) => 64 * value)]);
      seen.push([counts().cuLaunchKernel ?? 0, counts().cuGraphLaunch ?? 0]);
    }
    const plain = Array.from({ length: PLAIN_RUNS }, () => [6, 0]);
    expect(seen).toEqual([...plain, ...Array.from({ length: 4 }, () => [0, 1])]);
  });

  it('sets the nodes that read or write elsewhere, and no others', async () => {
    const program = doubling(6);
    const one = doubling(1);
    const stored = async (): Promise<DeviceBuffer> =>
      (await run(one, [ramp(N)], { outputs: ['device'] })).outputs[0] as DeviceBuffer;
    const [a, b] = [await stored(), await stored()];
    for (let i = 0; i <= PLAIN_RUNS; i++) await run(program, [a], toHost);
    setFaults([]);
    await run(program, [a], toHost);
    expect(counts().cuGraphExecKernelNodeSetParams ?? 0).toBe(0);
    await run(program, [b], toHost);
    expect(counts().cuGraphExecKernelNodeSetParams).toBe(1);
    a.dispose();
    b.dispose();
  });

  it('takes other numbers of an expression, and sets the nodes that have them', async () => {
    const x = await lazy(ramp(N)).persist({ device: 'cuda' });
    const before = keptPrograms().nodes;
    let planned = 0;
    for (let i = 0; i < PLAIN_RUNS + 4; i++) {
      setFaults([]);
      const [c, d] = [i + 2.5, 0.25 - i];
      const { data } = await x.mul(c).add(d).compute({ device: 'cuda' });
      expect([...data]).toEqual([...ramp(N)].map((value) => value * c + d));
      planned ||= keptPrograms().nodes;
    }
    expect(planned).toBeGreaterThan(before);
    expect(keptPrograms().nodes).toBe(planned);
    expect([counts().cuGraphLaunch, counts().cuGraphExecKernelNodeSetParams]).toEqual([1, 1]);
    x.dispose();
  });

  it('with zeroed memory and products between gives the same each time', async () => {
    const x = Float32Array.from({ length: 64 * 64 }, (_, i) => Math.sin(i));
    const f = compile(
      (y: Lazy) => {
        const z = y.sub(y.mean(0)).div(y.std(0).add(1));
        return { sum: z.sum(), product: z.matmul(y).softmax(1), columns: y.abs().sum(0) };
      },
      { device: 'cuda' },
    );
    const square = { data: x, shape: [64, 64] };
    const first = await f(square);
    for (let i = 0; i < 6; i++) {
      const again = await f(square);
      for (const name of ['sum', 'product', 'columns'] as const)
        expect(again[name].data).toEqual(first[name].data);
    }
    expect(counts().cuGraphLaunch).toBeGreaterThan(0);
  });

  it('has the graphs that explain tells of', async () => {
    const f = compile(
      (y: Lazy) => {
        let z = y;
        for (let i = 0; i < 150; i++) z = z.softmax(i % 2);
        return z;
      },
      { device: 'cuda' },
    );
    const x = { data: ramp(64 * 64), shape: [64, 64] };
    const { graphs } = f.explain(x);
    expect(graphs.length).toBeGreaterThan(1);
    await f(x);
    setFaults([]);
    await f(x);
    expect(counts().cuLaunchKernel).toBe(graphs.reduce((sum, count) => sum + count, 0));
    for (let i = 0; i < PLAIN_RUNS; i++) await f(x);
    setFaults([]);
    await f(x);
    expect([counts().cuLaunchKernel ?? 0, counts().cuGraphLaunch]).toEqual([0, graphs.length]);
    expect(f.explain(x).toString()).toContain(`repeated: CUDA graphs of ${graphs.join(', ')} launches`);
  });

  it('is right when its memory has moved', async () => {
    const f = compile(
      (y: Lazy) =>
        y
          .sub(y.mean(1, { keepdims: true }))
          .abs()
          .sum(0),
      { device: 'cuda' },
    );
    const x = { data: ramp(6000), shape: [3, 2000] };
    const { data } = await f(x);
    const held: Lazy[] = [];
    for (let i = 0; i < 12; i++) {
      expect((await f(x)).data).toEqual(data);
      if (i % 3 === 2) await trim();
      held.push(await lazy(ramp(100 * (i + 1))).persist({ device: 'cuda' }));
    }
    for (const each of held) each.dispose();
  });

  it('keeps its graphs while it is there, and they are destroyed after it', async () => {
    const program = doubling(4);
    for (let i = 0; i < 5; i++) await run(program, [ramp(N)], toHost);
    const { graphs, graphExecs } = await keptObjects('cuda:0');
    expect(graphs).toBeGreaterThan(0);
    expect(describeSimulator().devices[0]!.live).toMatchObject({ graphs, graphExecs });
  });

  it('stays ahead of the device: a hundred small kernels begin on the thread that asks', async () => {
    const program = doubling(100);
    for (let i = 0; i <= PLAIN_RUNS; i++) await run(program, [ramp(N)], toHost);
    setFaults([{ call: 'cuGraphLaunch', nth: 1, delayMs: 30 }]);
    const begin = performance.now();
    const running = run(program, [ramp(N)], toHost);
    expect(performance.now() - begin).toBeGreaterThanOrEqual(30);
    await running;
  });
});

describe('every program, repeated', () => {
  it.each(CASES)('%s', async (_, { outputs }) => {
    const first = await bitsOf(outputs, 'cuda');
    for (const [seed, timing] of (
      ['late', 'random', 'eager', 'random', 'late', 'eager'] as const
    ).entries()) {
      setSchedule({ timing, seed });
      const bits = await bitsOf(outputs, 'cuda');
      const differing = bits.flatMap((bytes, i) => (bytes.equals(first[i]!) ? [] : [i]));
      expect({ seed, differing, problems: takeProblems().map(show) }).toEqual({
        seed,
        differing: [],
        problems: [],
      });
    }
  });
});

describe('a call for graphs that fails', () => {
  it.each(GRAPH_CALLS.flatMap((call) => [OUT_OF_MEMORY, UNKNOWN].map((status) => [call, status] as const)))(
    '%s with status %d',
    async (call, status) => {
      const met: number[] = [];
      // Again and again from the start: which run makes which call is not said here.
      for (let at = PLAIN_RUNS; at < PLAIN_RUNS + 3; at++) {
        clearPrograms();
        const f = compile((y: Lazy) => y.sub(y.mean()).abs().sum(), { device: 'cuda' });
        const wanted = (await f(ramp(40_000))).item();
        const held: Lazy[] = [];
        for (let i = 1; i < at; i++) await f(ramp(40_000));
        const fault: Fault = { call, nth: 1, status };
        setFaults([fault]);
        for (let i = 0; i < 2; i++) {
          const outcome = await f(ramp(40_000)).catch((error: unknown) => error);
          if (outcome instanceof Error)
            expect(outcome).toBeInstanceOf(status === UNKNOWN ? DeviceError : MemoryError);
          else expect(outcome).toMatchObject({ shape: [] });
          // Memory that is asked for meanwhile moves the buffers that the next run is given.
          held.push(await lazy(ramp(50_000)).persist({ device: 'cuda' }));
          await trim();
        }
        met.push(describeSimulator().faultsMet);
        setFaults([]);
        for (let i = 0; i < 3; i++) expect((await f(ramp(40_000))).item()).toBe(wanted);
        for (const each of held) each.dispose();
        await synchronize('cuda:0');
      }
      expect(Math.max(...met)).toBe(1);
    },
  );
});

describe('memory that is zeroed in a graph', () => {
  /** y = 2 x, then 0. */
  const zeroing = () =>
    createProgram({
      ...scaleBy(N, [2], { steps: [{ kind: 'zero', buffer: 1 }] }),
      graphs: [{ first: 0, count: 2 }],
    });
  const stored = { outputs: ['device'] } as const;

  it.each(
    ['cuGraphAddMemsetNode', 'cuGraphExecMemsetNodeSetParams'].flatMap((call) =>
      [OUT_OF_MEMORY, UNKNOWN].map((status) => [call, status] as const),
    ),
  )('is zeroed wherever it is, also after %s failed with status %d', async (call, status) => {
    const program = zeroing();
    // Results that are held move the next one.
    const held: DeviceBuffer[] = [];
    const once = async (): Promise<unknown> => {
      const { outputs } = await run(program, [ramp(N)], stored);
      held.push(outputs[0] as DeviceBuffer);
      return outputs[0];
    };
    for (let i = 0; i < PLAIN_RUNS; i++) await once();
    if (call !== 'cuGraphAddMemsetNode') await once();
    setFaults([{ call, nth: 1, status }]);
    const outcome = await once().catch((error: unknown) => error);
    expect(describeSimulator().faultsMet).toBe(1);
    if (status === UNKNOWN) expect(outcome).toBeInstanceOf(DeviceError);
    setFaults([]);
    for (let i = 0; i < 3; i++) await once();
    const copy = createProgram(scaleBy(N, [1]));
    for (const buffer of held) {
      expect(floats((await run(copy, [buffer], toHost)).outputs[0])).toEqual(new Array(N).fill(0));
      buffer.dispose();
    }
  });

  it('is part of graphs that say so alone', () => {
    const spec = { ...scaleBy(N, [2], { steps: [{ kind: 'zero', buffer: 1 }] }) };
    for (const graphs of [
      [{ first: 1, count: 2 }],
      [{ first: 0, count: 0 }],
      [
        { first: 1, count: 1 },
        { first: 0, count: 1 },
      ],
    ])
      expect(() => createProgram({ ...spec, graphs })).toThrow(/graphs\[\d\]/);
  });
});
