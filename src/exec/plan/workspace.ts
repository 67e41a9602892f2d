/**
 * The workspace of a plan's matrix products: one temporary that they share, for they run one after the other. A product
 * takes as much as makes it fast, or less where a budget leaves no more. Called by `planner.ts` and `sweeps.ts`.
 *
 * On the CPU bits do not depend on it. cuBLAS may choose another order of sums with a smaller one; so that is taken only where
 * a job would be refused otherwise.
 */
import type { Draft } from './draft.js';
import type { MatmulStep, Step } from './plan.js';

/** Bytes that a product uses besides its operands and its result, and the least that it can do with. */
export interface WorkspaceNeed {
  readonly most: number;
  readonly least: number;
}

/** What is tried, as parts of what products would use. */
const PARTS = [1, 1 / 8, 1 / 64, 0];

/** The draft with less and less workspace; itself, if it has no products. */
export function* withWorkspaces(
  draft: Draft,
  needOf: (step: MatmulStep) => WorkspaceNeed,
): Generator<Draft, void> {
  const needs = [...differentProducts(draft.steps)].map(needOf);
  const most = Math.max(0, ...needs.map((need) => need.most));
  const least = Math.max(0, ...needs.map((need) => need.least));
  let before: number | undefined;
  for (const part of PARTS) {
    const bytes = Math.max(least, Math.floor(most * part));
    if (bytes === before) continue;
    before = bytes;
    yield bytes === 0 ? draft : withWorkspace(draft, bytes);
  }
}

function withWorkspace(draft: Draft, byteLength: number): Draft {
  const workspace = draft.buffers.length;
  return {
    ...draft,
    buffers: [
      ...draft.buffers,
      { key: 'workspace', role: 'temporary', byteLength, source: -1, isStored: false, isRead: false },
    ],
    steps: draft.steps.map((step) => withBuffer(step, workspace)),
    workspace,
  };
}

/** The step with a workspace for its products. */
function withBuffer<S extends Step>(step: S, workspace: number): S {
  if (step.kind === 'matmul') return { ...step, workspace };
  if (step.kind !== 'loop') return step;
  return { ...step, body: step.body.map((part) => withBuffer(part, workspace)) };
}

/** One of each of the products that differ in more than where their matrices lie. */
function differentProducts(steps: readonly Step[]): Iterable<MatmulStep> {
  const products = new Map<string, MatmulStep>();
  const strides = ({ batchStride, rowStride, columnStride }: MatmulStep['a']): string =>
    `${batchStride} ${rowStride} ${columnStride}`;
  for (const product of steps.flatMap(productsOf)) {
    const { dtype, batch, m, n, k, a, b, c } = product;
    const offsets = `${a.offset} ${b.offset} ${c.offset}`;
    const key = `${dtype} ${batch} ${m} ${n} ${k} ${offsets} ${strides(a)} ${strides(b)} ${strides(c)}`;
    products.set(key, product);
  }
  return products.values();
}

/** The products of a step, those in loops among them. */
function productsOf(step: Step): MatmulStep[] {
  if (step.kind === 'loop') return step.body.flatMap(productsOf);
  return step.kind === 'matmul' ? [step] : [];
}

/** The buffer that a step's products share, if there is one. */
export const workspacesOf = (step: Step): number[] =>
  productsOf(step)
    .slice(0, 1)
    .flatMap(({ workspace }) => (workspace === undefined ? [] : [workspace]));
