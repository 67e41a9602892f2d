/**
 * Random graphs on the GPUs of this machine for as long as is asked: small ones against the reference, large
 * ones sharded to some of the devices under some budget against one device without a budget, with the same
 * bits.
 *
 *     node dist/test/devices/soak.js --minutes 1 --seed 7
 *     node dist/test/devices/soak.js --minutes 1 --simulated
 *
 * Prints what was covered; exits with 1 and the way to reproduce it where something is wrong.
 */
import { parseArgs } from 'node:util';
import { failureOf, reproduction } from '../support/random-check.js';
import { buildRandomProgram } from '../support/random-graph.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    simulated: { type: 'boolean', default: false },
  },
});
if (values.simulated) {
  const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
  Object.assign(process.env, SIM_ENVIRONMENT);
}
const { compute, MemoryError, persist, plan } = await import('../../src/index.js');
const { cudaInfo, memory } = await import('../../src/exec/native/native.js');
const { bitsOf, hasVendorProducts } = await import('../support/budget-corpus.js');
const { largeGraph } = await import('../support/large-graph.js');
const { generator } = await import('../support/random.js');

const all = cudaInfo().devices.map(({ device }) => device);
if (all.length === 0) throw new Error('expected a GPU');
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const random = generator(seed);
const below = (n: number): number => Math.floor(random() * n);
const covered = new Map<string, number>();
const count = (what: string): void => {
  covered.set(what, (covered.get(what) ?? 0) + 1);
};

/** Some of the devices, in any order. */
function someDevices(): string[] {
  const left = [...all];
  return Array.from({ length: 1 + below(all.length) }, () => left.splice(below(left.length), 1)[0]!);
}

/** A small graph of every kind of op, on one device. */
async function checkSmall(): Promise<string | undefined> {
  const choices = Array.from({ length: 2 + below(22) }, () => ({
    action: below(20),
    a: below(1000),
    b: below(1000),
    c: below(1000),
  }));
  const picks = Array.from({ length: below(4) }, () => below(1000));
  const program = buildRandomProgram(choices);
  const device = all[below(all.length)]!;
  count(`small graphs on ${device}`);
  const wrong = await failureOf(device, program, picks).catch((error: unknown) => String(error));
  return wrong === undefined ? undefined : `${reproduction(device, program, picks)}\n${wrong}`;
}

/**
 * A large graph, whole on one device, then on some within some budget, its result on the host or left on
 * devices.
 */
async function checkLarge(): Promise<string | undefined> {
  const own = below(2 ** 31);
  const { results, steps } = largeGraph(own, { scale: values.simulated ? 1 / 4 : 1 });
  // A library orders the sums of products by their shapes.
  if (hasVendorProducts(results, all[0]!)) return undefined;
  const whole = await compute(results, { device: all[0]! });
  const name = `large graph ${own} (${steps.join(', ')})`;
  for (let turn = 0; turn < 3; turn++) {
    const devices = someDevices();
    const needed = plan(results, { devices }).peakBytes;
    const budget = turn === 0 ? undefined : Math.max(1, Math.floor(needed * 8 ** -random()));
    const options = { devices, ...(budget === undefined ? {} : { memory: budget }) };
    const stays = below(3) === 0;
    const how = `${name} with ${JSON.stringify(options)}${stays ? ', left there' : ''}`;
    try {
      const held = stays ? await persist(results, options) : [];
      const found = stays ? await compute(held) : await compute(results, options);
      for (const x of held) x.dispose();
      const isSame = found.every((array, k) => bitsOf(array).equals(bitsOf(whole[k]!)));
      if (!isSame) return `${how}: other bits`;
      const kind = budget === undefined ? 'no budget' : 'a budget';
      count(`large graphs, ${devices.length} devices, ${kind}${stays ? ', left there' : ''}`);
    } catch (error) {
      if (!(error instanceof MemoryError) || budget === undefined) return `${how}: ${String(error)}`;
      count('budgets that are too small');
    }
  }
  return undefined;
}

console.log(`seed ${seed}, ${all.length} devices`);
const end = performance.now() + Number(values.minutes) * 60_000;
while (performance.now() < end && process.exitCode === undefined) {
  const wrong = await (below(2) === 0 ? checkSmall() : checkLarge());
  if (wrong === undefined) continue;
  console.log(`WRONG ${wrong}`);
  process.exitCode = 1;
}
for (const { device, inUse } of memory()) {
  if (inUse === 0 || device === 'cpu') continue;
  console.log(`WRONG ${inUse} bytes are left on ${device}`);
  process.exitCode = 1;
}
for (const [what, times] of [...covered].sort()) console.log(`${String(times).padStart(8)} ${what}`);
