/**
 * Functions of the user's own on the CPU beside the same loop in plain JavaScript, on every core: a worker for each, on a
 * part of shared arrays. Prints a JSON line for each function, with the milliseconds of both, the shortest of some calls,
 * and with those of the processor, which other processes disturb less.
 *
 *     node dist/bench/own-functions-cpu.js [--threads 16] [--elements 16777216] [--calls 7] [--only name,name]
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { compile, elementwise, lazy, persist } from '../src/index.js';
import { OWN_FUNCTIONS } from './own-functions.js';
import { now, toDigits } from './statistics.js';

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: process.env.WEFT_THREADS ?? `${availableParallelism()}` },
    elements: { type: 'string', default: `${2 ** 24}` },
    calls: { type: 'string', default: '7' },
    only: { type: 'string' },
  },
});
// Of both sides.
process.env.WEFT_THREADS = values.threads;
const [threads, elements, calls] = [values.threads, values.elements, values.calls].map(Number) as [
  number,
  number,
  number,
];

/** Memory that workers share. */
const float64 = (): Float64Array<SharedArrayBuffer> => new Float64Array(new SharedArrayBuffer(8 * elements));
const int32 = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(4 * elements));
const inputs = { float64: [float64(), float64()], int32: [int32(), int32()] } as const;
for (let k = 0; k < elements; k++) {
  const [x, y] = [((k * 7919) % 100_003) / 100_003, ((k * 104_729) % 99_991) / 99_991];
  inputs.float64[0][k] = x;
  inputs.float64[1][k] = y + 1e-3;
  inputs.int32[0][k] = 32 * x;
  inputs.int32[1][k] = 32 * y;
}
const results = float64();

/** A worker that runs the loop over its part whenever it is asked to. */
const LOOP = `const { parentPort, workerData: { inputs, z, first, last } } = require('node:worker_threads');
parentPort.on('message', ({ text, dtype }) => {
  const run = new Function('x', 'y', 'z', 'first', 'last', 'const f = ' + text + ';' +
    'for (let k = first; k < last; k++) z[k] = f(x[k], y[k]);');
  run(...inputs[dtype], z, first, last);
  parentPort.postMessage(undefined);
});`;
const workers = Array.from({ length: threads }, (_, k) => {
  const [first, last] = [k, k + 1].map((each) => Math.floor((each * elements) / threads));
  return new Worker(LOOP, { eval: true, workerData: { inputs, z: results, first, last } });
});

async function inJavaScript(text: string, dtype: string): Promise<void> {
  const ends = workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)));
  for (const worker of workers) worker.postMessage({ text, dtype });
  await Promise.all(ends);
}

/** The least milliseconds of some calls, and of the processor. */
async function least(
  run: () => Promise<void>,
): Promise<{ readonly wall: number; readonly processor: number }> {
  let [wall, processor] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let call = 0; call < calls; call++) {
    const [begin, used] = [now(), process.cpuUsage()];
    await run();
    const { user, system } = process.cpuUsage(used);
    wall = Math.min(wall, now() - begin);
    processor = Math.min(processor, (user + system) / 1000);
  }
  return { wall, processor };
}

const persisted = async (arrays: readonly [Float64Array | Int32Array, Float64Array | Int32Array]) =>
  persist([lazy(arrays[0].slice()), lazy(arrays[1].slice())], { device: 'cpu' });
const arrays = { float64: await persisted(inputs.float64), int32: await persisted(inputs.int32) };
const only = values.only?.split(',');
for (const { name, dtype, fn } of OWN_FUNCTIONS) {
  if (only && !only.includes(name)) continue;
  const compiled = compile(elementwise(fn), { device: 'cpu' });
  const own = await least(async () => {
    using _result = await compiled.persist(...arrays[dtype].slice(0, fn.length));
  });
  const javascript = await least(() => inJavaScript(fn.toString(), dtype));
  console.log(
    JSON.stringify({
      function: name,
      threads,
      elements,
      weft_ms: toDigits(own.wall, 3),
      javascript_ms: toDigits(javascript.wall, 3),
      weft_processor_ms: toDigits(own.processor, 3),
      javascript_processor_ms: toDigits(javascript.processor, 3),
    }),
  );
}
for (const worker of workers) await worker.terminate();
