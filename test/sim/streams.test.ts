/**
 * Steps in several streams, where memory is placed as plans say: the same bits as in one, in any order that
 * streams and their waits allow; launches alone as graphs with branches; whichever call fails.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { keptObjects } from '../../src/exec/native/native.js';
import { clearPrograms } from '../../src/exec/run/program.js';
import {
  compile,
  compute,
  type Explanation,
  explain,
  type Lazy,
  lazy,
  persist,
  profile,
  stack,
} from '../../src/index.js';
import { footprint } from './programs.js';
import { describeSimulator, setDevices, setFaults, setSchedule, show, takeProblems } from './simulator.js';

setDevices([{ multiprocessors: 132 }]);

const SCHEDULES = Number(process.env.WEFT_SIM_SCHEDULES ?? 16);
const TIMINGS = ['late', 'random', 'eager'] as const;
const UNKNOWN = 999;
const CHAINS = 4;
const SIZE = 64;
/** Sums so long that the device takes longer for a product than the host. */
const LONG = 1024;

const values = (seed: number, length: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(seed + i) / SIZE);
const arrays = Array.from({ length: 2 * CHAINS }, (_, k) => values(k, SIZE * SIZE));

/** Chains, each of two arrays, that meet in the end. */
const meeting =
  (chain: (x: Lazy, y: Lazy) => Lazy) =>
  (...given: readonly Lazy[]): Lazy =>
    stack(Array.from({ length: CHAINS }, (_, k) => chain(given[k]!, given[CHAINS + k]!))).sum(0);

const products = meeting((x, y) => x.matmul(y.matmul(x.matmul(y).tanh())).tanh());
/** Launches alone: sums over columns, which the next step needs whole. */
const launches = meeting((x, y) => {
  let h = x;
  for (let i = 0; i < 6; i++) h = h.mul(y).softmax(0);
  return h;
});

const longArrays = (): Lazy[] =>
  Array.from({ length: 2 * CHAINS }, (_, k) =>
    lazy(values(k, SIZE * LONG), { shape: k < CHAINS ? [SIZE, LONG] : [LONG, SIZE] }),
  );
const streamsOf = ({ steps }: Explanation): number => new Set(steps.map(({ stream }) => stream)).size;

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

/**
 * The same under many schedules, with nothing that the simulator holds against them. Under the first of them
 * it is what a program runs first, and so in streams; then it is repeated.
 */
async function bitsUnderSchedules(
  run: () => Promise<Float32Array>,
  wanted: Float32Array,
  first = SCHEDULES / 2,
): Promise<void> {
  takeProblems();
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const timing = TIMINGS[seed % TIMINGS.length]!;
    setSchedule({ timing, seed });
    if (seed <= first) clearPrograms();
    const data = await run();
    const problems = takeProblems().map(show);
    const isSame = Buffer.from(data.buffer).equals(Buffer.from(wanted.buffer));
    expect({ seed, problems, isSame }).toEqual({ seed, problems: [], isSame: true });
  }
}

describe('a program in several streams', () => {
  const x = products(...longArrays());
  const explained = x.explain({ device: 'cuda' });

  it('says which step runs where, and what it waits for', () => {
    expect(streamsOf(explained)).toBe(CHAINS);
    expect(`${explained}`).toMatch(/^step \d+: .*, stream \d after steps? [\d, ]+, .* read/m);
  });

  it(`has the bits of one stream under ${SCHEDULES} schedules`, async () => {
    const memory = explained.peakBytes - 1;
    expect(streamsOf(x.explain({ device: 'cuda', memory }))).toBe(1);
    const wanted = await x.compute({ device: 'cuda', memory });
    setFaults([]);
    await x.compute({ device: 'cuda' });
    expect(describeSimulator().counts.cuStreamWaitEvent).toBeGreaterThanOrEqual(CHAINS);
    const again = async (): Promise<Float32Array> =>
      (await x.compute({ device: 'cuda' })).data as Float32Array;
    await bitsUnderSchedules(again, wanted.data as Float32Array);
    const { events, ...left } = await footprint();
    await bitsUnderSchedules(again, wanted.data as Float32Array, 0);
    const { events: now, ...rest } = await footprint();
    expect(rest).toEqual(left);
    // A run that begins before the one before it has given its events back makes some, once.
    expect(now! - events!).toBeLessThanOrEqual(CHAINS);
    // One is there to make graphs of products.
    expect((await keptObjects('cuda:0')).streams).toBe(CHAINS + 1);
  });

  it('is in one stream where the host takes longer to queue its products than the device for them', () => {
    const square = (x: Lazy, y: Lazy): Lazy => x.matmul(y).tanh().matmul(y).tanh().matmul(y).tanh();
    const small = arrays.map((data) => lazy(data, { shape: [SIZE, SIZE] }));
    expect(streamsOf(meeting(square)(...small).explain({ device: 'cuda' }))).toBe(1);
  });

  it('shows its streams in a timeline', async () => {
    clearPrograms();
    const { timeline } = await profile(x, { device: 'cuda' });
    const rows = new Set(timeline.spans.flatMap(({ kind, row }) => (kind === 'library' ? [row] : [])));
    expect([...rows].sort()).toEqual(['stream 0', 'stream 1', 'stream 2', 'stream 3']);
  });

  it.each(['cuStreamWaitEvent', 'cuEventRecord', 'cublasGemmEx', 'cuLaunchKernel'])(
    'goes on as before when %s fails at any call',
    async (call) => {
      const wanted = await x.compute({ device: 'cuda' });
      for (let nth = 1; ; nth += 2) {
        clearPrograms();
        setFaults([{ call, nth, status: call.startsWith('cublas') ? 13 : UNKNOWN }]);
        const failed = await x.compute({ device: 'cuda' }).then(
          () => false,
          () => true,
        );
        setFaults([]);
        expect((await x.compute({ device: 'cuda' })).data).toEqual(wanted.data);
        expect(takeProblems().map(show)).toEqual([]);
        if (!failed) break;
      }
    },
  );
});

describe('a program that ends in several streams', () => {
  const chain = (x: Lazy, y: Lazy): Lazy => x.matmul(y.matmul(x.matmul(y).tanh())).tanh();
  const given = longArrays();
  const ends = Array.from({ length: CHAINS }, (_, k) => chain(given[k]!, given[CHAINS + k]!));

  const together = (results: readonly { data: unknown }[]): Float32Array =>
    Float32Array.from(results.flatMap(({ data }) => [...(data as Float32Array)]));

  it('has as many streams as results', () => {
    expect(streamsOf(explain(ends, { device: 'cuda' }))).toBe(CHAINS);
  });

  it(`is waited for by the copies of its results, under ${SCHEDULES} schedules`, async () => {
    const wanted = together(await Promise.all(ends.map((x) => x.compute({ device: 'cuda' }))));
    await bitsUnderSchedules(async () => together(await compute(ends, { device: 'cuda' })), wanted);
  });

  it(`is waited for by the program after it, under ${SCHEDULES} schedules`, async () => {
    const negated = (results: readonly Lazy[]): Lazy[] => results.map((x) => x.neg());
    const wanted = together(await compute(negated(ends), { device: 'cuda' }));
    await bitsUnderSchedules(async () => {
      const stored = await persist(ends, { device: 'cuda' });
      const data = together(await compute(negated(stored), { device: 'cuda' }));
      for (const each of stored) each.dispose();
      return data;
    }, wanted);
  });
});

describe('launches in several streams', () => {
  it(`are graphs with branches when they are repeated, with the same bits under ${SCHEDULES} schedules`, async () => {
    const step = compile(launches, { device: 'cuda' });
    const given = arrays.map((data) => ({ data, shape: [SIZE, SIZE] }));
    const explained = step.explain(...given);
    expect(streamsOf(explained)).toBeGreaterThan(1);
    const wanted = (await step(...given)).data as Float32Array;
    for (let i = 0; i < 4; i++) await step(...given);
    setFaults([]);
    await step(...given);
    const { cuGraphLaunch, cuStreamWaitEvent = 0 } = describeSimulator().counts;
    expect([cuGraphLaunch, cuStreamWaitEvent]).toEqual([explained.graphs.length, 0]);
    await bitsUnderSchedules(async () => (await step(...given)).data as Float32Array, wanted);
  });
});
