/**
 * Computes random programs of several results together and each result alone on a GPU, and prints how many have other
 * bits, and how many of these by more than rounding; fails where there are such, and where sums or joins differ at all: libraries may
 * choose another order for a product.
 *
 *     node dist/test/devices/company.js --device cuda --seconds 40
 *     node dist/test/devices/company.js --kind products --first 20290000 --seconds 40
 */
import { parseArgs } from 'node:util';
import { companyOf, differencesIn, type KindName, kernelsWithoutOrder } from '../support/random-company.js';
import { describeDevice } from './device-name.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    kind: { type: 'string' },
    first: { type: 'string', default: '20290000' },
    seconds: { type: 'string', default: '40' },
    shown: { type: 'string', default: '12' },
  },
});
const { device } = values;
const kinds = values.kind === undefined ? ['ordinary', 'sums', 'products', 'loops', 'joins'] : [values.kind];
const first = Number(values.first);
const unordered: string[] = [];

console.log(
  `${describeDevice(device, false)}: programs from seed ${first}, results with other bits beside others`,
);
for (const kind of kinds as KindName[]) {
  const end = performance.now() + 1000 * Number(values.seconds);
  const [rounded, wrong]: [string[], string[]] = [[], []];
  let seed = first;
  for (; performance.now() < end; seed++) {
    const company = companyOf(seed, kind);
    for (const { text, isRounding } of await differencesIn(company, device))
      (isRounding ? rounded : wrong).push(`seed ${seed}: ${text}`);
    if (device === 'cpu')
      unordered.push(...kernelsWithoutOrder(company).map((kernel) => `seed ${seed}: ${kernel}`));
  }
  for (const text of wrong) console.log(`  beyond rounding, ${text}`);
  for (const text of rounded.slice(0, Number(values.shown))) console.log(`  by rounding, ${text}`);
  console.log(`${kind}: ${seed - first} programs, ${rounded.length} by rounding, ${wrong.length} beyond`);
  if (wrong.length > 0 || ((kind === 'sums' || kind === 'joins') && rounded.length > 0)) process.exitCode = 1;
}
for (const kernel of unordered) console.log(`  without blocks in the order of its sums, ${kernel}`);
if (unordered.length > 0) process.exitCode = 1;
