/**
 * CUDA C of scans that need nothing of one another: short rows, a warp each; tiles of a line, a block each;
 * tiles of columns, a lane for each column. Launches are made by `exec/calls/scan.ts`.
 *
 * A tile is read once: its total is combined first, then, from the value before the tile, its elements. That
 * value is an operand, is found by looking back (`scan-look-back.ts`), or there is none; or only the total is
 * wanted. No order depends on what else runs.
 */

import type { DType } from '../../../graph/dtype.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { scanTile } from '../../../graph/scan-tiles.js';
import { type ElementFunction, type FoldedResult, withPrelude } from './element-function.js';
import { type FoldFunction, printFoldBegin, printFoldElement, printFoldEnd } from './row-fold-function.js';
import { LOOK_BACK, LOOK_BACK_PARAMETERS, printLookBack, printLookBackShared } from './scan-look-back.js';
import { printNumbers, type ScanNumbers, wideBytes } from './scan-numbers.js';

export interface ScanForm extends ScanNumbers {
  readonly reverse: boolean;
  /** Gives the elements, in the place of an array. */
  readonly prologue?: ElementFunction | undefined;
  /** Takes the elements of the result. */
  readonly epilogue?: ElementFunction | undefined;
  /** How many neighbours an epilogue takes: those of a result, at distances that are parameters. */
  readonly neighbours?: number | undefined;
  /** Reduces the rows of the result, of short ones. */
  readonly fold?: FoldFunction | undefined;
}

/** Functions of elements, and the types and the arithmetic of numbers. */
const printParts = (form: ScanForm): string => {
  const all = [form.prologue, form.epilogue, form.fold?.element, form.fold?.result];
  const functions = all.filter((each) => each !== undefined);
  return `${withPrelude(functions)}${printNumbers(form)}`;
};

/** The element of the operand at a place. */
const elementAt = ({ prologue }: ScanForm, at: string): string =>
  prologue === undefined ? `in[${at}]` : `(weft_element)${prologue.call(at)}`;
/** Writes an element of the result, and combines those that are folds. */
function storeAt({ epilogue }: ScanForm, at: string, value: string): string {
  if (epilogue === undefined) return `out[${at}] = ${value}`;
  const taken = epilogue.call(at, value);
  return epilogue.type === 'void' ? taken : `out[${at}] = ${taken}`;
}

/** Folds an element of the result, or writes it. */
const takenAt = (form: ScanForm, at: string, value: string): string =>
  form.fold === undefined ? storeAt(form, at, value) : printFoldElement(form.fold, at, value);

/** The array that is read, the one that is written, and what the functions of elements need. */
const input = ({ prologue }: ScanForm): string => (prologue === undefined ? ', const weft_element* in' : '');
const output = ({ epilogue, fold }: ScanForm): string =>
  epilogue?.type === 'void' ? '' : `, ${epilogue?.type ?? fold?.result.type ?? 'weft_element'}* out`;
const further = ({ prologue, epilogue, fold, neighbours = 0 }: ScanForm): string =>
  [prologue, epilogue, fold?.element, fold?.result].map((each) => each?.parameters ?? '').join('') +
  (neighbours === 0
    ? ''
    : `, weft_element* ends, long long results${near(neighbours, (k) => `, int near${k}`)}`);

const near = (count: number, print: (k: number) => string): string =>
  Array.from({ length: count }, (_, k) => print(k)).join('');

/** The results whose neighbours a tile has, and its ends. */
function printNeighbours({ epilogue }: ScanForm, count: number, held: (at: string) => string): string {
  const given = Array.from({ length: count }, (_, k) => held(`(i + near${k} - near0)`));
  return `  const int width = near${count - 1} - near0;
  for (int i = (int)threadIdx.x; i < count - width; i += ${SCAN_THREADS}) {
    const long long j = base + i - near0;
    if (j >= 0 && j < results) out[j] = ${epilogue!.call('j', given.join(', '))};
  }
  for (int i = (int)threadIdx.x; i < width; i += ${SCAN_THREADS}) {
    if (at + 1 < tiles) ends[at * 2 * width + i] = ${held('(count - width + i)')};
    if (at > 0) ends[(at * 2 - 1) * width + i] = ${held('i')};
  }
`;
}

/** The results of an epilogue that are combined: those of a thread, of a warp's lanes, of a block's warps. */
const eachFold = (
  { epilogue }: ScanForm,
  print: (fold: FoldedResult, name: string, k: number) => string,
): string => (epilogue?.folds ?? []).map((fold, k) => print(fold, `fold${k}`, k)).join('');

const printFoldsBegin = (form: ScanForm): string =>
  eachFold(form, ({ type, identity }, name) => `  ${type} ${name} = ${identity};\n`);

const printLanesFolded = (form: ScanForm): string =>
  eachFold(form, ({ ofLanes }, name) => `  ${name} = ${ofLanes}(${name});\n`);

/** Of so many columns that each warp has. */
const printWarpsFolded = (form: ScanForm, columns: 1 | 32): string =>
  eachFold(form, ({ type, combine }, name, k) => {
    const own = columns === 1 ? `held${k}[warp]` : `held${k}[warp][lane]`;
    const of = (w: string): string => (columns === 1 ? `held${k}[${w}]` : `held${k}[${w}][lane]`);
    return `  __shared__ ${type} ${of(`${SCAN_WARPS}`).replace('lane', `${columns}`)};
  ${columns === 1 ? 'if (lane == 0) ' : ''}${own} = ${name};
  __syncthreads();
  #pragma unroll
  for (int w = 0; w < ${SCAN_WARPS}; ++w)
    if (w != warp) ${name} = ${combine(name, of('w'))};
`;
  });

const printFoldsWritten = (form: ScanForm, condition: string, at: string): string =>
  eachFold(form, ({ to }, name) => `  if (${condition}) ${to}[${at}] = ${name};\n`);

/** Where the value before a tile comes from; `totals`: only the tiles' totals are wanted. */
export type ScanSource = 'none' | 'operand' | 'lookBack' | 'totals';

export const SCAN_NAME = 'weft_scan';
export const SCAN_THREADS = 256;
export const SCAN_WARPS = SCAN_THREADS / 32;
/** Columns of a block. */
export const SCAN_COLUMNS = 32;
/** Elements of the longest rows that warps scan. */
export const WARP_ROW = 1024;
/** Elements of a block that scans lines of a length: a power of two, of a chunk of 16 bytes a thread or more. */
export function lineTile(dtype: DType, length: number): number {
  const least = (16 / byteLengthOf(dtype)) * SCAN_THREADS;
  return Math.min(scanTile(dtype, 1), Math.max(least, 2 ** Math.ceil(Math.log2(length))));
}
/** Elements that a lane has side by side. */
const ITEMS = 4;

/** An inclusive scan over a warp's lanes (Hillis and Steele, "Data parallel algorithms", 1986). */
const printWarpScan = (value: string): string => `  #pragma unroll
  for (unsigned int lanes = 1; lanes < 32; lanes *= 2) {
    const weft_wide lower = weft_up(${value}, lanes);
    if (lane >= lanes) ${value} = weft_combine(lower, ${value});
  }
`;

/**
 * Rows of at most `WARP_ROW` elements: a warp goes along each, four elements a lane and step, and may reduce what it gives. `inFours`: rows are
 * whole fours, so that the compiler sees that a lane's elements are one.
 */
export function printShortRows(form: ScanForm, inFours = false): string {
  const at = `line + ${form.reverse ? '(count - 1 - mine - e)' : 'mine + e'}`;
  return `${printParts(form)}
extern "C" __global__ void __launch_bounds__(${SCAN_THREADS})
${SCAN_NAME}(unsigned int first_x${input(form)}${output(form)}, long long rows, int count${further(form)}) {
  const long long row = ((long long)blockIdx.x + first_x) * ${SCAN_WARPS} + threadIdx.x / 32;
  if (row >= rows) return;
  const unsigned int lane = threadIdx.x % 32;
  const long long line = ${inFours ? '4 * (row * (count / 4))' : 'row * count'};
  weft_wide sum = weft_identity();
${form.fold === undefined ? printFoldsBegin(form) : printFoldBegin(form.fold)}  for (int step = 0; step < count; step += ${32 * ITEMS}) {
    const int mine = step + ${ITEMS} * (int)lane;
    weft_wide v[${ITEMS}];
${inFours ? printFour(form, at) : ''}    #pragma unroll
    for (int e = 0; e < ${ITEMS}; ++e) {
${
  inFours
    ? ''
    : `      v[e] = mine + e < count ? weft_widen(${elementAt(form, at)}) : weft_identity();
`
}      if (e > 0) v[e] = weft_combine(v[e - 1], v[e]);
    }
    weft_wide total = v[${ITEMS - 1}];
${printWarpScan('total')}    const weft_wide lower = weft_up(total, 1);
    const weft_wide ahead = lane == 0 ? sum : weft_combine(sum, lower);
    #pragma unroll
    for (int e = 0; e < ${ITEMS}; ++e)
      if (mine + e < count) ${takenAt(form, at, 'weft_round(weft_combine(ahead, v[e]))')};
    sum = weft_combine(sum, weft_of_lane(total, 31));
  }
${form.fold === undefined ? printLanesFolded(form) + printFoldsWritten(form, 'lane == 0', 'row') : printFoldEnd(form.fold, 'row')}}
`;
}

/** The elements of a lane, all of them within the row or none. */
const printFour = (form: ScanForm, at: string): string => `    if (mine < count) {
      #pragma unroll
      for (int e = 0; e < ${ITEMS}; ++e) v[e] = weft_widen(${elementAt(form, at)});
    } else {
      #pragma unroll
      for (int e = 0; e < ${ITEMS}; ++e) v[e] = weft_identity();
    }
`;

/** The parameters of a scan of tiles: `tiles` of each of the lines, which have `n` elements. */
const printHead = (form: ScanForm, source: ScanSource, more: string, blocks?: number): string => {
  const before = source === 'operand' ? ', const weft_wide* before' : '';
  const state = source === 'lookBack' ? `${LOOK_BACK_PARAMETERS}, ` : '';
  const out = source === 'totals' ? ', weft_wide* totals' : output(form);
  return `
extern "C" __global__ void __launch_bounds__(${SCAN_THREADS}${blocks === undefined ? '' : `, ${blocks}`})
${SCAN_NAME}(unsigned int first_x${input(form)}${before}${out}, ${state}long long lines, long long tiles, long long n${more}${further(form)}) {
`;
};

/**
 * The number of a block, by turns of which it has its tile: tiles that look back are counted as they begin, so that all
 * before one have begun. It has 32 bits, as have its quotients and remainders: a division of 64 takes a tenth of the time of
 * a tile, for its registers.
 */
const printBlock = (source: ScanSource, width: 1 | 32): string =>
  source === 'lookBack'
    ? `${printLookBackShared(width)}  const unsigned int block = weft_begin((unsigned int*)state, &begun);\n`
    : '  const unsigned int block = blockIdx.x + first_x;\n';

/** Gives `carry`, the value before a warp, by `before` and the totals of the tile's warps. */
const printCarry = (source: ScanSource, before: string, state: string): string => {
  const carry = `  #pragma unroll
  for (int w = 0; w < ${SCAN_WARPS - 1}; ++w)
    if (w < warp) ahead = weft_combine(ahead, SUMS(w));
`;
  const whole = `  for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, SUMS(w));\n`;
  const own = '  weft_wide ahead = weft_identity();\n';
  if (source === 'none') return `${own}${carry}  const weft_wide carry = ahead;\n`;
  if (source === 'operand')
    return `${own}${carry}  const weft_wide carry = weft_combine(${before}, ahead);\n`;
  return `  weft_wide whole = SUMS(0);
${whole}  const weft_wide prefix = weft_look_back(${state});
${own}${carry}  const weft_wide carry = weft_combine(prefix, ahead);\n`;
};

/**
 * Tiles of lines: a block holds one in shared memory, read and written in 16 bytes a thread where they lie
 * so. Each thread has neighbours of its own, in chunks that are exchanged within 128 bytes so that threads
 * find them in other banks. Lines that are shorter than a tile have tiles of `lineTile`. `inFours`: lines begin at
 * fours, as rows do in `printShortRows`.
 */
export function printLineTiles(form: ScanForm, source: ScanSource, tile: number, inFours = false): string {
  const perChunk = 16 / byteLengthOf(form.dtype);
  const chunks = tile / perChunk;
  const own = chunks / SCAN_THREADS;
  const at = form.reverse ? 'count - 1 - i' : 'i';
  // Whole tiles that begin with a chunk.
  const isWide = (array: string): string =>
    form.reverse ? 'false' : `((unsigned long long)(${array} + base) % 16 == 0 && count == ${tile})`;
  const copies = (statement: string): string => `    #pragma unroll
    for (int i = (int)threadIdx.x; i < ${chunks}; i += ${SCAN_THREADS}) ${statement};
`;
  const rest = source === 'totals' ? LINE_TOTAL : printLineRest(source, own, perChunk);
  // Six blocks of 32 KiB fit a multiprocessor of an H100: while one waits for its tiles, others go on. Registers are
  // enough for sums and products of float32 without maps.
  const isPlain = form.prologue === undefined && form.epilogue === undefined;
  const isSmall = form.dtype === 'float32' && wideBytes(form) === 8;
  const blocks = source === 'lookBack' && isSmall && isPlain ? 6 : undefined;
  const single = `    for (int i = (int)threadIdx.x; i < count; i += ${SCAN_THREADS})
      ${storeAt(form, `base + ${at}`, `held[weft_place(i / ${perChunk})].e[i % ${perChunk}]`)};
`;
  const folds = `${printLanesFolded(form)}${printWarpsFolded(form, 1)}${printFoldsWritten(form, 'threadIdx.x == 0', 'row * tiles + at')}`;
  const heldAt = (i: string): string => `held[weft_place(${i} / ${perChunk})].e[${i} % ${perChunk}]`;
  const back =
    form.neighbours !== undefined
      ? printNeighbours(form, form.neighbours, heldAt)
      : form.epilogue !== undefined
        ? `${printFoldsBegin(form)}${single}${folds}`
        : `  if (${isWide('out')}) {
    weft_chunk* to = (weft_chunk*)(out + base);
${copies('to[i] = held[weft_place(i)]')}  } else {
${single}  }
`;
  return `${printParts(form)}${source === 'lookBack' ? printLookBack(form, 1) : ''}
struct __align__(16) weft_chunk {
  weft_element e[${perChunk}];
};
__device__ __forceinline__ int weft_place(int chunk) { return chunk ^ (chunk / ${own} & ${own - 1}); }
#define SUMS(w) sums[w]
${printHead(form, source, '', blocks)}  __shared__ weft_chunk held[${chunks}];
  __shared__ weft_wide sums[${SCAN_WARPS}];
  const unsigned int lane = threadIdx.x % 32;
  const int warp = (int)threadIdx.x / 32;
${printBlock(source, 1)}  const long long row = block / (unsigned int)tiles;
  if (row >= lines) return;
  const long long turn = block % (unsigned int)tiles;
  const long long at = ${form.reverse && source === 'lookBack' ? 'tiles - 1 - turn' : 'turn'};
  const long long base = ${inFours ? '4 * (row * (n / 4))' : 'row * n'} + at * ${tile};
  const int count = (int)(n - at * ${tile} < ${tile} ? n - at * ${tile} : ${tile});
${printLineLoads(form, { wide: isWide('in'), copies, at, chunks, perChunk })}  __syncthreads();
  const int mine = ${own} * (int)threadIdx.x;
  weft_wide total = weft_identity();
  #pragma unroll
  for (int k = 0; k < ${own}; ++k) {
    const weft_chunk chunk = held[weft_place(mine + k)];
    #pragma unroll
    for (int e = 0; e < ${perChunk}; ++e) total = weft_combine(total, weft_widen(chunk.e[e]));
  }
${printWarpScan('total')}  if (lane == 31) sums[warp] = total;
  __syncthreads();
${rest}${source === 'totals' ? '' : back}}
`;
}

/** A tile from memory, or from its function, to shared memory. */
function printLineLoads(
  form: ScanForm,
  tile: {
    readonly wide: string;
    readonly copies: (statement: string) => string;
    readonly at: string;
    readonly chunks: number;
    readonly perChunk: number;
  },
): string {
  const { wide, copies, at, chunks, perChunk } = tile;
  const element = `i < count ? ${elementAt(form, `base + ${at}`)} : weft_round(weft_identity())`;
  const single = `    for (int i = (int)threadIdx.x; i < ${chunks * perChunk}; i += ${SCAN_THREADS})
      held[weft_place(i / ${perChunk})].e[i % ${perChunk}] = ${element};
`;
  if (form.prologue?.isExpensive === true)
    return `  for (int k = (int)threadIdx.x; k < ${chunks}; k += ${SCAN_THREADS}) {
    const int i0 = k * ${perChunk};
    if (i0 + ${perChunk} <= count) {
      #pragma unroll
      for (int e = 0; e < ${perChunk}; ++e) {
        const int i = i0 + e;
        held[weft_place(k)].e[e] = ${elementAt(form, `base + ${at}`)};
      }
    } else {
      #pragma unroll 1
      for (int i = i0; i < i0 + ${perChunk}; ++i) held[weft_place(k)].e[i - i0] = ${element};
    }
  }
`;
  if (form.prologue !== undefined) return single;
  return `  if (${wide}) {
    const weft_chunk* from = (const weft_chunk*)(in + base);
${copies('held[weft_place(i)] = from[i]')}  } else {
${single}  }
`;
}

const LINE_TOTAL = `  if (threadIdx.x > 0) return;
  weft_wide whole = SUMS(0);
  for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, SUMS(w));
  totals[row * tiles + at] = whole;
`;

/** From the value before a warp to the elements of its threads. */
const printLineRest = (source: ScanSource, own: number, perChunk: number): string =>
  `${printCarry(source, 'before[row * tiles + at]', `${LOOK_BACK}, whole, row, turn, tiles, 0, 1`)}  const weft_wide lower = weft_up(total, 1);
  weft_wide sum = lane == 0 ? carry : weft_combine(carry, lower);
  #pragma unroll
  for (int k = 0; k < ${own}; ++k) {
    weft_chunk chunk = held[weft_place(mine + k)];
    #pragma unroll
    for (int e = 0; e < ${perChunk}; ++e) {
      sum = weft_combine(sum, weft_widen(chunk.e[e]));
      chunk.e[e] = weft_round(sum);
    }
    held[weft_place(mine + k)] = chunk;
  }
  __syncthreads();
`;

/** A tile of columns to shared memory: of whole ones a lane has all of its elements in flight. */
function printColumnLoads(form: ScanForm, tile: number, at: string): string {
  const steps = tile / SCAN_WARPS;
  const element = elementAt(form, at);
  const loop = (unrolled: number, value: string): string => `    #pragma unroll ${unrolled}
    for (int k = 0; k < ${steps}; ++k) {
      const int i = first + k;
      held[i][lane] = ${value};
    }
`;
  const some = loop(Math.min(8, steps), `isIn && i < count ? ${element} : weft_round(weft_identity())`);
  return form.prologue === undefined
    ? `  if (isWhole) {\n${loop(steps, element)}  } else {\n${some}  }\n`
    : some;
}

/**
 * Tiles of columns: a lane goes along its column; a block holds its elements in shared memory meanwhile. `inUnits`: blocks of
 * columns that stand side by side, of all tiles, follow one another, and rows of arrays are further apart than they are long.
 */
export function printColumnTiles(form: ScanForm, source: ScanSource, inUnits = false): string {
  const tile = scanTile(form.dtype, SCAN_COLUMNS);
  const steps = tile / SCAN_WARPS;
  const at = form.reverse ? 'count - 1 - i' : 'i';
  const isTotal = source === 'totals';
  const back = form.reverse && source === 'lookBack';
  const [ofInput, ofBefore, ofOutput] = inUnits ? PITCHES : ['inner', 'inner', 'inner'];
  const tileAt = (pitch: string): string => `(row * tiles + at) * ${pitch} + column`;
  const [from, to] = inUnits ? ['from', 'to'] : ['base', 'base'];
  const begin = (name: string, pitch: string): string =>
    `  const long long ${name} = (row * n + at * ${tile}) * ${pitch} + column;\n`;
  const pitches = inUnits ? PITCHES.map((pitch) => `, long long ${pitch}`).join('') : '';
  return `${printParts(form)}${source === 'lookBack' ? printLookBack(form, SCAN_COLUMNS) : ''}
#define SUMS(w) sums[w][lane]
${printHead(form, source, `, long long inner, long long groups${pitches}`)}  __shared__ weft_wide sums[${SCAN_WARPS}][${SCAN_COLUMNS}];
  __shared__ weft_element held[${tile}][${SCAN_COLUMNS}];
  const unsigned int lane = threadIdx.x % 32;
  const int warp = (int)threadIdx.x / 32;
${printBlock(source, SCAN_COLUMNS)}${inUnits ? OF_UNITS : OF_TILES}  if (row >= lines) return;
  const long long at = ${back ? 'tiles - 1 - turn' : 'turn'};
  const int count = (int)(n - at * ${tile} < ${tile} ? n - at * ${tile} : ${tile});
  const long long column = group * ${SCAN_COLUMNS} + lane;
  const bool isIn = column < inner;
${begin(from, ofInput)}${inUnits ? begin(to, ofOutput) : ''}  const int first = warp * ${steps};
  const bool isWhole = count == ${tile} && (group + 1) * ${SCAN_COLUMNS} <= inner;
${printColumnLoads(form, tile, `${from} + (${at}) * ${ofInput}`)}  weft_wide sum = weft_identity();
  #pragma unroll 4
  for (int i = first; i < first + ${steps}; ++i) sum = weft_combine(sum, weft_widen(held[i][lane]));
  sums[warp][lane] = sum;
  __syncthreads();
${
  isTotal
    ? `  if (warp > 0 || !isIn) return;
  weft_wide whole = SUMS(0);
  for (int w = 1; w < ${SCAN_WARPS}; ++w) whole = weft_combine(whole, SUMS(w));
  totals[${tileAt(ofOutput)}] = whole;
`
    : `${printCarry(source, `(isIn ? before[${tileAt(ofBefore)}] : weft_identity())`, `${LOOK_BACK}, whole, row, turn, tiles, group, groups`)}${printFoldsBegin(form)}  sum = carry;
  #pragma unroll 4
  for (int i = first; i < first + ${steps}; ++i) {
    sum = weft_combine(sum, weft_widen(held[i][lane]));
    if (isWhole || (isIn && i < count)) ${storeAt(form, `${to} + (${at}) * ${ofOutput}`, 'weft_round(sum)')};
  }
${printWarpsFolded(form, SCAN_COLUMNS)}${printFoldsWritten(form, 'warp == 0 && isIn', tileAt('inner'))}`
}}
`;
}

/** Elements from row to row of the operand, of the values before tiles, and of the result. */
const PITCHES = ['pitch', 'before_pitch', 'to_pitch'] as const;

/** Columns of a block, and its tile: of blocks that begin with the columns of a tile, and with the tiles of columns. */
const OF_TILES = `  const long long group = block % (unsigned int)groups;
  const long long row = block / (unsigned int)groups / (unsigned int)tiles;
  const long long turn = block / (unsigned int)groups % (unsigned int)tiles;
`;
const OF_UNITS = `  const long long group = block / (unsigned int)(lines * tiles);
  const long long row = block / (unsigned int)tiles % (unsigned int)lines;
  const long long turn = block % (unsigned int)tiles;
`;
