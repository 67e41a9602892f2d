/**
 * Prints the errors of products of each precision against float64, for k from 16 and over scales.
 *
 *     node dist/test/devices/precision.js --device cuda --most 65536 --side 2048 [--no-scales]
 *     node dist/test/devices/precision.js --simulated --most 1024
 */
import { parseArgs } from 'node:util';
import { describeDevice } from './device-name.js';
import { PRECISIONS, precisionErrors, type Scale } from './precision-errors.js';

const SCALES: readonly Scale[] = [2 ** -40, 1, 2 ** 50, 'mixed'];

const { values } = parseArgs({
  allowNegative: true,
  options: {
    device: { type: 'string', default: 'cuda' },
    simulated: { type: 'boolean', default: false },
    most: { type: 'string', default: '65536' },
    side: { type: 'string', default: '2048' },
    scales: { type: 'boolean', default: true },
  },
});
if (values.simulated) {
  const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
  Object.assign(process.env, SIM_ENVIRONMENT);
}
const side = Number(values.side);
console.log(
  `${describeDevice(values.device, values.simulated)}: largest |error| / Σ |a||b| of (${side}, k) · (k, ${side})`,
);
console.log(`${'k'.padStart(7)} ${'scale'.padStart(10)}  ${PRECISIONS.map((p) => p.padStart(10)).join(' ')}`);
for (let k = 16; k <= Number(values.most); k *= 4) {
  for (const scale of values.scales ? SCALES : [1]) {
    const { errors } = await precisionErrors(values.device, [side, side], k, scale);
    const row = PRECISIONS.map((p) => errors[p].toExponential(2).padStart(10)).join(' ');
    const name = typeof scale === 'string' ? scale : scale.toExponential(1);
    console.log(`${String(k).padStart(7)} ${name.padStart(10)}  ${row}`);
  }
}
