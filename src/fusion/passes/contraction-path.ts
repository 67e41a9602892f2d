/**
 * Finds the order in which an n-ary contraction is computed pairwise with the fewest multiplications:
 * exactly, by dynamic programming over subsets, for up to `MAX_EXACT` operands, greedily beyond. (The search
 * is that of Pfeifer, Haegeman and Verstraete, "Faster identification of optimal contraction sequences for
 * tensor networks", 2014, without its cost cap.)
 */

/** Operands of an exact search; it looks at 3^n pairs of subsets. */
const MAX_EXACT = 9;

export interface ContractionPath {
  /** Pairs of positions; the result of a pair is appended to the list of operands. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Multiplications in all. */
  readonly cost: number;
}

interface Plan {
  readonly cost: number;
  readonly labels: readonly number[];
  readonly split: readonly [number, number] | undefined;
}

export function contractionPath(
  operands: readonly (readonly number[])[],
  output: readonly number[],
  sizeOf: (label: number) => number,
): ContractionPath {
  return operands.length <= MAX_EXACT
    ? exactPath(operands, output, sizeOf)
    : greedyPath(operands, output, sizeOf);
}

const volume = (labels: Iterable<number>, sizeOf: (label: number) => number): number => {
  let size = 1;
  for (const label of labels) size *= sizeOf(label);
  return size;
};

/**
 * Labels that the operands of `mask` share with the rest or the output: the axes of their partial product.
 */
function openLabels(
  mask: number,
  operands: readonly (readonly number[])[],
  output: readonly number[],
): number[] {
  const inside = new Set<number>();
  const outside = new Set(output);
  operands.forEach((labels, k) => {
    for (const label of labels) ((mask >> k) & 1 ? inside : outside).add(label);
  });
  return [...inside].filter((label) => outside.has(label));
}

function exactPath(
  operands: readonly (readonly number[])[],
  output: readonly number[],
  sizeOf: (label: number) => number,
): ContractionPath {
  const full = (1 << operands.length) - 1;
  const best = new Array<Plan | undefined>(full + 1);
  operands.forEach((_, k) => {
    best[1 << k] = { cost: 0, labels: openLabels(1 << k, operands, output), split: undefined };
  });
  for (let mask = 1; mask <= full; mask++) {
    if (best[mask] !== undefined) continue;
    const labels = openLabels(mask, operands, output);
    let plan: Plan | undefined;
    for (let part = (mask - 1) & mask; part > 0; part = (part - 1) & mask) {
      const rest = mask ^ part;
      if (part < rest) continue;
      const a = best[part]!;
      const b = best[rest]!;
      const cost = a.cost + b.cost + volume(new Set([...a.labels, ...b.labels]), sizeOf);
      if (plan === undefined || cost < plan.cost) plan = { cost, labels, split: [part, rest] };
    }
    best[mask] = plan;
  }
  const pairs: [number, number][] = [];
  let count = operands.length;
  const emit = (mask: number): number => {
    const { split } = best[mask]!;
    if (split === undefined) return Math.log2(mask);
    const a = emit(split[0]);
    const b = emit(split[1]);
    pairs.push([Math.min(a, b), Math.max(a, b)]);
    return count++;
  };
  emit(full);
  return { pairs, cost: best[full]!.cost };
}

function greedyPath(
  operands: readonly (readonly number[])[],
  output: readonly number[],
  sizeOf: (label: number) => number,
): ContractionPath {
  const current = operands.map((labels, at) => ({ labels, at }));
  const pairs: [number, number][] = [];
  let count = operands.length;
  let total = 0;
  while (current.length > 1) {
    let best: { i: number; j: number; cost: number; labels: number[] } | undefined;
    for (let i = 0; i < current.length; i++) {
      for (let j = i + 1; j < current.length; j++) {
        const union = new Set([...current[i]!.labels, ...current[j]!.labels]);
        const needed = new Set([
          ...output,
          ...current.flatMap((o, k) => (k === i || k === j ? [] : o.labels)),
        ]);
        const cost = volume(union, sizeOf);
        if (best === undefined || cost < best.cost)
          best = { i, j, cost, labels: [...union].filter((l) => needed.has(l)) };
      }
    }
    const { i, j, cost, labels } = best!;
    pairs.push([current[i]!.at, current[j]!.at]);
    total += cost;
    current.splice(j, 1);
    current.splice(i, 1, { labels, at: count++ });
  }
  return { pairs, cost: total };
}
