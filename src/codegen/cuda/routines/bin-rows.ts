/**
 * CUDA C of where kernels of bins have the keys and values of rows from: arrays, or maps in their place
 * (`element-function.ts`), so that neither is in memory. Used by `bins.ts` and `bin-sums.ts`.
 */
import type { ElementFunction } from './element-function.js';
import { withPrelude } from './element-function.js';

/** The maps in the place of arrays. */
export interface BinRows {
  readonly keys?: ElementFunction | undefined;
  readonly values?: ElementFunction | undefined;
}

type Form = { readonly rows?: BinRows | undefined };

const read = (map: ElementFunction | undefined, array: 'key' | 'value', at: string): string =>
  map === undefined ? `${array}s[${at}]` : `(weft_${array})${map.call(at)}`;

/** The text of the key of a row, and of the value of an element. */
export const keyAt = ({ rows }: Form, at: string): string => read(rows?.keys, 'key', at);
export const valueAt = ({ rows }: Form, at: string): string => read(rows?.values, 'value', at);

/** Parameters of arrays that are in memory; those of the maps stand behind all others, a comma before each. */
export const keysParameter = ({ rows }: Form): string[] =>
  rows?.keys === undefined ? ['const weft_key* __restrict__ keys'] : [];
export const valuesParameter = ({ rows }: Form): string[] =>
  rows?.values === undefined ? ['const weft_value* __restrict__ values'] : [];
export const mapParameters = ({ rows }: Form): string =>
  `${rows?.keys?.parameters ?? ''}${rows?.values?.parameters ?? ''}`;

/** The functions of the maps. */
export function printRowMaps({ rows }: Form): string {
  const functions = [rows?.keys, rows?.values].filter((each) => each !== undefined);
  return functions.length === 0 ? '' : withPrelude(functions);
}
