/** The benchmark's Fourier transforms in float64, of lengths that are powers of two (Cooley and Tukey, 1965). */

/** Real and imaginary parts. */
interface Line {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

const line = (re: Float64Array, im: Float64Array = new Float64Array(re.length)): Line => ({ re, im });

/** e^(2πi sign k/n) for all k below n / 2, kept by length. */
function rootsOf(n: number, sign: 1 | -1): Line {
  const key = sign * n;
  let roots = ROOTS.get(key);
  if (roots === undefined) {
    roots = line(new Float64Array(n / 2));
    for (let k = 0; k < n / 2; k++) {
      const angle = (sign * 2 * Math.PI * k) / n;
      roots.re[k] = Math.cos(angle);
      roots.im[k] = Math.sin(angle);
    }
    ROOTS.set(key, roots);
  }
  return roots;
}
const ROOTS = new Map<number, Line>();

/** The elements of a line at each other's places: place k has that of the bits of k from last to first. */
function bitReversed({ re, im }: Line): Line {
  const n = re.length;
  const result = line(new Float64Array(n));
  let reversed = 0;
  for (let k = 0; k < n; k++) {
    result.re[reversed] = re[k]!;
    result.im[reversed] = im[k]!;
    let bit = n / 2;
    for (; bit >= 1 && (reversed & bit) !== 0; bit /= 2) reversed ^= bit;
    reversed |= bit;
  }
  return result;
}

/** The transform of a line, `sign` 1 of its inverse without the division. */
function transformed(from: Line, sign: 1 | -1 = -1): Line {
  const result = bitReversed(from);
  const { re, im } = result;
  const n = re.length;
  const roots = rootsOf(n, sign);
  for (let half = 1; half < n; half *= 2) {
    for (let first = 0; first < n; first += 2 * half) {
      for (let k = 0; k < half; k++) {
        const [even, odd] = [first + k, first + k + half];
        const [c, s] = [roots.re[(k * n) / (2 * half)]!, roots.im[(k * n) / (2 * half)]!];
        const x = re[odd]! * c - im[odd]! * s;
        const y = re[odd]! * s + im[odd]! * c;
        re[odd] = re[even]! - x;
        im[odd] = im[even]! - y;
        re[even] = re[even]! + x;
        im[even] = im[even]! + y;
      }
    }
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
