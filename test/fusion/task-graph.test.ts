/** Which tasks depend on which: against all paths of random graphs, and how much of a graph is looked at. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TaskGraph, TaskNode } from '../../src/fusion/partition/task-graph.js';
import { completed } from '../../src/host/slices.js';

/** A graph in which task k writes buffer k and reads those of earlier tasks. */
function graphOf(reads: readonly (readonly number[])[]): { graph: TaskGraph; tasks: TaskNode[] } {
  const graph = new TaskGraph();
  const tasks = reads.map((list, k) => new TaskNode(undefined, { nodes: [], reads: list, writes: [k] }));
  for (const task of tasks) graph.add(task);
  return { graph, tasks };
}

/** For each task, the tasks that lead to it. */
function ancestorsOf(reads: readonly (readonly number[])[]): Set<number>[] {
  const ancestors: Set<number>[] = [];
  for (const list of reads) ancestors.push(new Set(list.flatMap((k) => [k, ...ancestors[k]!])));
  return ancestors;
}

const anyTask = (): boolean => true;

describe('reaches', () => {
  it('says what depends on what, directly and through others', () => {
    const lists = fc.array(fc.array(fc.nat(1000), { maxLength: 3 }), { minLength: 2, maxLength: 24 });
    fc.assert(
      fc.property(lists, (choices) => {
        const reads = choices.map((list, k) => (k === 0 ? [] : list.map((choice) => choice % k)));
        const { graph, tasks } = graphOf(reads);
        const ancestors = ancestorsOf(reads);
        for (const [a, from] of tasks.entries()) {
          for (const [b, to] of tasks.entries()) {
            if (a === b) continue;
            const isThroughOthers = reads[b]!.some((k) => k !== a && ancestors[k]!.has(a));
            expect(graph.reaches(from, to, false, anyTask)).toBe(ancestors[b]!.has(a));
            expect(graph.reaches(from, to, true, anyTask)).toBe(isThroughOthers);
          }
        }
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  it('looks at few of the tasks that read a value which all read', () => {
    const count = 500;
    const reads = Array.from({ length: count }, (_, k) => (k < 2 ? [0].slice(0, k) : [0, k - 1]));
    const { graph, tasks } = graphOf(reads);
    let looks = 0;
    const mayLead = (): boolean => ++looks > 0;
    for (let k = 2; k < count; k++) expect(graph.reaches(tasks[0]!, tasks[k]!, true, mayLead)).toBe(true);
    expect(looks).toBeLessThan(count);
  });

  it.each([
    [900, false],
    [1200, true],
  ])('takes tasks to be connected where a search is too long: %i tasks', (count, isTaken) => {
    const readers = Array.from({ length: count }, () => [0]);
    const { graph, tasks } = graphOf([[], ...readers, [], [count + 1]]);
    expect(graph.reaches(tasks[0]!, tasks.at(-1)!, false, anyTask)).toBe(isTaken);
    expect(graph.reaches(tasks[1]!, tasks.at(-1)!, false, anyTask)).toBe(false);
  });
});

describe('order', () => {
  it('is found once, until a task is added', () => {
    const { graph, tasks } = graphOf([[], [0], [1]]);
    const order = completed(graph.order());
    expect(order).toEqual(tasks);
    completed(graph.assignLevels());
    expect(completed(graph.order())).toBe(order);
    const last = new TaskNode(undefined, { nodes: [], reads: [2], writes: [3] });
    graph.add(last);
    expect(completed(graph.order())).toEqual([...tasks, last]);
  });
});
