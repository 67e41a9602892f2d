/**
 * BufferKey: what a buffer holds, as a number, which is fast to compare and to look up: a node's value, a
 * source's array, or a value that one piece of a split kernel hands on to another.
 */
import { DTYPES, type DType, dtypeCode } from '../../graph/dtype.js';

/** The number of what it holds, times the kinds there are, plus its kind. */
export type BufferKey = number;

const NODE = 0;
const SOURCE = 1;
const PART = 2;
const KINDS = 3;

export const nodeBufferKey = (node: number): BufferKey => KINDS * node + NODE;

/** One array read as two dtypes is two buffers. */
export const sourceBufferKey = (input: number, dtype: DType): BufferKey =>
  KINDS * (DTYPES.length * input + dtypeCode(dtype)) + SOURCE;

export const partBufferKey = (part: number): BufferKey => KINDS * part + PART;

/** The number of the source whose array a buffer holds; undefined for other buffers. */
export const sourceOfKey = (key: BufferKey): number | undefined =>
  key % KINDS === SOURCE ? Math.floor(key / KINDS / DTYPES.length) : undefined;

/** `node 12`, `source 0 float32`, `part 3`. */
export function bufferName(key: BufferKey): string {
  const number = Math.floor(key / KINDS);
  switch (key % KINDS) {
    case NODE:
      return `node ${number}`;
    case SOURCE:
      return `source ${sourceOfKey(key)} ${DTYPES[number % DTYPES.length]}`;
    default:
      return `part ${number}`;
  }
}
