/**
 * The loop of a reduction whose elements are the same for every row but for row-level values, as in a sum
 * over pairs of points: a block computes what does not depend on the row once per element, puts it into
 * shared memory a tile at a time, and every thread combines it with its own rows in registers: where
 * arithmetic is the limit, with fast paths (`fast-paths.ts`). Called by `reduce-kernel.ts`.
 */
import { affinesIn } from '../../../fusion/kernel/algebra.js';
import { opOf } from '../../../fusion/kernel/arithmetic.js';
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { opRow } from '../../../graph/ops.js';
import type { Scope } from '../body.js';
import { fromStorage, STORAGE_TYPE, toStorage } from '../casts.js';
import { callsOf, type NearOps, ordinaryOf, printRecords, termsOf } from '../fast-paths.js';
import { printCoordinates } from '../index-math.js';
import { powerOfTwoFrom, powerOfTwoTo } from '../powers.js';
import type { ReduceContext } from './reduce-context.js';

/**
 * Elements that a thread combines with its rows before a loop goes on; fewer where that would be much code,
 * by the ops' costs.
 */
const MOST_UNROLLED = 4;
const UNROLLED_COST = 512;
/** The cost of a fast path, as a part of the op's. */
const FAST_SHARE = 0.5;
/** Elements after which a warp looks whether fast paths held. */
const STRETCH = 32;

/** Values that move together as one pack of up to 16 bytes. */
interface Pack {
  readonly name: string;
  readonly dtype: DType;
  readonly width: number;
  readonly positions: readonly number[];
}

export function printStaged(c: ReduceContext): void {
  const { out, body, params } = c;
  const { common, own, loads } = c.parts;
  const tile = c.schedule.threadsP;
  const inBlock = [...loads, ...common].sort((a, b) => a - b);
  const staged = new Set(inBlock);
  const handed = new Set(
    [...own, ...c.accumulators.map(({ position }) => position)]
      .flatMap((p) => c.argumentsOf(p))
      .filter((p) => staged.has(p)),
  );
  const packs = packsOf(c, [...handed]);
  const { index } = params;
  const packOf = ({ dtype, width }: Pack): string => `weft_pack<${STORAGE_TYPE[dtype]}, ${width}>`;
  for (const pack of packs) out.line(`__shared__ ${packOf(pack)} ${pack.name}[${tile}];`);
  if (c.near.size > 0) out.line('bool ordinary = true;');
  out.block(`for (${index} base = begin; base < end; base += ${tile})`, () => {
    out.line('__syncthreads();');
    out.line(`const ${index} r = base + (${index})threadIdx.x;`);
    out.block('if (r < end)', () => {
      const reduced = printCoordinates(out, params, 'r', body.kernel.reduced, 'z');
      const scope: Scope = {
        coordinates: [...body.kernel.parallel.map(() => '0'), ...reduced],
        known: new Map(),
      };
      body.print(out, inBlock, scope, params);
      for (const { name, positions, dtype } of packs) {
        for (const [k, position] of positions.entries()) {
          out.line(
            `${name}[threadIdx.x].v[${k}] = ${toStorage(dtype, body.value(position, scope, params))};`,
          );
        }
      }
    });
    out.line('__syncthreads();');
    out.line(`const int count = end - base < ${tile} ? (int)(end - base) : ${tile};`);
    const pairs = (from: string, to: string, near?: NearOps): void => {
      out.line(`#pragma unroll ${unrollOf(c, near)}`);
      out.block(`for (int j = ${from}; j < ${to}; ++j)`, () => printPairs(c, packs, packOf, near));
    };
    if (c.near.size > 0) printStretches(c, pairs);
    else pairs('0', 'count');
  });
}

function unrollOf({ body, parts, schedule }: ReduceContext, near?: NearOps): number {
  const cost = parts.own.reduce((sum, position) => {
    const op = opOf(body.instruction(position));
    return sum + (op === undefined ? 1 : opRow(op).cost * (near?.has(position) ? FAST_SHARE : 1));
  }, 1);
  return Math.max(1, Math.min(MOST_UNROLLED, powerOfTwoTo(UNROLLED_COST / schedule.itemsP / cost)));
}

/**
 * The elements of a tile in stretches: with fast paths until a warp meets an argument that is not ordinary.
 * That stretch it does again, and from there all others, with the ops themselves.
 */
function printStretches(c: ReduceContext, pairs: (from: string, to: string, near?: NearOps) => void): void {
  const { out, accumulators } = c;
  const { itemsP } = c.schedule;
  const copy = (to: string, from: string): void =>
    out.unrolled('g', itemsP, () => {
      for (const { name } of accumulators) out.line(`${to}${name}[g] = ${from}${name}[g];`);
    });
  out.line('#pragma unroll 1');
  out.block(`for (int first = 0; first < count; first += ${STRETCH})`, () => {
    out.line(`const int last = first + ${STRETCH} < count ? first + ${STRETCH} : count;`);
    out.block('if (ordinary)', () => {
      for (const { name, monoid } of accumulators) out.line(`${monoid.type} kept_${name}[${itemsP}];`);
      copy('kept_', '');
      printRecords(out, c.near);
      pairs('first', 'last', c.near);
      out.line(`ordinary = __all_sync(0xffffffffu, ${ordinaryOf(c.near)});`);
      out.line('if (ordinary) continue;');
      copy('', 'kept_');
    });
    pairs('first', 'last');
  });
}

/** One element with every row of the thread. */
function printPairs(
  c: ReduceContext,
  packs: readonly Pack[],
  packOf: (pack: Pack) => string,
  near?: NearOps,
): void {
  const { out } = c;
  const known = new Map(c.parts.rowValues.map((position) => [position, `h${position}[g][0]`]));
  for (const pack of packs) {
    out.line(`const ${packOf(pack)} t_${pack.name} = ${pack.name}[j];`);
    for (const [k, position] of pack.positions.entries()) {
      known.set(position, fromStorage(pack.dtype, `t_${pack.name}.v[${k}]`));
    }
  }
  const { kernel } = c.body;
  const placed = c.parts.own.some((position) => affinesIn(c.body.instruction(position)).length > 0);
  if (placed) out.line(`const ${c.params.index} s = base + j;`);
  const reduced = placed
    ? printCoordinates(out, c.params, 's', kernel.reduced, 'z')
    : kernel.reduced.map(() => '0');
  const scope: Scope = {
    coordinates: c.coordinates(reduced),
    known,
    instead: near ? callsOf(near) : termsOf(c.near),
  };
  out.unrolled('g', c.schedule.itemsP, () => {
    c.body.print(out, c.parts.own, scope, c.params);
    c.push(scope, 'g');
  });
}

function packsOf(c: ReduceContext, positions: readonly number[]): Pack[] {
  const byDType = new Map<DType, number[]>();
  for (const position of positions) {
    const { dtype } = c.body.instruction(position);
    byDType.set(dtype, [...(byDType.get(dtype) ?? []), position]);
  }
  const packs: Pack[] = [];
  for (const [dtype, all] of byDType) {
    const most = 16 / byteLengthOf(dtype);
    for (let first = 0; first < all.length; first += most) {
      const part = all.slice(first, first + most);
      packs.push({ name: `s${packs.length}`, dtype, width: powerOfTwoFrom(part.length), positions: part });
    }
  }
  return packs;
}
