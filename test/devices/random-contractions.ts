/**
 * Random einsums of up to six operands and eight labels, of all dtypes, on a device, against sums over all indices
 * (`test/support/random-contractions.ts`), as many as `test/conformance/contractions.test.ts` has no time for.
 *
 *     node dist/test/devices/random-contractions.js --device cpu --count 5000
 *     node dist/test/devices/random-contractions.js --device cuda --count 2000 [--library cutensor] [--seconds 80]
 *     node dist/test/devices/random-contractions.js --simulated --count 200
 *
 * `--library`: products for libraries by this one; `--seconds`: begins no more after so long, and says how many it did.
 */
import { parseArgs } from 'node:util';
import type { ProductLibrary } from '../../src/index.js';
import { describeDevice } from './device-name.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    simulated: { type: 'boolean', default: false },
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '20261126' },
    library: { type: 'string' },
    seconds: { type: 'string', default: 'Infinity' },
  },
});
if (values.simulated) {
  const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
  Object.assign(process.env, SIM_ENVIRONMENT);
}
const { failuresOf } = await import('../support/api.js');
const { preparedContraction } = await import('../support/random-contractions.js');
const device = values.simulated ? 'cuda' : values.device;
const library = values.library as ProductLibrary | undefined;
const [count, first, seconds] = [values.count, values.seed, values.seconds].map(Number) as [
  number,
  number,
  number,
];

/** Contractions that are computed together. */
const TOGETHER = 25;
console.log(describeDevice(device, values.simulated));
const begun = performance.now();
const elapsed = (): number => (performance.now() - begun) / 1000;
let [done, failures] = [0, 0];
while (done < count && elapsed() < seconds) {
  const length = Math.min(TOGETHER, count - done);
  const cases = Array.from({ length }, (_, k) => preparedContraction(first + done + k, library));
  for (const failure of await failuresOf(device, cases)) {
    failures++;
    console.log(`FAIL ${failure}`);
  }
  done += length;
}
const by = library === undefined ? 'as chosen' : `by ${library} where it has them`;
console.log(
  `${done} of ${count} random contractions from seed ${first}, ${by}: ${failures === 0 ? 'all right' : `${failures} wrong`}, ${elapsed().toFixed(1)} s`,
);
process.exitCode = failures === 0 ? 0 : 1;
