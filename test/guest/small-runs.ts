/**
 * Small runs of several threads at once, each computed on the thread that asks for it: `node dist/test/guest/small-runs.js`.
 * Every thread has functions of its own, and hands the digests of their results to the main thread, which computes the
 * same. Prints the names of those that differ.
 */
import { createHash } from 'node:crypto';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { compile, type Lazy, lazy, linalg } from '../../src/index.js';

const THREADS = 3;
const ROUNDS = 20;
const cpu = { device: 'cpu' } as const;

const line = Float32Array.from({ length: 300 }, (_, k) => Math.sin(k) * 3);
const bits = Uint16Array.from({ length: 129 }, (_, k) => (k * 37) % 0x7000);
const square = Float64Array.from({ length: 256 }, (_, k) => Math.cos(k * k) + (k % 17 === 0 ? 4 : 0));
const row = square.slice(0, 16);
const half = (): Lazy => lazy(bits, { dtype: 'float16' });
const brain = (): Lazy => lazy(bits, { dtype: 'bfloat16' });
const complex = (): Lazy => lazy(line, { dtype: 'complex64' });
const matrix = (): Lazy => lazy(square, { shape: [16, 16] });

const dot = compile((x: Lazy, y: Lazy) => x.mul(y).sum(), cpu);
const halves = compile((x: Lazy) => ({ half: x.mul(1.5), isLarge: x.greater(2) }), cpu);
const product = compile((x: Lazy) => [x.mul(x.conj()), x.sum()], cpu);
const solve = compile((a: Lazy, b: Lazy) => linalg.solve(a, b), cpu);
const parts = compile((a: Lazy) => ({ inverse: linalg.inv(a), values: linalg.svd(a).s }), cpu);
const taken = compile((x: Lazy, k: Lazy) => x.take(k), cpu);
const scaled = compile((x: Lazy, y: Lazy) => [x.add(1).mul(y), x.sub(y).abs().max()], cpu);

const gone = (): Float32Array => {
  const data = new Float32Array(300);
  structuredClone(data.buffer, { transfer: [data.buffer] });
  return data;
};
const aborted = (): Promise<unknown> =>
  matrix()
    .add(1)
    .compute({ ...cpu, signal: AbortSignal.abort(new Error('enough')) });

/** By name, calls that give results or reject. */
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  dot: () => dot(line, line),
  'a dot of one array': () => dot(line, line.slice().reverse()),
  halves: () => halves(half()),
  bfloat16: () => halves(brain()),
  complex: () => product(complex()),
  solve: () => solve(matrix(), row),
  parts: () => parts(matrix()),
  scaled: () => scaled(line, line.slice(0, 1)),
  plain: () => lazy(line).add(2).compute(cpu),
  'plain solve': () => linalg.solve(matrix(), row).compute(cpu),
  'twenty at once': () => Promise.all(Array.from({ length: 20 }, () => solve(matrix(), row))),
  singular: () => solve(new Float64Array(256), row),
  'indices out of range': () => taken(line, new BigInt64Array([1n, 300n])),
  'indices in range': () => taken(line, new BigInt64Array([1n, 299n])),
  'an array without memory': () => dot(line, gone()),
  'resizable memory': () =>
    dot(
      line,
      new Float32Array(Reflect.construct(ArrayBuffer, [1200, { maxByteLength: 4096 }]) as ArrayBuffer),
    ),
  'shared memory': () => dot(line, new Float32Array(new SharedArrayBuffer(1200)).fill(2)),
  aborted,
};

/** The bytes of results, or the message of an error. */
const digest = (value: unknown): string => createHash('sha1').update(textOf(value)).digest('hex');

function textOf(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message.split('\n')[0]}`;
  if (typeof value === 'object' && value !== null && 'data' in value) {
    const { data } = value as { data: Uint8Array };
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex');
  }
  return Object.values(value as object)
    .map(textOf)
    .join(' ');
}

/** The digests of all calls, of so many rounds: of each call one, where it gives the same each time. */
async function digests(): Promise<Record<string, string[]>> {
  const found: Record<string, Set<string>> = {};
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, call] of Object.entries(CALLS)) {
      found[name] ??= new Set();
      found[name].add(digest(await call().catch((error: unknown) => error)));
    }
  return Object.fromEntries(Object.entries(found).map(([name, all]) => [name, [...all]]));
}

if (isMainThread) {
  const workers = Array.from({ length: THREADS }, () => new Worker(new URL(import.meta.url)));
  const theirs = workers.map(
    (worker) =>
      new Promise<Record<string, string[]>>((resolve, reject) => {
        worker.on('message', resolve);
        worker.on('error', reject);
      }),
  );
  const ours = await digests();
  const all = [ours, ...(await Promise.all(theirs))];
  const different = Object.keys(CALLS).filter(
    (name) => new Set(all.flatMap((digests) => digests[name])).size !== 1,
  );
  console.log(JSON.stringify({ calls: Object.keys(CALLS).length, different }));
} else parentPort!.postMessage(await digests());
