/**
 * Worker threads that load Weft, compute, and are terminated at any moment, many times over, while the main
 * thread computes with arrays of its own: `node dist/test/guest/threads.js --device simulated --workers 16
 * --cycles 100`. Prints what it did and what the memory of the process was; fails where a value is wrong or
 * something is left behind.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { generator } from '../support/random.js';
import { ACTIVITY_NAMES } from './activity-names.js';
import type { ThreadData } from './thread.js';

const { values } = parseArgs({
  options: {
    /** `cpu`, `cuda:N` or `simulated`. */
    device: { type: 'string', default: 'cpu' },
    workers: { type: 'string', default: '16' },
    cycles: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string', default: '1' },
  },
});
const isSimulated = values.device === 'simulated';
if (isSimulated) Object.assign(process.env, SIM_ENVIRONMENT);
const device = isSimulated ? 'cuda:0' : values.device;
const [workers, cycles, seed, scale] = [values.workers, values.cycles, values.seed, values.scale].map(
  Number,
) as [number, number, number, number];

/** How long a thread goes on after its first round, at most, in milliseconds. */
const LONGEST = 60;
/** One of so many is terminated before its first round, perhaps while it loads. */
const EARLY = 4;
const MiB = 2 ** 20;

const simulator = isSimulated ? await import('../sim/simulator.js') : undefined;
const leftovers = isSimulated ? await import('../sim/leftovers.js') : undefined;
simulator?.setDevices([{ memory: 2 ** 28 }]);
// A compiler and kernels that take their time, as real ones do.
simulator?.setFaults([
  { call: 'nvrtcCompileProgram', nth: 0, delayMs: 20 },
  { call: 'run launch', nth: 0, delayMs: 1 },
]);
const { compile, lazy } = await import('../../src/index.js');
const { collectGarbage, memory, trim } = await import('../../src/exec/native/native.js');

const folder = mkdtempSync(join(tmpdir(), 'weft-threads-'));
const random = generator(seed);
const failures: string[] = [];
let rounds = 0;
let early = 0;

/** A thread from its start to its end. */
async function cycle(slot: number, k: number): Promise<void> {
  const own = join(folder, `${slot}`);
  mkdirSync(own, { recursive: true });
  const activity = ACTIVITY_NAMES[Math.floor(random() * ACTIVITY_NAMES.length)]!;
  const workerData: ThreadData = { activity, device, folder: own, seed: slot * 10_000 + k, scale };
  const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData });
  let hasRound = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    hasRound = resolve;
  });
  worker.on('message', () => {
    rounds++;
    hasRound();
  });
  worker.on('error', (error) => {
    failures.push(`${activity}: ${String(error)}`);
    hasRound();
  });
  if (random() < 1 / EARLY) early++;
  else await first;
  await setTimeout(random() * LONGEST);
  await worker.terminate();
}

/** The work of the main thread meanwhile. */
async function goOn(isOver: () => boolean): Promise<number> {
  const double = compile((x: ReturnType<typeof lazy>) => ({ next: x.add(1), sum: x.sum() }), { device });
  using kept = await lazy(new Float32Array(1000).fill(1)).persist({ device });
  let computes = 0;
  for (; !isOver(); computes++) {
    const { next } = await double.persist(kept);
    const sum = (await next.sum().compute()).item();
    if (sum !== 2000) failures.push(`the main thread: ${String(sum)}`);
    await setTimeout(2);
  }
  return computes;
}

const rss: number[] = [];
async function all(): Promise<void> {
  let done = 0;
  const total = workers * cycles;
  await Promise.all(
    Array.from({ length: workers }, async (_, slot) => {
      for (let k = 0; k < cycles; k++) {
        await cycle(slot, k);
        done++;
        if (done % Math.max(1, Math.floor(total / 8)) === 0) rss.push(process.memoryUsage.rss());
      }
    }),
  );
}

/** Temporary files that threads did not live to complete. */
const temporaryFiles = (): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'));

async function leftBehind(): Promise<string[]> {
  await collectGarbage();
  if (simulator !== undefined) return [...leftovers!.leftInUse([]), ...(await leftovers!.leftBehind())];
  return memory().flatMap(({ device: name, inUse }) => (inUse > 0 ? [`${name}: ${inUse} bytes`] : []));
}

const begin = performance.now();
let over = false;
const computing = goOn(() => over);
await all();
over = true;
const computes = await computing;
const seconds = (performance.now() - begin) / 1000;
failures.push(...temporaryFiles().map((name) => `a temporary file: ${name}`));
simulator?.setFaults([]);
let left = await leftBehind();
for (let wait = 0; wait < 200 && left.length > 0; wait++) {
  await setTimeout(10);
  left = await leftBehind();
}
failures.push(...left.map((what) => `left: ${what}`));
await trim();
if (simulator !== undefined) failures.push(...simulator.takeProblems().map(simulator.show));
rmSync(folder, { recursive: true });
const sizes = rss.map((bytes) => Math.round(bytes / MiB));
console.log(
  JSON.stringify({
    device: values.device,
    workers,
    cycles,
    seconds,
    rounds,
    early,
    computes,
    rss: sizes,
    failures,
  }),
);
process.exitCode = failures.length > 0 ? 1 : 0;
