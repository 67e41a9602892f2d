/**
 * Chains of small steps that meet in the end: how long a call of a compiled function takes, and in how many
 * streams it runs. `node dist/bench/streams.js [--device cuda:0] [--count 200]` prints a JSON line for each
 * kind of chain and size.
 */
import { parseArgs } from 'node:util';
import { compile, type Lazy, persist, stack } from '../src/index.js';
import { median, now, toDigits } from './statistics.js';
import { uniform } from './workload.js';

const { values } = parseArgs({
  options: { device: { type: 'string', default: 'cuda:0' }, count: { type: 'string', default: '200' } },
});
const { device } = values;
const CHAINS = 8;
const STEPS = 6;
const WARM = 20;

type Step = (h: Lazy, w: Lazy) => Lazy;

const meeting =
  (step: Step) =>
  (...given: readonly Lazy[]): Lazy =>
    stack(
      Array.from({ length: CHAINS }, (_, k) => {
        let h = given[k]!;
        for (let i = 0; i < STEPS; i++) h = step(h, given[CHAINS + k]!);
        return h;
      }),
    ).sum();

async function measure(chains: string, step: Step, size: number): Promise<void> {
  const inputs = Array.from({ length: 2 * CHAINS }, (_, k) =>
    uniform({ shape: [size, size], seed: k, low: -1 / size, high: 1 / size }),
  );
  const arrays = await persist(inputs, { device });
  const job = compile<Lazy[], Lazy>(meeting(step), { device });
  const times: number[] = [];
  for (let k = 0; k < WARM + Number(values.count); k++) {
    const start = now();
    await job(...arrays);
    if (k >= WARM) times.push((now() - start) * 1e3);
  }
  const streams = new Set(job.explain(...arrays).steps.map(({ stream }) => stream)).size;
  const us = (milliseconds: number): number => toDigits(milliseconds, 1);
  console.log(
    JSON.stringify({ chains, size, streams, medianUs: us(median(times)), leastUs: us(Math.min(...times)) }),
  );
  for (const x of arrays) x.dispose();
}

for (const size of [128, 256, 384, 512, 1024, 2048])
  await measure('products, tanh', (h, w) => h.matmul(w).tanh(), size);
for (const size of [256, 512, 1024])
  await measure('softmax over columns', (h, w) => h.mul(w).softmax(0), size);
