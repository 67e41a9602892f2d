/**
 * Products of the same factors that several epilogues were taken into are one product, and what these compute of it are
 * maps again, with the bits of the calls:
 *
 *     contract a b;  contract a b, + bias                      →   p = contract a b;  p;  p + bias
 *     contract a b, + bias;  contract a b, + bias, relu        →   p = contract a b, + bias;  p;  maximum p 0
 *     contract a b of halves;  contract a b of halves, + bias  →   p = contract a b to float32;  half p;  half (p + bias)
 *
 * Maps compute in the dtype of the sums, in the order of an epilogue, and round once, as a library does. A gelu is no map's
 * to the bit, and stays a call. Called by `fuse-epilogues.ts`.
 */
import { type DType, isHalf } from '../../graph/dtype.js';
import { type Epilogue, PLAIN } from '../../graph/epilogue.js';
import { type GraphNodeOf, type MutableGraph, nodeOf, orderOf } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

type Contract = GraphNodeOf<'contract'>;

/** An epilogue, and the nodes that it reads: of the addend and of the bias. */
interface Added extends Epilogue {
  readonly addend: number | undefined;
  readonly bias: number | undefined;
}

export function* shareProducts(graph: MutableGraph): Slices<void> {
  const groups = sharedOf(graph);
  if (groups.size === 0) return;
  yield* rewriteInOneWalk(graph, {
    contract: [
      (node, editor) => {
        const group = node.kind === 'contract' ? groups.get(node.id) : undefined;
        return group === undefined ? undefined : ofShared(node as Contract, group, editor);
      },
    ],
  });
}

/** The products that are computed more than once, each with all of its factors, by id. */
function sharedOf(graph: MutableGraph): ReadonlyMap<number, readonly Contract[]> {
  const byFactors = new Map<string, Contract[]>();
  for (const id of orderOf(graph)) {
    const node = nodeOf(graph, id);
    if (node.kind !== 'contract' || node.epilogue?.activation === 'gelu') continue;
    // cuTENSOR stores halves alone.
    if (node.library === 'cutensor' && isHalf(node.dtype)) continue;
    const { labels, output, precision, library, conjugated, inputs } = node;
    const key = JSON.stringify([labels, output, precision, library, conjugated, inputs.slice(0, 2)]);
    const found = byFactors.get(key);
    if (found === undefined) byFactors.set(key, [node]);
    else found.push(node);
  }
  const shared = new Map<number, readonly Contract[]>();
  for (const group of byFactors.values())
    if (group.length > 1) for (const { id } of group) shared.set(id, group);
  return shared;
}

function addedOf({ epilogue = PLAIN, inputs }: Pick<Contract, 'epilogue' | 'inputs'>): Added {
  const [addend, ...rest] = epilogue.beta === 0 ? [undefined, ...inputs.slice(2)] : inputs.slice(2);
  return { ...epilogue, addend, bias: epilogue.hasBias ? rest[0] : undefined };
}

/** The beginning that some epilogues have in common: a factor, then an addend, then a bias. */
function beginningOf(all: readonly Added[]): Epilogue {
  const [{ alpha, beta, addend, hasBias, bias }] = all as readonly [Added];
  if (all.some((other) => other.alpha !== alpha)) return PLAIN;
  if (all.some((other) => other.beta !== beta || other.addend !== addend)) return { ...PLAIN, alpha };
  return {
    alpha,
    beta,
    hasBias: hasBias && all.every((other) => other.bias === bias),
    activation: undefined,
  };
}

/** A product of a group as a map of the one that all of it are computed from. */
function ofShared(node: Contract, group: readonly Contract[], editor: Editor): number {
  const begun = beginningOf(group.map(addedOf));
  const factorDType = editor.node(node.inputs[0]!).dtype;
  const dtype = isHalf(factorDType) ? 'float32' : node.dtype;
  // An addend and a bias have the dtype of the result, in which halves are not summed.
  const isKept = dtype === factorDType || (begun.beta === 0 && !begun.hasBias);
  const start = isKept ? begun : PLAIN;
  const own = addedOf(node);
  const { id: _, ...data } = node;
  const { alpha, beta, hasBias } = start;
  const isBare = dtype === factorDType && alpha === 1 && beta === 0 && !hasBias;
  const shared = editor.add({
    ...data,
    dtype,
    epilogue: isBare ? undefined : start,
    inputs: [
      ...node.inputs.slice(0, 2),
      ...(beta === 0 ? [] : [own.addend!]),
      ...(hasBias ? [own.bias!] : []),
    ],
  });
  return new Maps(editor, dtype, node.shape).after(shared, start, own, node.dtype);
}

/** The ops of an epilogue. */
class Maps {
  readonly #editor: Editor;
  readonly #dtype: DType;
  readonly #shape: readonly number[];

  constructor(editor: Editor, dtype: DType, shape: readonly number[]) {
    this.#editor = editor;
    this.#dtype = dtype;
    this.#shape = [...shape];
  }

  /** The result of an epilogue, of a product that has the beginning of it. */
  after(
    product: number,
    begun: Epilogue,
    { alpha, beta, addend, bias, activation }: Added,
    to: DType,
  ): number {
    let value = product;
    if (alpha !== begun.alpha) value = this.#map('multiply', value, this.#constant(alpha));
    if (addend !== undefined && begun.beta === 0) {
      const wide = this.#cast(addend, this.#dtype);
      const scaled = Math.abs(beta) === 1 ? wide : this.#map('multiply', wide, this.#constant(beta));
      value = this.#map(beta === -1 ? 'subtract' : 'add', value, scaled);
    }
    if (bias !== undefined && !begun.hasBias) value = this.#map('add', value, this.#cast(bias, this.#dtype));
    if (activation === 'relu') value = this.#map('maximum', value, this.#constant(0));
    return this.#cast(value, to);
  }

  #map(op: 'add' | 'subtract' | 'multiply' | 'maximum', a: number, b: number): number {
    const whole = this.#editor.broadcast(b, this.#shape);
    return this.#editor.add({ kind: 'map', op, dtype: this.#dtype, shape: this.#shape, inputs: [a, whole] });
  }

  #cast(id: number, dtype: DType): number {
    const node = this.#editor.node(id);
    return node.dtype === dtype
      ? id
      : this.#editor.add({ kind: 'cast', dtype, shape: node.shape, inputs: [id] });
  }

  #constant(value: number): number {
    const isComplex = this.#dtype.startsWith('complex');
    return this.#editor.constant(isComplex ? { re: value, im: 0 } : value, this.#dtype);
  }
}
