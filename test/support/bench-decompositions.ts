/** Decompositions and solutions of square and tall matrices by plain loops in float64, row after row. */

type Matrix = Float64Array;

/** The lower factor of a positive definite matrix. */
export function choleskyByLoop(a: Matrix, n: number): Matrix {
  const factor = new Float64Array(n * n);
  for (let j = 0; j < n; j++)
    for (let i = j; i < n; i++) {
      let rest = a[i * n + j]!;
      for (let k = 0; k < j; k++) rest -= factor[i * n + k]! * factor[j * n + k]!;
      factor[i * n + j] = i === j ? Math.sqrt(rest) : rest / factor[j * n + j]!;
    }
  return factor;
}

/** Gauss and Jordan's elimination with the largest pivot of each column: `a` x = `b` of so many columns. */
export function solveByLoop(a: Matrix, b: Matrix, n: number, columns: number): Matrix {
  const [left, right] = [a.slice(), b.slice()];
  const swapRows = (x: Matrix, width: number, i: number, j: number): void => {
    const row = x.slice(i * width, (i + 1) * width);
    x.copyWithin(i * width, j * width, (j + 1) * width);
    x.set(row, j * width);
  };
  const addRow = (x: Matrix, width: number, from: number, to: number, factor: number): void => {
    for (let k = 0; k < width; k++) x[to * width + k]! += factor * x[from * width + k]!;
  };
  for (let j = 0; j < n; j++) {
    let pivot = j;
    for (let i = j; i < n; i++) if (Math.abs(left[i * n + j]!) > Math.abs(left[pivot * n + j]!)) pivot = i;
    swapRows(left, n, j, pivot);
    swapRows(right, columns, j, pivot);
    for (let i = 0; i < n; i++) {
      if (i === j) continue;
      const factor = -left[i * n + j]! / left[j * n + j]!;
      addRow(left, n, j, i, factor);
      addRow(right, columns, j, i, factor);
    }
  }
  return right.map((value, place) => value / left[Math.floor(place / columns) * (n + 1)]!);
}

/** aᵀa of a matrix of so many columns. */
function gram(a: Matrix, columns: number): Matrix {
  const result = new Float64Array(columns * columns);
  for (let row = 0; row < a.length; row += columns)
    for (let i = 0; i < columns; i++)
      for (let j = 0; j < columns; j++) result[i * columns + j]! += a[row + i]! * a[row + j]!;
  return result;
}

/** R of QR with a positive diagonal: the factor of aᵀa. */
export function upperFactorByLoop(a: Matrix, columns: number): Matrix {
  const lower = choleskyByLoop(gram(a, columns), columns);
  return lower.map((_, place) => lower[(place % columns) * columns + Math.floor(place / columns)]!);
}

/** Singular values, the largest first: rotations of two columns until all are orthogonal (Hestenes, 1958). */
export function singularValuesByLoop(a: Matrix, n: number): Matrix {
  const x = a.slice();
  const dot = (i: number, j: number): number => {
    let total = 0;
    for (let row = 0; row < x.length; row += n) total += x[row + i]! * x[row + j]!;
    return total;
  };
  const rotate = (i: number, j: number): boolean => {
    const [p, q, r] = [dot(i, i), dot(j, j), dot(i, j)];
    if (Math.abs(r) <= 1e-15 * Math.sqrt(p * q)) return false;
    const angle = 0.5 * Math.atan2(2 * r, p - q);
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    for (let row = 0; row < x.length; row += n) {
      const [u, v] = [x[row + i]!, x[row + j]!];
      x[row + i] = c * u + s * v;
      x[row + j] = c * v - s * u;
    }
    return true;
  };
  for (let sweep = 0, isMoved = true; isMoved && sweep < 40; sweep++) {
    isMoved = false;
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) isMoved = rotate(i, j) || isMoved;
  }
  return Float64Array.from({ length: n }, (_, j) => Math.sqrt(dot(j, j)))
    .sort()
    .reverse();
}

/** Eigenvalues of a symmetric matrix, the least first: singular values of it and as much of 1 as makes it positive. */
export function eigenvaluesByLoop(a: Matrix, n: number): Matrix {
  let shift = 0;
  for (let row = 0; row < n; row++)
    shift = Math.max(
      shift,
      a.subarray(row * n, (row + 1) * n).reduce((total, value) => total + Math.abs(value), 0),
    );
  const shifted = a.map((value, place) => (place % (n + 1) === 0 ? value + shift : value));
  return singularValuesByLoop(shifted, n)
    .reverse()
    .map((value) => value - shift);
}
