/**
 * The loops of a reduction whose elements keep their order, since a user's monoid need not commute. A thread has
 * neighbouring elements, and threads meet as neighbours:
 *
 *     rows       a warp walks a share of the slot; in each step a lane has a few chunks side by side, lanes meet,
 *                and the result joins that of the steps before
 *     columns    a thread walks a share of the slot by itself
 *
 * Shares of warps and threads meet at the end, in order (`printAcross`). Called by `reduce-kernel.ts`.
 */
import { printButterfly } from './block-reduce.js';
import type { ReduceContext } from './reduce-context.js';
import { printSingle, printStep } from './reduce-step.js';

const WARP = 32;

export function printInOrder(c: ReduceContext): void {
  if (c.schedule.mapping === 'rows') printRows(c);
  else printColumns(c);
}

function printRows(c: ReduceContext): void {
  const { out, params } = c;
  const { index } = params;
  const { threadsR, width, unrollR, slotLength, itemsP } = c.schedule;
  const lanes = Math.min(threadsR, WARP);
  const own = width * unrollR;
  const step = lanes * own;
  const share = step * Math.ceil((slotLength * lanes) / threadsR / step);
  printShare(c, `tr / ${lanes}`, share);
  for (const { name, monoid } of c.accumulators) {
    out.line(`${monoid.type} whole_${name}[${itemsP}];`);
    out.unrolled('g', itemsP, () => out.line(`whole_${name}[g] = ${monoid.identity};`));
  }
  out.block(`for (${index} first = from; first < until; first += ${step})`, () => {
    for (const { name, monoid } of c.accumulators)
      out.unrolled('g', itemsP, () => out.line(`${name}[g] = ${monoid.identity};`));
    out.line(`const ${index} at = first + (${index})(tr % ${lanes}) * ${own};`);
    out.block(`if (at + ${own} <= until)`, () => {
      out.line(`const ${index} r = at;`);
      printStep(c, false, width);
    });
    out.block('else', () => {
      out.block(`for (${index} r = at; r < until; ++r)`, () => printSingle(c));
    });
    for (const accumulator of c.accumulators) {
      printButterfly(out, accumulator, itemsP, lanes / 2, 1, true);
      const { name, monoid } = accumulator;
      out.unrolled('g', itemsP, () =>
        out.line(`whole_${name}[g] = ${monoid.combine(`whole_${name}[g]`, `${name}[g]`)};`),
      );
    }
  });
  for (const { name } of c.accumulators)
    out.unrolled('g', itemsP, () => out.line(`${name}[g] = whole_${name}[g];`));
}

function printColumns(c: ReduceContext): void {
  const { out, params } = c;
  const { index } = params;
  const { threadsR, unrollR, slotLength } = c.schedule;
  printShare(c, 'tr', unrollR * Math.ceil(slotLength / threadsR / unrollR));
  out.block('', () => {
    // Steps that are cut off end with the share.
    out.line(`const ${index} end = until;`);
    out.block(`for (${index} r = from; r < end; r += ${unrollR})`, () => printStep(c, true, 1));
  });
}

/** Declares the share of a slot, by its number: from, until. */
function printShare({ out, params }: ReduceContext, number: string, share: number): void {
  const { index } = params;
  const length = params.size(share);
  out.line(`const ${index} from = begin + (${index})(${number}) * ${length};`);
  out.line(`const ${index} until = from + ${length} < end ? from + ${length} : end;`);
}
