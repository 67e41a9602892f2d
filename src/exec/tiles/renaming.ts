/** Plain data about buffers, with others in their place: a table beside each type says how each of its fields is renamed. */

export type Name = (buffer: number) => number;

/** For each field, so that a new one does not build until it is said whether buffers are in it. */
export type Renaming<T> = {
  readonly [K in keyof T]-?: (value: Exclude<T[K], undefined>, name: Name) => T[K];
};

/** Of fields without buffers. */
export const kept = <T>(value: T): T => value;

export const ofBuffers = (buffers: readonly number[], name: Name): number[] => buffers.map(name);

export const byBuffer = <T>(values: ReadonlyMap<number, T>, name: Name): Map<number, T> =>
  new Map([...values].map(([buffer, value]) => [name(buffer), value]));

export const ofEach =
  <T>(fields: Renaming<T>) =>
  (values: readonly T[], name: Name): T[] =>
    values.map((value) => renamed(value, fields, name));

export function renamed<T>(value: T, fields: Renaming<T>, name: Name): T {
  const copy = { ...value };
  for (const field in fields) {
    const own = value[field];
    if (own !== undefined) copy[field] = fields[field](own as Exclude<T[typeof field], undefined>, name);
  }
  return copy;
}
