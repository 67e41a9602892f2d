/**
 * How far samples of each distribution are from it, as Kolmogorov and Smirnov measure it:
 * `node dist/test/devices/distributions.js --device cuda --draws 1e8`. √n times the distance is above 1.36 for one sample
 * in 20, above 1.95 for one in 1000.
 */
import { parseArgs } from 'node:util';
import { compute, random } from '../../src/index.js';
import { DISTRIBUTIONS, distanceOf, MOST_DISTANCE } from '../support/distributions.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    draws: { type: 'string', default: '1e8' },
    seed: { type: 'string', default: '2026' },
    only: { type: 'string' },
  },
});
const n = Number(values.draws);
let far = 0;
for (const [k, distribution] of DISTRIBUTIONS.entries()) {
  if (values.only !== undefined && !distribution.name.includes(values.only)) continue;
  const key = random.foldIn(random.key(Number(values.seed)), k);
  const start = performance.now();
  const [distance] = await compute([distanceOf(distribution, key, n)], { device: values.device });
  const seconds = (performance.now() - start) / 1000;
  if (!(Number(distance.item()) < MOST_DISTANCE)) far++;
  console.log(
    `${distribution.name.padEnd(24)} ${Number(distance.item()).toFixed(3)}  ${seconds.toFixed(1)} s`,
  );
}
console.log(`${far} of the samples of ${n} are too far`);
process.exitCode = far === 0 ? 0 : 1;
