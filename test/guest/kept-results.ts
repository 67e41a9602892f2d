/**
 * Large results of which a program keeps the last few: `node dist/test/guest/kept-results.js`. Prints how often the engine
 * collected its whole heap meanwhile, how many results are others than they should be, and the memory of the process.
 */
import { type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { compile, type Lazy, type NDArray, persist, zeros } from '../../src/index.js';

const KEPT = 3;
const CALLS = 150;
const BYTES = 2 ** 25;
/** Of `perf_hooks`: a collection of the whole heap. */
const MAJOR = 4;

const cpu = { device: 'cpu' } as const;
const [x] = await persist([zeros([BYTES / 4], 'float32')], cpu);
const add = compile((a: Lazy, b: Lazy) => a.add(b), cpu);

let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { kind } = (entry as unknown as { readonly detail: NodeGCPerformanceDetail }).detail;
    if (kind === MAJOR) collections++;
  }
});
observer.observe({ entryTypes: ['gc'] });
const kept: { readonly value: number; readonly array: NDArray }[] = [];
let most = 0;
for (let value = 0; value < CALLS; value++) {
  kept.push({ value, array: await add(x!, Float32Array.of(value)) });
  if (kept.length > KEPT) kept.shift();
  most = Math.max(most, process.memoryUsage.rss());
}
await setTimeout(20); // the observer hears of collections later
observer.disconnect();
const different = kept.filter(({ value, array }) => array.data.some((element) => element !== value));
process.stdout.write(JSON.stringify({ collections, different: different.length, mostResults: most / BYTES }));
