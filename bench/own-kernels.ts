/**
 * Functions of the user's own on a GPU, by the device's clock: a JSON line for each row, as `peers-own-kernels.py` prints
 * them of the same work in CUDA C by hand and in Numba. Milliseconds are those of all kernels of a call, whose inputs are
 * on the device and whose result stays there. `--sources` writes the CUDA C that Weft makes of the functions.
 *
 *     node dist/bench/own-kernels.js --device cuda [--only a,b] [--scale small] [--sources own-kernels.cu]
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compile, elementwise, type Lazy, persist, profile, reduction, synchronize } from '../src/index.js';
import { finiteSum, numbersOf } from './checksum.js';
import { gpuWorkloads } from './gpu-workloads.js';
import { median, toDigits } from './statistics.js';
import { makeWorkload, uniform, type Workload } from './workload.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    only: { type: 'string', default: '' },
    scale: { type: 'string', default: 'full' },
    calls: { type: 'string', default: '20' },
    sources: { type: 'string' },
  },
});
const isSmall = values.scale === 'small';

/** Numba's guide, `vectorize`. */
const relativeDifference = elementwise((a: number, b: number) => (2 * (a - b)) / (a + b));
/** Numba's guide, `cuda.reduce`. */
const sumReduce = reduction({ identity: 0, combine: (a: number, b: number) => a + b });

const OF_PEERS = ['mandelbrot_escape', 'elementwise_kernel', 'reduction_kernel'];

function workloads(): readonly Workload[] {
  const count = isSmall ? 2 ** 18 : 2 ** 28;
  const half = count / 2;
  const pair = [1, 2].map((seed) => ({ shape: [count], seed, low: 1, high: 2 }));
  const all = [
    ...gpuWorkloads(isSmall ? 'small' : 'full').filter(({ name }) => OF_PEERS.includes(name)),
    makeWorkload('numba_vectorize', [count], pair, relativeDifference, { bytes: 12 * count }),
    makeWorkload(
      'numba_reduce',
      [half],
      [{ shape: [half], seed: 1, dtype: 'float64' }],
      (x) => sumReduce(x, null),
      { dtype: 'float64', bytes: 8 * half },
    ),
  ];
  const only = values.only.split(',').filter((name) => name !== '');
  return all.filter(({ name }) => only.length === 0 || only.includes(name));
}

/** Milliseconds that the kernels of a call take on the device. */
async function deviceTime(call: () => Promise<Lazy>): Promise<number> {
  const { timeline } = await profile(async () => {
    using _result = await call();
    await synchronize(values.device);
  });
  const spans = timeline.spans.filter(({ kind }) => kind === 'kernel' || kind === 'graph');
  return spans.reduce((sum, { begin, end }) => sum + (end - begin), 0);
}

for (const { name, dtype, shape, inputs, expression, bytes } of workloads()) {
  const compiled = compile(expression, { device: values.device });
  const arrays = await persist(inputs.map(uniform), { device: values.device });
  const call = (): Promise<Lazy> => compiled.persist(...arrays);
  using first = await call();
  const checksum = finiteSum(numbersOf(await first.compute()));
  const times: number[] = [];
  for (let k = 0; k < Number(values.calls); k++) times.push(await deviceTime(call));
  const ms = median(times);
  const rate = bytes === undefined ? {} : { gbps: toDigits(bytes / ms / 1e6, 1) };
  const least = toDigits(Math.min(...times), 5);
  console.log(
    JSON.stringify({
      workload: name,
      peer: 'weft',
      dtype,
      shape,
      ms_median: toDigits(ms, 5),
      ms_min: least,
      ...rate,
      checksum,
    }),
  );
  if (values.sources !== undefined)
    for (const { source } of compiled.explain(...arrays).steps)
      appendFileSync(values.sources, `// ${name}\n${source ?? ''}\n`);
  for (const array of arrays) array.dispose();
}
