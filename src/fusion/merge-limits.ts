/**
 * Whether two kernels that fit together stay within what one kernel may be: buffers, walks over its rows, length of a row
 * that stays on the chip. Found before the merged kernel is made, since many merges end here. Called by `merge.ts`.
 */
import { byteLengthOf } from '../graph/dtype.js';
import type { GrowingKernel } from './growing-kernel.js';
import { type Affine, argumentsOf, product } from './kernel.js';
import type { Join, Keeps, Reason } from './merge.js';

/** Most arrays one kernel reads and writes: their addresses and strides are its arguments. */
export const MAX_BUFFERS = 96;
/** Most walks over the rows: what lives between them takes registers. */
const MAX_PHASES = 6;
/** Longest row, in bytes, that a row kernel keeps on the chip when rows are contiguous, and when columns are. */
const MAX_ROW_BYTES = 1 << 18;
const MAX_COLUMN_BYTES = 1 << 13;
/** Fewest rows for a kernel that walks its rows twice, unless the whole job is small. */
const MIN_ROWS = 128;
const SMALL_JOB = 1 << 16;

/** Why the two must not be one; `undefined`: they may. */
export function limitOf(join: Join, keeps: Keeps): Reason | undefined {
  if (bufferCount(join, keeps) > MAX_BUFFERS) return 'buffer-limit';
  if (join.reduced.length === 0) return undefined;
  const { first, second, axisOfFirst, axisOfSecond, parallel, reduced } = join;
  const levelsOfFirst = levelsIn(first, axisOfFirst, parallel.length, NOTHING);
  const held = new Map<string, Level>();
  for (const [key, { value }] of first.stores) held.set(key, levelsOfFirst.of(value));
  const levelsOfSecond = levelsIn(second, axisOfSecond, parallel.length, held);
  const spreads = (kernel: GrowingKernel, axisOf: readonly number[], levels: TapeLevels): boolean => {
    for (const [key, { value, access }] of kernel.stores)
      if (keeps(key) && !levels.of(value).element && walksRow(access, axisOf, join)) return true;
    return false;
  };
  // A value of the row, or a constant, is stored once for a row.
  if (spreads(first, axisOfFirst, levelsOfFirst) || spreads(second, axisOfSecond, levelsOfSecond))
    return 'domain-mismatch';
  const phases = Math.max(levelsOfFirst.phases, levelsOfSecond.phases);
  if (phases === 1) return undefined;
  if (phases > MAX_PHASES) return 'phase-limit';
  const rows = product(parallel);
  const length = product(reduced);
  if (rows * length <= SMALL_JOB) return undefined;
  if (rows < MIN_ROWS) return 'too-few-rows';
  const most = rowsAreContiguous(join) ? MAX_ROW_BYTES : MAX_COLUMN_BYTES;
  return length * rowBytes(join) <= most ? undefined : 'row-too-long';
}

/** Buffers that the merged kernel reads and writes. */
function bufferCount({ first, second }: Join, keeps: Keeps): number {
  let count = first.loads.size;
  for (const key of second.loads.keys()) if (!first.loads.has(key) && !first.stores.has(key)) count++;
  for (const key of first.stores.keys()) if (keeps(key)) count++;
  for (const key of second.stores.keys()) if (keeps(key)) count++;
  return count;
}

/** A value's level and the phase that what uses it can be in (`kernel.ts` says what these are). */
interface Level {
  readonly element: boolean;
  readonly after: number;
}

const NOTHING: ReadonlyMap<string, Level> = new Map();

interface TapeLevels {
  readonly of: (value: number) => Level;
  readonly phases: number;
}

/** Levels of a tape's values once its axes are those of a merged kernel; `held`: loads that come from registers. */
function levelsIn(
  { tape, buffers }: GrowingKernel,
  axisOf: readonly number[],
  firstReduced: number,
  held: ReadonlyMap<string, Level>,
): TapeLevels {
  const onReduced = ({ strides }: Affine): boolean => {
    for (let k = 0; k < strides.length; k++) if (strides[k] !== 0 && axisOf[k]! >= firstReduced) return true;
    return false;
  };
  const element = new Array<boolean>(tape.length);
  const after = new Array<number>(tape.length);
  let phases = 1;
  for (let p = 0; p < tape.length; p++) {
    const i = tape[p]!;
    let level = false;
    let phase = 0;
    switch (i.kind) {
      case 'load': {
        const known = held.size === 0 ? undefined : held.get(buffers[i.access.buffer]!.key);
        level = known?.element ?? (onReduced(i.access) || i.access.bounds.some(onReduced));
        phase = known?.after ?? 0;
        break;
      }
      case 'index':
        level = onReduced(i.affine);
        break;
      case 'inside':
        level = i.bounds.some(onReduced);
        break;
      case 'const':
        break;
      case 'map':
      case 'cast':
      case 'reduce':
        for (const arg of argumentsOf(i)) {
          level ||= element[arg]!;
          phase = Math.max(phase, after[arg]!);
        }
        break;
    }
    if (i.kind === 'reduce' || level) phases = Math.max(phases, phase + 1);
    element[p] = level && i.kind !== 'reduce';
    after[p] = i.kind === 'reduce' ? phase + 1 : phase;
  }
  return { of: (value) => ({ element: element[value]!, after: after[value]! }), phases };
}

/** Whether an access moves along a reduced axis of the merged kernel. */
const walksRow = ({ strides }: Affine, axisOf: readonly number[], { parallel, reduced }: Join): boolean =>
  strides.some((stride, k) => {
    const axis = axisOf[k]! - parallel.length;
    return stride !== 0 && axis >= 0 && reduced[axis] !== 1;
  });

/** Bytes of the widest element loaded along the row. */
function rowBytes({ first, second }: Join): number {
  let most = 1;
  for (const kernel of [first, second]) {
    for (const [key, [load]] of kernel.loads)
      if (kernel === first || !first.stores.has(key))
        most = Math.max(most, byteLengthOf(kernel.buffers[load!.buffer]!.dtype));
  }
  return most;
}

/** Whether some load walks a reduced axis with stride 1. */
function rowsAreContiguous({ first, second, axisOfFirst, axisOfSecond, parallel }: Join): boolean {
  const walks = ({ strides }: Affine, axisOf: readonly number[]): boolean =>
    strides.some((stride, k) => axisOf[k]! >= parallel.length && Math.abs(stride) === 1);
  for (const loads of first.loads.values()) if (loads.some((load) => walks(load, axisOfFirst))) return true;
  for (const [key, loads] of second.loads)
    if (!first.stores.has(key) && loads.some((load) => walks(load, axisOfSecond))) return true;
  return false;
}
