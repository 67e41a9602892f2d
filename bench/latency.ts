/**
 * Where the time of a small compute goes: prints microseconds for one that is waited for, for many started
 * together, and for one with its arrays on the host; and of the native run alone, when it was taken, queued,
 * seen to end, and reported.
 *
 * `node dist/bench/latency.js [--device cuda:0|cpu] [--count 1000]`. `gpu-workloads.ts` has the workloads
 * held to targets.
 */

import { parseArgs } from 'node:util';
import { exprOf } from '../src/api/lazy.js';
import { createProgram, type NativeProgram, type RunTimeline, run } from '../src/exec/native/native.js';
import { programOf } from '../src/exec/run/program.js';
import { numbersFor } from '../src/exec/run/run-numbers.js';
import { deviceNamed } from '../src/exec/targets/device.js';
import { type Canonical, canonicalize } from '../src/fusion/passes/canonicalize.js';
import type { DeviceBuffer } from '../src/graph/expr.js';
import { compile, fft, type Lazy, lazy, persist, synchronize } from '../src/index.js';
import { median, now, toDigits } from './statistics.js';
import { uniform } from './workload.js';

const { values } = parseArgs({
  options: { device: { type: 'string', default: 'cuda:0' }, count: { type: 'string', default: '1000' } },
});
const { device } = values;
const count = Number(values.count);
if (!Number.isInteger(count) || count < 1) throw new RangeError(`--count ${values.count}: expected a count`);

const ELEMENTS = 1000;
const TOGETHER = 100;
const WARM = 200;

const dot = (a: Lazy, b: Lazy): Lazy => a.mul(b).sum();

/**
 * Prints the median and the least of the microseconds that `body` takes, as a share of the calls it makes.
 */
async function time(name: string, body: () => Promise<void>, calls = 1): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < WARM / calls; i++) await body();
  for (let i = 0; i < count; i += calls) {
    const start = now();
    await body();
    times.push(((now() - start) * 1e3) / calls);
  }
  show(name, times);
}

function show(name: string, times: readonly number[]): void {
  const low = toDigits(Math.min(...times), 1);
  console.log(
    `${name.padEnd(44)} ${String(toDigits(median(times), 1)).padStart(8)} ${String(low).padStart(8)}`,
  );
}

const hostInputs = [1, 2].map((seed) => Float32Array.from({ length: ELEMENTS }, (_, i) => (i * seed) % 7));

async function timeExpressions(): Promise<void> {
  const [a, b] = (await persist(
    [uniform({ shape: [ELEMENTS], seed: 1 }), uniform({ shape: [ELEMENTS], seed: 2 })],
    {
      device,
    },
  )) as [Lazy, Lazy];
  await time('persist of resident arrays, awaited', async () => {
    (await dot(a, b).persist({ device })).dispose();
  });
  await time(
    `persist of resident arrays, ${TOGETHER} together`,
    async () => {
      const results = await Promise.all(
        Array.from({ length: TOGETHER }, () => dot(a, b).persist({ device })),
      );
      for (const result of results) result.dispose();
    },
    TOGETHER,
  );
  await time('compute of resident arrays, awaited', async () => {
    await dot(a, b).compute({ device });
  });
  await time('compute of host arrays, awaited', async () => {
    await dot(lazy(hostInputs[0]!), lazy(hostInputs[1]!)).compute({ device });
  });
  const compiled = compile(dot, { device });
  await time(
    `compiled: resident, stays there, ${TOGETHER} in a row`,
    async () => {
      for (let i = 0; i < TOGETHER; i++) (await compiled.persist(a, b)).dispose();
      await synchronize(device);
    },
    TOGETHER,
  );
  await time('compiled: resident, stays there, awaited', async () => {
    (await compiled.persist(a, b)).dispose();
    await synchronize(device);
  });
  await time(
    `compiled: resident, stays there, ${TOGETHER} together`,
    async () => {
      const results = await Promise.all(Array.from({ length: TOGETHER }, () => compiled.persist(a, b)));
      await synchronize(device);
      for (const result of results) result.dispose();
    },
    TOGETHER,
  );
  await time('compiled: resident, awaited', async () => {
    await compiled(a, b);
  });
  await time('compiled: host arrays, awaited', async () => {
    await compiled(hostInputs[0]!, hostInputs[1]!);
  });
  await timeNative('resident', canonicalize([exprOf('latency', dot(a, b))]));
  a.dispose();
  b.dispose();
}

/** A map of few elements, and batches of transforms, which a library queues. */
async function timeTransforms(): Promise<void> {
  const ways: Readonly<Record<string, (x: Lazy) => Lazy>> = {
    add: (x) => x.add(1),
    rfft: (x) => fft.rfft(x),
  };
  for (const rows of [2, 2 ** 14]) {
    const shape = [rows, 4096];
    const [x] = (await persist([uniform({ shape, seed: 3 })], { device })) as [Lazy];
    for (const [name, fn] of Object.entries(ways)) {
      const compiled = compile(fn, { device });
      const text = `${name} of ${shape.join(' by ')}`;
      await time(`compiled: ${text}, stays there, awaited`, async () => {
        const result = await compiled.persist(x);
        await synchronize(device);
        result.dispose();
      });
      await timeNative(text, canonicalize([exprOf('latency', fn(x))]), ['device']);
    }
    x.dispose();
  }
}

const inputsOf = ({ sources }: Canonical, order: readonly number[]): (ArrayBufferView | DeviceBuffer)[] =>
  order.map((k) => {
    const { source } = sources[k]!;
    if (source.type === 'device') return source.buffer;
    if (source.type === 'host') return source.data;
    throw new TypeError(`no inputs of type ${source.type} here`);
  });

/** The native run alone, and its parts. */
async function timeNative(
  name: string,
  canonical: Canonical,
  destinations: readonly ('device' | 'host')[] = ['device', 'host'],
): Promise<void> {
  const { one } = await programOf(canonical, {
    devices: [deviceNamed(device)],
    isSharded: false,
    exact: false,
    tune: false,
    budget: undefined,
    hostBudget: undefined,
    destination: 'host',
  });
  const { plan, native } = one!;
  const inputs = inputsOf(canonical, plan.inputs);
  const numbers = numbersFor(canonical);
  for (const destination of destinations) {
    const timelines: (RunTimeline & { readonly all: number })[] = [];
    const once = async (timeline: boolean): Promise<RunTimeline | undefined> => {
      const { outputs, timeline: times } = await run(native, inputs, {
        outputs: [destination],
        timeline,
        numbers,
      });
      const [output] = outputs;
      if (output !== undefined && 'dispose' in output) output.dispose();
      return times;
    };
    await time(`native run, ${name} to ${destination}, awaited`, async () => {
      await once(false);
    });
    for (let i = 0; i < count; i++) {
      const start = now();
      const times = await once(true);
      timelines.push({ ...times!, all: (now() - start) * 1e6 });
    }
    const part = (label: string, of: (t: RunTimeline & { readonly all: number }) => number): void =>
      show(
        `  ${label}`,
        timelines.map((t) => of(t) / 1e3),
      );
    part('asked to taken by the executor', (t) => t.taken);
    part('taken to issued', (t) => t.issued - t.taken);
    part('issued to seen to end', (t) => t.ended - t.issued);
    part('seen to end to reported', (t) => t.reported - t.ended);
    part('reported, and what JavaScript adds', (t) => t.all - t.reported);
  }
}

/** A program that does nothing: what a run costs by itself. */
async function timeEmpty(): Promise<void> {
  const empty: NativeProgram = createProgram({
    device,
    arenaByteLength: 0,
    images: [],
    buffers: [],
    steps: [],
  });
  await time('native run of nothing, awaited', async () => {
    await run(empty, [], { outputs: [] });
  });
  await time(
    `native run of nothing, ${TOGETHER} together`,
    async () => {
      await Promise.all(Array.from({ length: TOGETHER }, () => run(empty, [], { outputs: [] })));
    },
    TOGETHER,
  );
}

console.log(`${'microseconds'.padEnd(44)} ${'median'.padStart(8)} ${'least'.padStart(8)}`);
await timeEmpty();
await timeExpressions();
const [x, y] = hostInputs as [Float32Array, Float32Array];
await timeNative('host', canonicalize([exprOf('latency', dot(lazy(x), lazy(y)))]));
if (!deviceNamed(device).isHost) await timeTransforms();
