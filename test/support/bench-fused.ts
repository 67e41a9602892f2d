/** References of programs of several parts that are fused, by loops in float64. */

type Values = Float64Array;

/** softmax(q kᵀ / √width) v of each head; of a causal one row i sees the columns up to i. */
export function attentionByLoop(
  [heads, rows, width]: readonly number[],
  [q, k, v]: readonly Values[],
  isCausal: boolean,
): Values {
  const result = new Float64Array(q!.length);
  const n = rows!;
  for (let row = 0; row < heads! * n; row++) {
    const first = Math.floor(row / n) * n;
    const count = isCausal ? row - first + 1 : n;
    const weights = Float64Array.from({ length: count }, (_, column) => {
      let score = 0;
      for (let c = 0; c < width!; c++) score += q![row * width! + c]! * k![(first + column) * width! + c]!;
      return Math.exp(score / Math.sqrt(width!));
    });
    const total = weights.reduce((a, b) => a + b);
    for (let column = 0; column < count; column++)
      for (let c = 0; c < width!; c++)
        result[row * width! + c]! += (weights[column]! / total) * v![(first + column) * width! + c]!;
  }
  return result;
}

/** Of each row the largest cosine with any. */
export function largestCosines([rows, width]: readonly number[], x: Values): Values {
  const dot = (i: number, j: number): number => {
    let total = 0;
    for (let c = 0; c < width!; c++) total += x[i * width! + c]! * x[j * width! + c]!;
    return total;
  };
  const lengths = Float64Array.from({ length: rows! }, (_, i) => Math.sqrt(dot(i, i)));
  return lengths.map((length, i) => {
    let most = Number.NEGATIVE_INFINITY;
    for (let j = 0; j < rows!; j++) most = Math.max(most, dot(i, j) / length / lengths[j]!);
    return most;
  });
}

export function covarianceByLoop([rows, columns]: readonly number[], x: Values): Values {
  const [n, m] = [rows!, columns!];
  const means = new Float64Array(m);
  x.forEach((value, place) => {
    means[place % m]! += value / n;
  });
  const result = new Float64Array(m * m);
  for (let row = 0; row < n; row++)
    for (let i = 0; i < m; i++)
      for (let j = 0; j < m; j++)
        result[i * m + j]! += ((x[row * m + i]! - means[i]!) * (x[row * m + j]! - means[j]!)) / (n - 1);
  return result;
}

/** A tenth of the Laplacian of 27 points on a torus, added. */
export function stencil27ByLoop([a, b, c]: readonly number[], x: Values): Values {
  const weights = [-128 / 30, 14 / 30, 3 / 30, 1 / 30];
  const near = [-1, 0, 1];
  return x.map((value, place) => {
    const [i, j, k] = [Math.floor(place / (b! * c!)), Math.floor(place / c!) % b!, place % c!];
    let sum = 0;
    for (const di of near)
      for (const dj of near)
        for (const dk of near) {
          const [p, q, r] = [(i + di + a!) % a!, (j + dj + b!) % b!, (k + dk + c!) % c!];
          sum += weights[Math.abs(di) + Math.abs(dj) + Math.abs(dk)]! * x[(p * b! + q) * c! + r]!;
        }
    return value + 0.1 * sum;
  });
}

/** How many deviations each element is above the mean of the `width` elements that end with it. */
export function rollingScores(width: number, x: Values): Values {
  return x.subarray(width - 1).map((value, k) => {
    const window = x.subarray(k, k + width);
    const mean = window.reduce((a, b) => a + b) / width;
    const variance = window.reduce((total, each) => total + (each - mean) ** 2, 0) / width;
    return (value - mean) / Math.sqrt(variance);
  });
}
