/**
 * The labels of two operands as the groups of a matrix product, and other ways to group them, some of which
 * spare copies of the operands or of the result.
 *
 *     bij,jk->bik, rows b, i that do not run on from each other   →   batches b, rows i; jk is the same in each
 *
 * Called by `pair-products.ts`.
 */

/** An operand on its way: a node and the labels of its axes. */
export interface Operand {
  readonly id: number;
  readonly labels: readonly number[];
}

/**
 * Labels of both operands that stay, of the first only, of the second only, and of both that are summed. A
 * batch may also be a label of one operand alone: the other one is the same in each.
 */
export interface ProductLabels {
  readonly batch: readonly number[];
  readonly m: readonly number[];
  readonly n: readonly number[];
  readonly k: readonly number[];
}

/** A product of two operands, and the roles of their labels in it. */
export interface PairProduct {
  readonly a: Operand;
  readonly b: Operand;
  readonly groups: ProductLabels;
}

type Labels = readonly number[];

export function productLabelsOf(a: Labels, b: Labels, isNeeded: (label: number) => boolean): ProductLabels {
  const isShared = (l: number): boolean => a.includes(l) && b.includes(l);
  const longer = a.length >= b.length ? a : b;
  return {
    batch: a.filter((l) => isShared(l) && isNeeded(l)),
    m: a.filter((l) => !isShared(l)),
    n: b.filter((l) => !isShared(l)),
    k: longer.filter((l) => isShared(l) && !isNeeded(l)),
  };
}

/** The groups in other orders, or with a label of one operand as a batch. `wanted`: the result's order. */
export function* otherProductLabels(groups: ProductLabels, wanted: Labels): Generator<ProductLabels> {
  const { m, n } = groups;
  const sorted = (labels: Labels): Labels =>
    labels.every((l) => wanted.includes(l))
      ? [...labels].sort((x, y) => wanted.indexOf(x) - wanted.indexOf(y))
      : labels;
  const batchWith = (label: number): Labels => sorted([...groups.batch, label]);
  yield { ...groups, batch: sorted(groups.batch), m: sorted(m), n: sorted(n) };
  if (m.length > 1)
    for (const label of m)
      yield { ...groups, batch: batchWith(label), m: sorted(m.filter((l) => l !== label)), n: sorted(n) };
  if (n.length > 1)
    for (const label of n)
      yield { ...groups, batch: batchWith(label), m: sorted(m), n: sorted(n.filter((l) => l !== label)) };
}
