/**
 * The content of a record: results as plain data, and how two results compare. Used by `record.ts` and
 * `compare.ts`.
 */
import { createHash } from 'node:crypto';
import { DTYPE_INFO, type DType, isComplex, isFloat } from '../../src/graph/dtype.js';
import { run } from '../support/api.js';
import { allocate, elementAt, type HostArray, sizeOf } from '../support/host.js';
import { isComplexValue } from '../support/scalar.js';
import { isClose, show, ulpDistance } from '../support/ulp.js';
import type { Exactness } from './exactness.js';
import type { Job } from './jobs.js';

export interface RecordedOutput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly exact: Exactness;
  readonly absolute: number;
  /** SHA-256 of the bytes, with one NaN for all. */
  readonly digest: string;
  /** The bytes, in base64. */
  readonly data: string;
}

export interface RecordedJob {
  readonly name: string;
  readonly outputs: readonly RecordedOutput[];
  /** The error that the job was rejected with. */
  readonly error?: string;
}

export interface DeviceRecord {
  readonly device: string;
  readonly graphs: number;
  readonly seed: number;
  readonly jobs: readonly RecordedJob[];
}

export async function recordJob({ name, outputs }: Job, device: string): Promise<RecordedJob> {
  try {
    const results = await run(
      device,
      outputs.map(({ lazy }) => lazy),
    );
    return {
      name,
      outputs: results.map((result, k) => {
        const { exact, absolute } = outputs[k]!;
        const bytes = bytesOf(withOneNaN(result));
        return {
          dtype: result.dtype,
          shape: result.shape,
          exact,
          absolute,
          digest: createHash('sha256').update(bytes).digest('hex'),
          data: bytes.toString('base64'),
        };
      }),
    };
  } catch (error) {
    return { name, outputs: [], error: String(error) };
  }
}

const bytesOf = ({ data }: HostArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** The bits of a NaN, its sign among them, are nobody's promise: all become the plain one. */
function withOneNaN(x: HostArray): HostArray {
  const real = DTYPE_INFO[x.dtype].component;
  const plain = PLAIN_NAN[real];
  if (plain === undefined) return x;
  const data = x.data.slice();
  const count = sizeOf(x.shape) * (isComplex(x.dtype) ? 2 : 1);
  const bits = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  for (let i = 0; i < count; i++)
    if (Number.isNaN(elementAt(real, x.data, i))) bits.set(plain, i * plain.length);
  return { ...x, data };
}

/** Little-endian. */
const PLAIN_NAN: Partial<Record<DType, readonly number[]>> = {
  float16: [0, 0x7e],
  bfloat16: [0xc0, 0x7f],
  float32: [0, 0, 0xc0, 0x7f],
  float64: [0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
};

/** The array of a recorded output. */
export function arrayOf({ dtype, shape, data }: RecordedOutput): HostArray {
  const array = allocate(dtype, sizeOf(shape));
  new Uint8Array(array.buffer).set(Buffer.from(data, 'base64'));
  return { dtype, shape, data: array };
}

export interface Comparison {
  readonly equal: boolean;
  /** The largest distance in units in the last place, of a component where values are complex. */
  readonly ulp: number;
  /** The fault; undefined: none. */
  readonly wrong?: string;
}

/** Whether two devices have to give the same bits. `oneKind`: they are of one kind. */
export const mustBeEqual = (exact: Exactness, oneKind: boolean): boolean =>
  exact === 'everywhere' || (exact === 'on a kind' && oneKind);

/**
 * Exact values have to be equal to the bit; the rest within a few units, or the absolute error of its
 * program.
 */
export function compareOutputs(a: RecordedOutput, b: RecordedOutput, oneKind: boolean): Comparison {
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join() || a.exact !== b.exact)
    return { equal: false, ulp: 0, wrong: `${a.dtype} [${a.shape}] and ${b.dtype} [${b.shape}]` };
  if (a.digest === b.digest) return { equal: true, ulp: 0 };
  const { dtype } = a;
  const [x, y] = [arrayOf(a).data, arrayOf(b).data];
  const tolerance = { ulp: 4, absolute: Math.max(a.absolute, b.absolute) };
  let ulp = 0;
  const far: string[] = [];
  const exact = mustBeEqual(a.exact, oneKind);
  for (let i = 0; i < sizeOf(a.shape); i++) {
    const [p, q] = [elementAt(dtype, x, i), elementAt(dtype, y, i)];
    ulp = Math.max(ulp, distance(dtype, p, q));
    const near = isClose(dtype, p, q, tolerance);
    const same = show(p) === show(q);
    if (exact ? !same : !near) far.push(`[${i}] ${show(p)} and ${show(q)}`);
  }
  return far.length === 0
    ? { equal: false, ulp }
    : {
        equal: false,
        ulp,
        wrong: `${far.length} of ${sizeOf(a.shape)} differ: ${far.slice(0, 3).join('; ')}`,
      };
}

function distance(dtype: DType, p: ReturnType<typeof elementAt>, q: ReturnType<typeof elementAt>): number {
  if (isComplexValue(p) && isComplexValue(q)) {
    const real = DTYPE_INFO[dtype].component;
    return Math.max(ulpDistance(real, p.re, q.re), ulpDistance(real, p.im, q.im));
  }
  if (!isFloat(dtype)) return p === q ? 0 : Number.POSITIVE_INFINITY;
  return ulpDistance(dtype, Number(p), Number(q));
}
