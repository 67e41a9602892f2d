/**
 * Functions of the user's own on the CPU beside the same loop in plain JavaScript, on every core: a worker for each, on a
 * part of shared arrays. Prints a JSON line for each function, with the milliseconds of both, the shortest of some calls.
 *
 *     node dist/bench/own-functions-cpu.js [--threads 16] [--elements 16777216] [--calls 7]
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { compile, elementwise, lazy, persist } from '../src/index.js';
import { now, toDigits } from './statistics.js';

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: process.env.WEFT_THREADS ?? `${availableParallelism()}` },
    elements: { type: 'string', default: `${2 ** 24}` },
    calls: { type: 'string', default: '7' },
  },
});
const [threads, elements, calls] = [values.threads, values.elements, values.calls].map(Number) as [
  number,
  number,
  number,
];

type Function2 = (x: number, y: number) => number;

const FUNCTIONS: Readonly<Record<string, Function2>> = {
  squared_difference: (x, y) => (x - y) * (x - y),
  difference_or_root: (x, y) => {
    const z = (x - y) * (x - y);
    return z > 0.5 ? Math.sqrt(z) : z;
  },
  relative_difference: (x, y) => (2 * (x - y)) / (x + y),
  gaussian: (x, y) => Math.exp(-0.5 * x * x) * Math.cos(y),
  power: (x, y) => (x + 1) ** y,
  mandelbrot: (x, y) => {
    const [a, b] = [3 * x - 2, 3 * y - 1.5];
    let [re, im, n] = [0, 0, 0];
    while (n < 100 && re * re + im * im <= 4) {
      const next = re * re - im * im + a;
      im = 2 * re * im + b;
      re = next;
      n++;
    }
    return n;
  },
  halvings: (x, y) => {
    let [z, n] = [1 + 1000 * x, 0];
    while (z > y) {
      z *= 0.5;
      n++;
    }
    return n;
  },
  common_divisor: (x, y) => {
    let [a, b] = [Math.floor(1e5 * x), Math.floor(1e5 * y)];
    while (b !== 0) [a, b] = [b, a % b];
    return a;
  },
};

const shared = (): Float64Array<SharedArrayBuffer> => new Float64Array(new SharedArrayBuffer(8 * elements));
const [x, y, z] = [shared(), shared(), shared()];
for (let k = 0; k < elements; k++) {
  x[k] = ((k * 7919) % 100_003) / 100_003;
  y[k] = ((k * 104_729) % 99_991) / 99_991 + 1e-3;
}

/** A worker that runs the loop over its part whenever it is asked to. */
const LOOP = `const { parentPort, workerData: { x, y, z, first, last } } = require('node:worker_threads');
parentPort.on('message', (text) => {
  const run = new Function('x', 'y', 'z', 'first', 'last', 'const f = ' + text + ';' +
    'for (let k = first; k < last; k++) z[k] = f(x[k], y[k]);');
  const begin = performance.now();
  run(x, y, z, first, last);
  parentPort.postMessage(performance.now() - begin);
});`;
const workers = Array.from({ length: threads }, (_, k) => {
  const [first, last] = [k, k + 1].map((each) => Math.floor((each * elements) / threads));
  return new Worker(LOOP, { eval: true, workerData: { x, y, z, first, last } });
});

/** The time of the worker that takes longest. */
async function inJavaScript(text: string): Promise<number> {
  const times = workers.map(
    (worker) =>
      new Promise<number>((resolve) => {
        worker.once('message', resolve);
        worker.postMessage(text);
      }),
  );
  return Math.max(...(await Promise.all(times)));
}

async function shortest(run: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let call = 0; call < calls; call++) best = Math.min(best, await run());
  return best;
}

const arrays = await persist([lazy(new Float64Array(x)), lazy(new Float64Array(y))], { device: 'cpu' });
for (const [name, fn] of Object.entries(FUNCTIONS)) {
  const compiled = compile(elementwise(fn), { device: 'cpu' });
  const own = await shortest(async () => {
    const begin = now();
    using _result = await compiled.persist(...arrays);
    return now() - begin;
  });
  const javascript = await shortest(() => inJavaScript(fn.toString()));
  console.log(
    JSON.stringify({
      function: name,
      threads,
      elements,
      weft_ms: toDigits(own, 3),
      javascript_ms: toDigits(javascript, 3),
    }),
  );
}
for (const worker of workers) await worker.terminate();
