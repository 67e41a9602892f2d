/**
 * The blockings of the CPU's tapes that give the same bits, timed: how much of the time of the planner's choice the
 * fastest takes, for kernels of `cost-corpus.ts`. With one thread (`WEFT_THREADS=1`) in time of its processor, the least
 * of several turns of all blockings.
 *
 * usage: node dist/bench/blockings.js [--only transpose,argmax] [--held-out 100] [--seed 1] [--most 22] [--turns 4]
 *        --most: the largest kernels have 2^most elements; held out: kernels that no rate was fitted to
 */
import { parseArgs } from 'node:util';
import { planTape, tapeBy, walksOf } from '../src/codegen/cpu/tape.js';
import { printWalk } from '../src/codegen/cpu/tape-plan.js';
import { timeTape } from '../src/exec/native/native.js';
import { deviceNamed } from '../src/exec/targets/device.js';
import type { Kernel } from '../src/fusion/kernel/kernel.js';
import { type CostCase, fittedCases, heldOutCases } from './cost-corpus.js';
import { labelOf, stepOf } from './cost-predictions.js';
import { toPrecision } from './statistics.js';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    'held-out': { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    most: { type: 'string', default: '22' },
    turns: { type: 'string', default: '4' },
  },
});
const TURN_MS = 4;

interface Timed {
  readonly text: string;
  seconds: number;
}
interface Compared {
  readonly one: CostCase;
  readonly chosen: Timed;
  readonly fastest: Timed;
}

async function compare(one: CostCase, kernel: Kernel): Promise<Compared> {
  const ways = walksOf(kernel).map(({ blocking, triangle }) => ({
    text: printWalk({ blocking, triangle }),
    tape: tapeBy(kernel, blocking, triangle),
    seconds: Number.POSITIVE_INFINITY,
  }));
  for (let turn = 0; turn < Number(options.turns); turn++)
    for (const way of ways) {
      const seconds = await timeTape(way.tape, TURN_MS);
      way.seconds = Math.min(way.seconds, seconds);
    }
  const own = printWalk(planTape(kernel));
  const chosen = ways.find(({ text }) => text === own)!;
  const fastest = ways.reduce((a, b) => (b.seconds < a.seconds ? b : a));
  return { one, chosen, fastest };
}

const most = Number(options.most);
const wanted = Number(options['held-out']);
const cases = wanted > 0 ? heldOutCases(wanted, Number(options.seed), most) : fittedCases(most);
const found: Compared[] = [];
for (const one of cases) {
  if (options.only !== '' && !options.only.split(',').includes(one.family)) continue;
  const step = stepOf(one, deviceNamed('cpu'));
  if (step !== undefined && walksOf(step.kernel).length > 1) found.push(await compare(one, step.kernel));
}

const shareOf = ({ chosen, fastest }: Compared): number => fastest.seconds / chosen.seconds;
function line(label: string, list: readonly Compared[]): string {
  const shares = list.map(shareOf);
  const mean = Math.exp(shares.reduce((sum, share) => sum + Math.log(share), 0) / shares.length);
  const numbers = [mean, Math.min(...shares)].map((share) => share.toFixed(3).padStart(9));
  return `${label.padEnd(24)}${String(list.length).padStart(5)}${numbers.join('')}`;
}

console.log(`${'family'.padEnd(24)}kernels   mean    worst   (time of the fastest in that of the choice)`);
for (const family of new Set(found.map(({ one }) => one.family)))
  console.log(
    line(
      family,
      found.filter(({ one }) => one.family === family),
    ),
  );
console.log(line('all', found));
for (const each of [...found].sort((a, b) => shareOf(a) - shareOf(b)).slice(0, 10))
  console.log(
    `${labelOf(each.one)}: ${toPrecision(each.chosen.seconds * 1e6, 3)} µs by ${each.chosen.text}, ` +
      `${toPrecision(each.fastest.seconds * 1e6, 3)} by ${each.fastest.text}`,
  );
