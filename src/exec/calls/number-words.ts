/** Numbers of float64 among the whole numbers of native routines. */

/** A number as two of 32 bits, the low one first. */
export function wordsOf(value: number): readonly [low: number, high: number] {
  const [low, high] = new Uint32Array(Float64Array.of(value).buffer) as unknown as [number, number];
  return [low, high];
}
