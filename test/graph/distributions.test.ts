/**
 * Products of distributions are rounded before they meet a sum: a GPU would round a product and a sum once, and give
 * other bits than the CPU.
 */
import { expect, it } from 'vitest';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { GraphNode } from '../../src/graph/graph.js';
import { givenValue } from '../../src/graph/runtime-scalar.js';
import { arange, type Lazy, random } from '../../src/index.js';

const key = random.key(7);
const n = [5];
const parameter = arange(1, 6).div(7);

/** Ops that are a sum, or functions that begin with sums. */
const isSum = (node: GraphNode): boolean =>
  node.kind === 'map' && (node.op === 'add' || node.op === 'subtract' || node.op.startsWith('draw'));

/** Products that meet a sum, but those with a power of two, which are exact. */
function contractible(sample: Lazy): string[] {
  const { graph } = canonicalize([sample.expr]);
  const at = (id: number): GraphNode => graph.nodes[id]!;
  const isPowerOfTwo = (node: GraphNode): boolean =>
    node.kind === 'const' && Number.isInteger(Math.log2(Math.abs(Number(givenValue(node.value)))));
  const isProduct = (node: GraphNode): boolean =>
    node.kind === 'map' &&
    node.op === 'multiply' &&
    node.dtype.startsWith('float') &&
    !node.inputs.some((id) => isPowerOfTwo(at(id)));
  return graph.nodes.flatMap((node) =>
    node !== undefined && isSum(node)
      ? node.inputs.filter((id) => isProduct(at(id))).map((id) => `%${id} in %${node.id}`)
      : [],
  );
}

const SAMPLES: Readonly<Record<string, () => Lazy>> = {
  beta: () => random.beta(key, n, parameter, 2),
  binomial: () => random.binomial(key, n, 9, parameter),
  cauchy: () => random.cauchy(key, n),
  chisquare: () => random.chisquare(key, n, parameter),
  dirichlet: () => random.dirichlet(key, n, [0.5, 1, 2]),
  f: () => random.f(key, n, parameter, 3),
  gamma: () => random.gamma(key, n, parameter),
  geometric: () => random.geometric(key, n, parameter),
  gumbel: () => random.gumbel(key, n),
  laplace: () => random.laplace(key, n),
  logistic: () => random.logistic(key, n),
  logseries: () => random.logseries(key, n, parameter),
  multinomial: () => random.multinomial(key, n, 9, [0.2, 0.3, 0.5]),
  negativeBinomial: () => random.negativeBinomial(key, n, 3, parameter),
  pareto: () => random.pareto(key, n, parameter),
  poisson: () => random.poisson(key, n, parameter),
  power: () => random.power(key, n, parameter),
  rayleigh: () => random.rayleigh(key, n),
  standardT: () => random.standardT(key, n, parameter),
  triangular: () => random.triangular(key, n, -1, parameter, 3),
  vonmises: () => random.vonmises(key, n, parameter, 4),
  wald: () => random.wald(key, n, parameter, 2),
  weibull: () => random.weibull(key, n, parameter),
  zipf: () => random.zipf(key, n, parameter.add(1)),
};

it.each(Object.entries(SAMPLES))('%s rounds its products before a sum', (_, sample) => {
  expect(contractible(sample())).toEqual([]);
});
