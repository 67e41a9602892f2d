/** BinForm: the parameters from which a kernel of bins is printed (`bins.ts`), and the questions of its parts. */
import type { BinPlaces } from '../../../graph/bin-parameters.js';
import type { BinOp } from '../../../graph/bin-units.js';
import type { DType } from '../../../graph/dtype.js';
import type { BinRows } from './bin-rows.js';

export interface BinForm {
  readonly op: BinOp;
  /** Of the keys, and of the values if there are any. */
  readonly keys: DType;
  readonly values: DType | undefined;
  readonly result: DType;
  readonly mode: BinPlaces;
  readonly width: number;
  /** Numbers that a fixed or an exact sum is made of, and their bits. */
  readonly parts: number;
  readonly bits: number;
  /** Of bins in shared memory, their number. */
  readonly sharedBins: number | undefined;
  /** Whether a tile gathers some rows in a window of the bins. */
  readonly isWindowed?: boolean;
  /** Maps that give keys and values. */
  readonly rows?: BinRows | undefined;
}

export const BIN_THREADS = 512;
/** Rows that a thread has in flight. */
export const FLIGHT = 8;

export const hasValues = ({ op }: BinForm): boolean => op !== 'count' && op !== 'last';
export const hasEdges = ({ mode }: BinForm): boolean => mode === 'edges' || mode === 'equalEdges';

/** Finds the bin of a key. */
export function findBin(form: BinForm, key = 'k[j]'): string {
  const bin = hasEdges(form) ? `search(${key})` : `weft_bin(${key}, bins)`;
  return form.isWindowed === true ? `tile.within(${bin})` : bin;
}

/** From a bin's first number to its second one, of several. */
export const pitchOf = ({ width, isWindowed }: BinForm): string =>
  isWindowed === true ? 'pitch' : `bins * ${width}ll`;
