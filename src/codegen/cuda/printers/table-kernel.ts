/**
 * Prints a map with the tables that it takes from in shared memory: every block loads them, or its half of them where it is
 * one of a pair, and then goes through the elements by turns with the others. Called by `cuda.ts`.
 */
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { Body, type HeldRead } from '../body.js';
import { STORAGE_TYPE } from '../casts.js';
import { type CudaFunction, printFunction } from '../function.js';
import { indexWidthOf } from '../index-math.js';
import type { LaunchShape } from '../launch.js';
import { Parameters } from '../parameters.js';
import {
  hasPairs,
  MOST_BLOCKS,
  PACK_BYTES,
  PACKS_IN_FLIGHT,
  type Table,
  type TableSchedule,
  tablePlaces,
  tablesOf,
} from '../schedules/schedule-table.js';
import { Writer } from '../writer.js';
import { printElements } from './map-kernel.js';

export const tableLaunch = ({ blocks, threads }: TableSchedule): LaunchShape => ({
  grid: [blocks, 1, 1],
  block: [threads, 1, 1],
});

export function printTable(kernel: Kernel, schedule: TableSchedule, name: string): CudaFunction {
  const { width, threads, blocks, held, halves } = schedule;
  const tables = tablesOf(kernel);
  const reads = new Map<number, HeldRead>();
  for (const [k, table] of tables.entries())
    for (const { position, from } of table.loads)
      reads.set(position, readOf(table, { k, held: held[k]!, half: halves[k]!, from }));
  const body = new Body(kernel, reads);
  // Elements that are loaded ahead run past the end by twice what the blocks compute at a time.
  const past = product(kernel.parallel) + 2 * MOST_BLOCKS * threads * width;
  const params = new Parameters(kernel, indexWidthOf(kernel, past));
  const out = new Writer();
  const places = tablePlaces(tables, schedule);
  const arePaired = hasPairs(schedule);
  out.line('extern __shared__ weft_pack<unsigned int, 4> weft_tables[];');
  for (const [k, table] of tables.entries())
    if (held[k]! + halves[k]! > 0)
      printLoad(out, params, table, { k, held: held[k]!, half: halves[k]!, place: places[k]!, threads });
  // A block of a pair reads what the other one has loaded, and ends when that has read all that it wants.
  out.line(arePaired ? 'weft_pair_barrier();' : '__syncthreads();');
  printElements(out, body, params, { width, unroll: 1, threads, blocks, byTurns: true });
  if (arePaired) out.line('weft_pair_barrier();');
  const launch = { ...tableLaunch(schedule), sharedByteLength: places.at(-1)! };
  return printFunction(name, out, params, launch, 0, arePaired ? 2 : 1);
}

/** An entry from shared memory where it is held. Signed indices take an instruction each to be extended to 64 bits. */
const readOf =
  ({ size }: Table, at: { k: number; held: number; half: number; from: number }): HeldRead =>
  (index, memory, params) => {
    const { k, held, half, from } = at;
    const end = held + 2 * half;
    if (end <= from) return memory;
    const entry = `(unsigned int)${index}${from === 0 ? '' : ` + ${params.size(from)}`}`;
    const below = (count: number, inside: string, other: string): string =>
      `(${index} < ${params.size(count - from)} ? ${inside} : ${other})`;
    const ofPair =
      half === 0
        ? memory
        : `weft_of_pair(t${k}, ${entry}, ${params.size(held + half)}, ${params.size(half)})`;
    const behind = half === 0 || end >= size ? ofPair : below(end, ofPair, memory);
    if (held <= from) return behind;
    return held === size ? `t${k}[${entry}]` : below(held, `t${k}[${entry}]`, behind);
  };

/** Brings the first entries of a table into shared memory, and behind them the half that the block has as one of a pair. */
function printLoad(
  out: Writer,
  params: Parameters,
  { buffer, offset, stride, dtype }: Table,
  at: { k: number; held: number; half: number; place: number; threads: number },
): void {
  const { k, held, half, place, threads } = at;
  const type = STORAGE_TYPE[dtype];
  const start = place === 0 ? 'weft_tables' : `(weft_tables + ${params.size(place / PACK_BYTES)})`;
  const from = `${params.buffer(buffer)}${offset === 0 ? '' : ` + ${params.size(offset)}`}`;
  out.line(`${type}* const t${k} = reinterpret_cast<${type}*>(${start});`);
  const perPack = PACK_BYTES / byteLengthOf(dtype);
  const areRows = stride === 1 && perPack > 1 && offset % perPack === 0;
  const entries = { stride, type, perPack, threads };
  const packs = areRows ? Math.floor(held / perPack) : 0;
  if (held > 0) printCopy(out, params, { ...entries, to: `t${k}`, from, count: held, packs });
  if (half === 0) return;
  const isAligned = areRows && held % perPack === 0 && half % perPack === 0;
  const first = `(${params.size(held)} + (${params.index})weft_pair_rank() * ${params.size(half)})`;
  const by = stride === 1 ? first : `${first} * ${params.size(stride)}`;
  out.line(`const ${type}* const h${k} = ${from} + ${by};`);
  const to = held === 0 ? `t${k}` : `(t${k} + ${params.size(held)})`;
  printCopy(out, params, {
    ...entries,
    to,
    from: `h${k}`,
    count: half,
    packs: isAligned ? half / perPack : 0,
  });
}

interface Copy {
  readonly to: string;
  readonly from: string;
  readonly count: number;
  /** How many packs of entries are moved first. */
  readonly packs: number;
  readonly perPack: number;
  readonly stride: number;
  readonly type: string;
  readonly threads: number;
}

/** Copies entries into shared memory, packs first. */
function printCopy(out: Writer, params: Parameters, copy: Copy): void {
  const { to, from, count, packs, perPack, stride, type, threads } = copy;
  const { index } = params;
  const each = (first: string, end: string, line: string): void => {
    out.line(`#pragma unroll ${PACKS_IN_FLIGHT}`);
    out.block(`for (${index} i = ${first}; i < ${end}; i += ${threads})`, () => out.line(line));
  };
  const own = `(${index})threadIdx.x`;
  if (packs > 0) {
    const pack = `weft_pack<${type}, ${perPack}>`;
    const source = `reinterpret_cast<const ${pack}*>(${from})`;
    each(own, params.size(packs), `reinterpret_cast<${pack}*>(${to})[i] = ${source}[i];`);
  }
  if (packs * perPack === count) return;
  const first = packs === 0 ? own : `${params.size(packs * perPack)} + ${own}`;
  const place = stride === 1 ? 'i' : `i * ${params.size(stride)}`;
  each(first, params.size(count), `${to}[i] = (${from})[${place}];`);
}
