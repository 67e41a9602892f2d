/** The benchmark's Fourier transforms in float64, of lengths that are powers of two (Cooley and Tukey, 1965). */

/** Real and imaginary parts. */
interface Line {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

const line = (re: Float64Array, im: Float64Array = new Float64Array(re.length)): Line => ({ re, im });

/** The transform of a line, `sign` 1 of its inverse without the division. */
function transformed({ re, im }: Line, sign: 1 | -1 = -1): Line {
  const n = re.length;
  if (n === 1) return line(re.slice(), im.slice());
  const half = (from: Float64Array, odd: 0 | 1): Float64Array =>
    Float64Array.from({ length: n / 2 }, (_, k) => from[2 * k + odd]!);
  const [even, odd] = ([0, 1] as const).map((k) => transformed(line(half(re, k), half(im, k)), sign));
  const result = line(new Float64Array(n));
  for (let k = 0; k < n / 2; k++) {
    const angle = (sign * 2 * Math.PI * k) / n;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const [x, y] = [odd!.re[k]! * c - odd!.im[k]! * s, odd!.re[k]! * s + odd!.im[k]! * c];
    [result.re[k], result.im[k]] = [even!.re[k]! + x, even!.im[k]! + y];
    [result.re[k + n / 2], result.im[k + n / 2]] = [even!.re[k]! - x, even!.im[k]! - y];
  }
  return result;
}

const rowsOf = (x: Float64Array, n: number): Float64Array[] =>
  Array.from({ length: x.length / n }, (_, k) => x.subarray(k * n, (k + 1) * n));

const joined = (rows: readonly Float64Array[]): Float64Array => {
  const all = new Float64Array(rows.reduce((sum, row) => sum + row.length, 0));
  let at = 0;
  for (const row of rows) {
    all.set(row, at);
    at += row.length;
  }
  return all;
};

/** The real parts of the first half of each row's transform. */
export const realRows = (x: Float64Array, n: number): Float64Array =>
  joined(rowsOf(x, n).map((row) => transformed(line(row)).re.subarray(0, n / 2 + 1)));

/** The real parts of a line's transform. */
export const realParts = (x: Float64Array): Float64Array => transformed(line(x)).re;

/** 1 + |each half row, convolved in a circle with a filter|. */
export function filteredRows(x: Float64Array, filter: Float64Array): Float64Array {
  const n = filter.length;
  const h = transformed(line(filter));
  return joined(
    rowsOf(x, n).map((row) => {
      const own = transformed(line(row));
      const product = line(new Float64Array(n));
      for (let k = 0; k < n; k++) {
        product.re[k] = (own.re[k]! * h.re[k]! - own.im[k]! * h.im[k]!) / 2;
        product.im[k] = (own.re[k]! * h.im[k]! + own.im[k]! * h.re[k]!) / 2;
      }
      return transformed(product, 1).re.map((value) => Math.abs(value / n) + 1);
    }),
  );
}

/** The absolute values of the transform of a square over both axes. */
export function sizesOfSquare(x: Float64Array, side: number): Float64Array {
  const rows = rowsOf(x, side).map((row) => transformed(line(row)));
  const result = new Float64Array(x.length);
  for (let column = 0; column < side; column++) {
    const of = (part: 're' | 'im'): Float64Array => Float64Array.from(rows, (row) => row[part][column]!);
    const own = transformed(line(of('re'), of('im')));
    for (let k = 0; k < side; k++) result[k * side + column] = Math.hypot(own.re[k]!, own.im[k]!);
  }
  return result;
}
