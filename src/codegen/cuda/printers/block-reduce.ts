/**
 * Combines the accumulators of the threads of a block that share a row (or column): butterflies inside warps, then one exchange through shared memory. The order is fixed by
 * the mapping alone.
 */

import { coordinateOf } from '../../../fusion/kernel/algebra.js';
import { castValueOf, opOf, type Reduction, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { isComplex } from '../../../graph/dtype.js';
import { opRow } from '../../../graph/ops.js';
import { isExactReduction } from '../../../graph/reductions.js';
import { InternalError } from '../../../host/errors.js';
import type { Body } from '../body.js';
import { COUNTS, type Monoid, monoidOf } from '../monoids.js';
import { isInTurn } from '../schedules/in-turn.js';
import { userMonoid } from '../user-monoids.js';
import type { Writer } from '../writer.js';

/** A reduction of the tape with its accumulators, the register array `a<position>[items]`. */
export interface Accumulator {
  readonly position: number;
  /** The instructions that give its results, by part. */
  readonly results: readonly { readonly position: number; readonly part: number }[];
  readonly monoid: Monoid;
  readonly name: string;
  /** Whether elements join it one after the other (`schedules/in-turn.ts`). */
  readonly isInTurn: boolean;
  /** Of a sum of products that joins them by multiply-adds: the product and its factors, by position. */
  readonly product: { readonly position: number; readonly factors: readonly [number, number] } | undefined;
}

/** Threads of a block: neighbouring ones lie along the reduced axis (rows) or the parallel one (columns). */
export interface ThreadMapping {
  readonly mapping: 'rows' | 'columns';
  readonly threadsP: number;
  readonly threadsR: number;
}

const WARP = 32;

export function accumulatorsOf(body: Body, phase?: number): Accumulator[] {
  const { kernel, levels } = body;
  const all = reductionsOf(kernel).filter(
    ({ position }) => phase === undefined || levels.phase[position] === phase,
  );
  return all
    .filter(({ position, leader }) => position === leader)
    .map((reduction) => ({
      position: reduction.position,
      results: all
        .filter(({ leader }) => leader === reduction.position)
        .map(({ position, monoid }) => ({ position, part: monoid?.part ?? 0 })),
      monoid: monoidFor(body, reduction),
      name: `a${reduction.position}`,
      isInTurn: isInTurn(kernel, reduction.name) && !isAnyOrder(reduction),
      product: productOf(kernel, reduction),
    }));
}

function productOf({ tape }: Kernel, { args: [position] }: Reduction): Accumulator['product'] {
  const term = tape[position!]!;
  if (opOf(term) !== 'termProduct') return undefined;
  return { position: position!, factors: argumentsOf(term) as unknown as readonly [number, number] };
}

/** An accumulator with one more element, given the expressions of values. */
export function pushed(
  { position, monoid, product: own }: Accumulator,
  body: Body,
  accumulator: string,
  expression: (position: number) => string,
): string {
  if (own === undefined)
    return monoid.push(accumulator, argumentsOf(body.instruction(position)).map(expression));
  const [x, y] = own.factors.map(expression);
  return opRow('multiplyAdd').cuda([x!, y!, accumulator], body.instruction(position).dtype);
}

/** Whether the elements of a row lie in threads that meet in turn. */
export const meetsInTurn = (
  { isInTurn: own }: Accumulator,
  { mapping, threadsR }: Pick<ThreadMapping, 'mapping' | 'threadsR'>,
): boolean => own && mapping === 'rows' && threadsR > 1;

/** The value whose squares a sum joins by multiply-adds. */
export const squaredOf = ({ product: own }: Accumulator): number | undefined =>
  own !== undefined && own.factors[0] === own.factors[1] ? own.factors[0] : undefined;

/** Whether the order does not matter to a reduction's bits. Of doubles the comparisons of printed code take either of two zeros. */
const isAnyOrder = ({ name, taken }: Reduction): boolean =>
  isExactReduction(name, taken) && taken !== 'float64' && !isComplex(taken);

function monoidFor(body: Body, { name, monoid, args, taken }: Reduction): Monoid {
  if (monoid !== undefined) return userMonoid(monoid.of);
  if (name === 'monoid') throw new InternalError('a reduction without its monoid');
  const cast = castValueOf(body.instruction(args[0]!));
  const isCount = name === 'sum' && cast !== undefined && body.instruction(cast).dtype === 'bool';
  if (isCount && taken === 'int64' && product(body.kernel.reduced) < MOST_COUNTED) return COUNTS;
  return monoidOf(name, taken, isWide(body, args[1]));
}

/** Elements that a count in 32 bits is below. */
const MOST_COUNTED = 2 ** 31;

/** The results of reductions as expressions, by position; `item`: an index of the register arrays. */
export const resultsAt = (accumulators: readonly Accumulator[], item: string): Map<number, string> =>
  new Map(
    accumulators.flatMap(({ results, monoid, name }) =>
      results.map(({ position, part }) => [position, monoid.finish(`${name}[${item}]`, part)] as const),
    ),
  );

/** Whether an index value may need 64 bits. */
function isWide(body: Body, position: number | undefined): boolean {
  if (position === undefined) return false;
  const affine = coordinateOf(body.instruction(position));
  if (affine === undefined) throw new InternalError(`%${position} is no index`);
  const reach = affine.strides.reduce(
    (sum, s, k) => sum + Math.abs(s) * (body.sizes[k]! - 1),
    Math.abs(affine.offset),
  );
  return reach >= 2 ** 31 - 1;
}

/** Declares `tp` and `tr`, a thread's place along either axis. */
export function printThreadPlace(out: Writer, { mapping, threadsP, threadsR }: ThreadMapping): void {
  const fast = mapping === 'rows' ? threadsR : threadsP;
  const inner = mapping === 'rows' ? 'tr' : 'tp';
  const outer = mapping === 'rows' ? 'tp' : 'tr';
  const slow = mapping === 'rows' ? threadsP : threadsR;
  out.line(
    `const int ${inner} = ${fast === 1 ? '0' : slow === 1 ? '(int)threadIdx.x' : `(int)threadIdx.x % ${fast}`};`,
  );
  out.line(
    `const int ${outer} = ${slow === 1 ? '0' : fast === 1 ? '(int)threadIdx.x' : `(int)threadIdx.x / ${fast}`};`,
  );
}

/**
 * Combines `a<position>[0 … items - 1]` of every accumulator over `tr`. The threads with `tr` 0 hold the result; in
 * the others the last bit of one may differ, whose combination depends on which comes first.
 */
export function printAcross(
  out: Writer,
  place: ThreadMapping,
  accumulators: readonly Accumulator[],
  items: number,
): void {
  if (place.threadsR === 1) return;
  const plan = acrossPlan(place);
  const ordered = isInOrder(accumulators);
  // In order, the lanes of a row have met in each step (`reduce-ordered.ts`).
  if (!ordered || place.mapping === 'columns')
    for (const accumulator of accumulators)
      printButterfly(out, accumulator, items, plan.first, plan.last, ordered);
  if (plan.groups === 1) return;
  const columns = plan.columns;
  for (const { name, monoid } of accumulators) {
    out.line(`__shared__ ${monoid.type} s_${name}[${items * plan.groups * columns}];`);
  }
  out.block(plan.writes === '' ? '' : `if (${plan.writes})`, () => {
    for (const { name } of accumulators) {
      out.unrolled('q', items, () =>
        out.line(
          `s_${name}[(q * ${plan.groups} + ${plan.group}) * ${columns} + ${plan.column}] = ${name}[q];`,
        ),
      );
    }
  });
  out.line('__syncthreads();');
  for (const accumulator of accumulators) {
    const { name, monoid } = accumulator;
    if (place.mapping === 'rows') {
      out.unrolled('q', items, () => {
        out.line(
          `${name}[q] = s_${name}[(q * ${plan.groups} + (int)threadIdx.x % ${plan.groups}) * ${columns} + ${plan.column}];`,
        );
      });
      printButterfly(out, accumulator, items, plan.groups / 2, 1, ordered);
    } else {
      out.unrolled('q', items, () => {
        out.line(`${name}[q] = s_${name}[q * ${plan.groups * columns} + ${plan.column}];`);
        out.unrolled('w', plan.groups - 1, () => {
          const other = `s_${name}[(q * ${plan.groups} + w + 1) * ${columns} + ${plan.column}]`;
          out.line(`${name}[q] = ${monoid.combine(`${name}[q]`, other)};`);
        });
      });
    }
  }
}

/** After `printAcross`: every thread has the bits that the one with `tr` 0 has. */
export function printToAll(
  out: Writer,
  place: ThreadMapping,
  accumulators: readonly Accumulator[],
  items: number,
): void {
  const { first, last, groups } = acrossPlan(place);
  // In columns, threads read what meets in shared memory in one order.
  if (place.threadsR === 1 || (groups > 1 && place.mapping === 'columns')) return;
  const [far, near] = groups > 1 ? [groups / 2, 1] : [first, last];
  for (const { name, monoid } of accumulators) {
    if (monoid.isDirected !== true) continue;
    const offset = `(int)threadIdx.x & ${2 * far - near}`;
    out.unrolled('q', items, () => out.line(`${name}[q] = weft_exchange(${name}[q], ${offset});`));
  }
}

interface AcrossPlan {
  /** First and last lane distance of the butterfly; none where first is below last. */
  readonly first: number;
  readonly last: number;
  /** Partial results per item that meet in shared memory. */
  readonly groups: number;
  /** Columns side by side in shared memory. */
  readonly columns: number;
  readonly group: string;
  readonly column: string;
  /** Which threads write. */
  readonly writes: string;
}

function acrossPlan({ mapping, threadsP, threadsR }: ThreadMapping): AcrossPlan {
  if (mapping === 'rows') {
    return {
      first: Math.min(threadsR, WARP) / 2,
      last: 1,
      groups: Math.max(1, threadsR / WARP),
      columns: threadsP,
      group: `tr / ${WARP}`,
      column: 'tp',
      writes: `tr % ${WARP} == 0`,
    };
  }
  if (threadsP >= WARP) {
    return { first: 0, last: 1, groups: threadsR, columns: threadsP, group: 'tr', column: 'tp', writes: '' };
  }
  const inWarp = WARP / threadsP;
  return {
    first: Math.min(threadsR, inWarp) * threadsP * 0.5,
    last: threadsP,
    groups: Math.max(1, threadsR / inWarp),
    columns: threadsP,
    group: `(int)threadIdx.x / ${WARP}`,
    column: 'tp',
    writes: `(int)threadIdx.x % ${WARP} < ${threadsP}`,
  };
}

/** Whether elements keep their order: of all reductions of a kernel where one needs it. */
export const isInOrder = (accumulators: readonly Accumulator[]): boolean =>
  accumulators.some(({ monoid }) => monoid.isOrdered === true);

/** Lanes from `last` to `first` apart meet; in order, the nearest first, so that those that have met are neighbours. */
export function printButterfly(
  out: Writer,
  { name, monoid }: Accumulator,
  items: number,
  first: number,
  last: number,
  ordered: boolean,
): void {
  if (first < last) return;
  out.unrolled('q', items, () => {
    out.line('#pragma unroll');
    if (ordered) {
      out.block(`for (int lane = ${last}; lane <= ${first}; lane <<= 1)`, () => {
        out.line(`const ${monoid.type} other = weft_exchange(${name}[q], lane);`);
        out.line('const bool isLater = ((int)threadIdx.x & lane) != 0;');
        const both = [`isLater ? other : ${name}[q]`, `isLater ? ${name}[q] : other`] as const;
        out.line(`${name}[q] = ${monoid.combine(...both)};`);
      });
      return;
    }
    out.block(`for (int lane = ${first}; lane >= ${last}; lane >>= 1)`, () => {
      out.line(`${name}[q] = ${monoid.combine(`${name}[q]`, `weft_exchange(${name}[q], lane)`)};`);
    });
  });
}
