/**
 * How long the event loop waits while Weft works: `node dist/test/guest/event-loop.js --device cuda --seconds
 * 10`. Each job is repeated for so long, and the delays of the loop are measured as Node measures them;
 * prints a table in milliseconds, and fails where the 99th percentile of a job is 10 ms or more.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compile, compute, iterate, type Lazy, lazy, loadNpy, npy, saveNpy } from '../../src/index.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    seconds: { type: 'string', default: '10' },
    /** Elements of the large arrays. */
    elements: { type: 'string', default: '16000000' },
    only: { type: 'string' },
  },
});
const { device } = values;
const count = Math.floor(Number(values.elements) / 1024) * 1024;
const [MOST_P99_MS, NANOSECONDS_PER_MS] = [10, 1e6];

const folder = mkdtempSync(join(tmpdir(), 'weft-loop-'));
const data = new Float32Array(count).map((_, k) => (k % 1000) / 1000);
const x = lazy(data).reshape([-1, 1024]);
const file = await saveNpy(join(folder, 'x.npy'), x, { device: 'cpu' });
const step = compile((a: Lazy) => a.mul(2).sub(a.mean()), { device });

/** A graph of so many nodes that nothing else shares, so that it is planned and compiled anew. */
function unseen(nodes: number, seed: number): Lazy {
  let y: Lazy = lazy(new Float32Array(512).fill(0.5));
  for (let k = 0; k < nodes; k++)
    y = (seed * 31 + k * k) % 7 < 3 ? y.sin() : k % 3 === 0 ? y.abs() : y.mul(0.5);
  return y;
}

const JOBS: Readonly<Record<string, (round: number) => Promise<unknown>>> = {
  'nothing (a timer)': () => setTimeout(5),
  'a large map, its result on the host': () => x.mul(2).add(1).compute({ device }),
  'large reductions together': () => compute([x.sum(0), x.std(1), x.max()], { device }),
  'in tiles, with progress': () =>
    x.sub(x.mean(0)).compute({ device, memory: data.byteLength / 8, onProgress: () => undefined }),
  'from file to file in tiles': async () =>
    (await loadNpy(join(folder, 'x.npy')))
      .sub(file.mean(0))
      .compute({ device, memory: data.byteLength / 4, to: npy(join(folder, 'y.npy')) }),
  'a matrix product': () =>
    x
      .slice([0, 1024])
      .matmul(x.slice([0, 1024]).transpose())
      .compute({ device }),
  'a long loop': () => iterate(20_000, new Float32Array(4096), (a: Lazy) => a.add(1)).compute({ device }),
  'small computes, one after the other': () => step(data.subarray(0, 1000)),
  'a hundred small computes at once': () =>
    Promise.all(Array.from({ length: 100 }, (_, k) => step(data.subarray(0, 1000 + k)))),
  'graphs of 50 nodes that were not seen before': (round) => unseen(50, round).compute({ device }),
  'graphs of 1000 nodes that were not seen before': (round) => unseen(1000, round).compute({ device }),
};

const milliseconds = (nanoseconds: number): string =>
  (nanoseconds / NANOSECONDS_PER_MS).toFixed(1).padStart(8);

let worst = 0;
console.log(`${'job'.padEnd(52)}  rounds     p50     p99     max`);
for (const [name, job] of Object.entries(JOBS)) {
  if (values.only !== undefined && !name.includes(values.only)) continue;
  // Timers of a millisecond are the finest there are.
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const end = performance.now() + Number(values.seconds) * 1000;
  let round = 0;
  for (; performance.now() < end; round++) await job(round);
  delays.disable();
  const p99 = delays.percentile(99);
  worst = Math.max(worst, p99);
  const times = [delays.percentile(50), p99, delays.max].map(milliseconds).join('');
  console.log(`${name.padEnd(52)}${String(round).padStart(8)}${times}`);
}
rmSync(folder, { recursive: true });
if (worst >= MOST_P99_MS * NANOSECONDS_PER_MS) process.exitCode = 1;
