/** Weights of Gaussian filters, as SciPy's `gaussian_filter1d` has them. Called by `api/ndimage.ts`. */

/** e^(-x²/2σ²), or a derivative of it, at the integers from -radius to radius, to be correlated with. */
export function gaussianWeights(sigma: number, order: number, radius: number): number[] {
  const places = Array.from({ length: 2 * radius + 1 }, (_, k) => k - radius);
  const values = places.map((x) => Math.exp((-0.5 / (sigma * sigma)) * x * x));
  const total = values.reduce((sum, value) => sum + value, 0);
  const polynomial = derivative(sigma, order);
  const weights = values.map((value, k) => {
    const factor = polynomial.reduceRight((sum, coefficient) => sum * places[k]! + coefficient, 0);
    return (factor * value) / total;
  });
  return weights.reverse();
}

/**
 * The polynomial q of the derivative q(x) e^(-x²/2σ²) of an order, from its constant on: q' - x q / σ² is the next
 * one.
 */
function derivative(sigma: number, order: number): number[] {
  let q = [1];
  for (let k = 0; k < order; k++) {
    const next = new Array<number>(q.length + 1).fill(0);
    for (const [power, coefficient] of q.entries()) {
      if (power > 0) next[power - 1]! += power * coefficient;
      next[power + 1]! -= coefficient / (sigma * sigma);
    }
    q = next;
  }
  return q;
}
