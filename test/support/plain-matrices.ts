/** Textbook linear algebra of small real matrices, rows of numbers, in float64: what random programs are held to. */

export type Rows = readonly (readonly number[])[];

const each = (rows: number, columns: number, at: (i: number, j: number) => number): number[][] =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => at(i, j)));

export const mapped = (a: Rows, f: (x: number, i: number, j: number) => number): number[][] =>
  a.map((row, i) => row.map((x, j) => f(x, i, j)));
export const transposed = (a: Rows): number[][] => each(a[0]!.length, a.length, (i, j) => a[j]![i]!);
export const product = (a: Rows, b: Rows): number[][] =>
  each(a.length, b[0]!.length, (i, j) => a[i]!.reduce((sum, x, k) => sum + x * b[k]![j]!, 0));
export const identity = (n: number): number[][] => each(n, n, (i, j) => (i === j ? 1 : 0));

/** X of A X = B, and the determinant of A: Gauss and Jordan, with pivots. */
export function eliminated(a: Rows, b: Rows): { readonly x: number[][]; readonly determinant: number } {
  const n = a.length;
  const rows = a.map((row, i) => [...row, ...b[i]!]);
  let determinant = 1;
  for (let k = 0; k < n; k++) {
    const place = rows.reduce(
      (best, row, i) => (i > k && Math.abs(row[k]!) > Math.abs(rows[best]![k]!) ? i : best),
      k,
    );
    if (place !== k) {
      [rows[k], rows[place]] = [rows[place]!, rows[k]!];
      determinant = -determinant;
    }
    const pivot = rows[k]!;
    determinant *= pivot[k]!;
    for (const [i, row] of rows.entries()) {
      if (i === k) continue;
      const factor = row[k]! / pivot[k]!;
      for (let j = k; j < row.length; j++) row[j] = row[j]! - factor * pivot[j]!;
    }
  }
  return { x: rows.map((row, i) => row.slice(n).map((x) => x / row[i]!)), determinant };
}

/** L of A = L Lᵀ. */
export function cholesky(a: Rows): number[][] {
  const n = a.length;
  const l = each(n, n, () => 0);
  for (let j = 0; j < n; j++)
    for (let i = j; i < n; i++) {
      let rest = a[i]![j]!;
      for (let k = 0; k < j; k++) rest -= l[i]![k]! * l[j]![k]!;
      l[i]![j] = i === j ? Math.sqrt(rest) : rest / l[j]![j]!;
    }
  return l;
}

/** Q and R of A = Q R, the diagonal of R positive: by Gram and Schmidt, each column twice. */
export function orthonormalized(a: Rows): { readonly q: number[][]; readonly r: number[][] } {
  const columns = transposed(a);
  const n = columns.length;
  const r = each(n, n, () => 0);
  const q: number[][] = [];
  for (const [j, column] of columns.entries()) {
    let rest = column;
    for (let twice = 0; twice < 2; twice++)
      for (const [k, before] of q.entries()) {
        const part = before.reduce((sum, x, i) => sum + x * rest[i]!, 0);
        r[k]![j]! += part;
        rest = rest.map((x, i) => x - part * before[i]!);
      }
    const length = Math.hypot(...rest);
    r[j]![j] = length;
    q.push(rest.map((x) => x / length));
  }
  return { q: transposed(q), r };
}

/** Eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns: Jacobi's rotations. */
export function symmetricEigen(given: Rows): { readonly values: number[]; readonly vectors: number[][] } {
  const n = given.length;
  const a = mapped(given, (x) => x);
  const v = identity(n);
  const turn = (m: number[][], p: number, q: number, c: number, s: number): void => {
    for (const row of m) [row[p], row[q]] = [c * row[p]! - s * row[q]!, s * row[p]! + c * row[q]!];
  };
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let p = 0; p < n; p++)
      for (let q = p + 1; q < n; q++) {
        off = Math.max(off, Math.abs(a[p]![q]!));
        if (a[p]![q] === 0) continue;
        const theta = Math.atan2(2 * a[p]![q]!, a[q]![q]! - a[p]![p]!) / 2;
        const [c, s] = [Math.cos(theta), Math.sin(theta)];
        turn(a, p, q, c, s);
        const [first, second] = [a[p]!, a[q]!];
        a[p] = first.map((x, j) => c * x - s * second[j]!);
        a[q] = first.map((x, j) => s * x + c * second[j]!);
        turn(v, p, q, c, s);
      }
    if (off < 1e-300) break;
  }
  const order = a.map((_, k) => k).sort((i, k) => a[i]![i]! - a[k]![k]!);
  return {
    values: order.map((k) => a[k]![k]!),
    vectors: v.map((row) => order.map((k) => row[k]!)),
  };
}

/** Singular values of a square matrix, largest first: the lengths of its columns once rotations made them orthogonal. */
export function singularValues(a: Rows): number[] {
  const columns = transposed(a);
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, each, i) => sum + each * y[i]!, 0);
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let p = 0; p < columns.length; p++)
      for (let q = p + 1; q < columns.length; q++) {
        const [x, y] = [columns[p]!, columns[q]!];
        const [alpha, beta, gamma] = [dot(x, x), dot(y, y), dot(x, y)];
        if (Math.abs(gamma) <= 1e-15 * Math.sqrt(alpha * beta)) continue;
        turned = true;
        const theta = Math.atan2(2 * gamma, beta - alpha) / 2;
        const [c, s] = [Math.cos(theta), Math.sin(theta)];
        columns[p] = x.map((each, i) => c * each - s * y[i]!);
        columns[q] = x.map((each, i) => s * each + c * y[i]!);
      }
  }
  return columns.map((x) => Math.sqrt(dot(x, x))).sort((x, y) => y - x);
}
