/**
 * Reductions of joins that stay reductions for some of their readers, and are written out for the reductions above them:
 *
 *     m = max over 1 of stack along 1 [a, b, …];  stack … - m, Σ m²     →   m stays beside the difference, Σ is of max(max(a, b), …)²
 *
 * Both forms have the same bits, but the order of the sum follows from what it reads: the arrays below the parts, as where it is
 * alone. Called by `reduce-terms.ts`.
 */
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import { isUnrolled } from './element-cost.js';
import { isElementwise } from './join-cuts.js';
import type { Editor } from './rewrite.js';

type Reduce = GraphNodeOf<'reduce'>;

export class KeptReductions {
  /** By id of such a reduction: makes what it is written out. */
  readonly #kept = new Map<number, () => number>();
  /** By id: the node with these written out. */
  readonly #written = new Map<number, number>();

  note(id: number, write: () => number): void {
    this.#kept.set(id, write);
  }

  /** A reduction of what it reads, in which all of them are written out; itself where there are none. */
  writtenIn(root: Reduce, editor: Editor): Reduce {
    if (this.#kept.size === 0) return root;
    const inputs = root.inputs.map((id) => this.#of(id, editor));
    return inputs.every((id, k) => id === root.inputs[k]) ? root : { ...root, inputs };
  }

  /** Iterative: maps may be in long chains. */
  #of(start: number, editor: Editor): number {
    const open = [start];
    for (let id = open.at(-1); id !== undefined; id = open.at(-1)) {
      const node = editor.node(id);
      const missing = this.#isPassed(node) ? node.inputs.filter((input) => !this.#written.has(input)) : [];
      if (missing.length > 0) {
        for (const input of missing) open.push(input);
        continue;
      }
      open.pop();
      if (!this.#written.has(id)) this.#written.set(id, this.#make(node, editor));
    }
    return this.#written.get(start)!;
  }

  /** Whether a kernel computes a node from its inputs. */
  #isPassed(node: GraphNode): boolean {
    const isComputed =
      isElementwise(node) || node.kind === 'view' || node.kind === 'join' || isUnrolled(node);
    return isComputed && !this.#kept.has(node.id);
  }

  #make(node: GraphNode, editor: Editor): number {
    const write = this.#kept.get(node.id);
    if (write !== undefined) return write();
    if (!this.#isPassed(node)) return node.id;
    const inputs = node.inputs.map((id) => this.#written.get(id)!);
    if (inputs.every((id, k) => id === node.inputs[k])) return node.id;
    const { id: _, ...data } = node;
    return editor.add({ ...data, inputs });
  }
}
