/**
 * Prints a map with the tables that it takes from in shared memory: every block loads them, and then goes through the
 * elements by turns with the others. Called by `cuda.ts`.
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
  const { width, threads, blocks, held } = schedule;
  const tables = tablesOf(kernel);
  const reads = new Map<number, HeldRead>();
  for (const [k, table] of tables.entries())
    for (const { position, from } of table.loads) reads.set(position, readOf(table, k, held[k]!, from));
  const body = new Body(kernel, reads);
  // Elements that are loaded ahead run past the end by twice what the blocks compute at a time.
  const past = product(kernel.parallel) + 2 * MOST_BLOCKS * threads * width;
  const params = new Parameters(kernel, indexWidthOf(kernel, past));
  const out = new Writer();
  const places = tablePlaces(tables, held);
  out.line('extern __shared__ weft_pack<unsigned int, 4> weft_tables[];');
  for (const [k, table] of tables.entries())
    if (held[k]! > 0) printLoad(out, params, table, { k, held: held[k]!, place: places[k]!, threads });
  out.line('__syncthreads();');
  printElements(out, body, params, { width, unroll: 1, threads, blocks, byTurns: true });
  return printFunction(name, out, params, { ...tableLaunch(schedule), sharedByteLength: places.at(-1)! });
}

/** An entry from shared memory where it is held. Signed indices take an instruction each to be extended to 64 bits. */
const readOf =
  ({ size }: Table, k: number, held: number, from: number): HeldRead =>
  (index, memory, params) => {
    if (held <= from) return memory;
    const entry = `t${k}[(unsigned int)${index}${from === 0 ? '' : ` + ${params.size(from)}`}]`;
    return held === size ? entry : `(${index} < ${params.size(held - from)} ? ${entry} : ${memory})`;
  };

/** Brings the first entries of a table into shared memory, in packs where they lie in a row and at a multiple of packs. */
function printLoad(
  out: Writer,
  params: Parameters,
  { buffer, offset, stride, dtype }: Table,
  { k, held, place, threads }: { k: number; held: number; place: number; threads: number },
): void {
  const { index } = params;
  const type = STORAGE_TYPE[dtype];
  const perPack = PACK_BYTES / byteLengthOf(dtype);
  const inPacks = stride === 1 && perPack > 1 && offset % perPack === 0 ? Math.floor(held / perPack) : 0;
  const from = `${params.buffer(buffer)}${offset === 0 ? '' : ` + ${params.size(offset)}`}`;
  const start = place === 0 ? 'weft_tables' : `(weft_tables + ${params.size(place / PACK_BYTES)})`;
  out.line(`${type}* const t${k} = reinterpret_cast<${type}*>(${start});`);
  const each = (from: string, end: string, line: string): void => {
    out.line(`#pragma unroll ${PACKS_IN_FLIGHT}`);
    out.block(`for (${index} i = ${from}; i < ${end}; i += ${threads})`, () => out.line(line));
  };
  const own = `(${index})threadIdx.x`;
  if (inPacks > 0) {
    const pack = `weft_pack<${type}, ${perPack}>`;
    const packs = `reinterpret_cast<const ${pack}*>(${from})`;
    each(own, params.size(inPacks), `reinterpret_cast<${pack}*>(t${k})[i] = ${packs}[i];`);
  }
  if (inPacks * perPack === held) return;
  const first = inPacks === 0 ? own : `${params.size(inPacks * perPack)} + ${own}`;
  const at = stride === 1 ? 'i' : `i * ${params.size(stride)}`;
  each(first, params.size(held), `t${k}[i] = (${from})[${at}];`);
}
