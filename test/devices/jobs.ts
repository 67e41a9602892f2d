/**
 * The jobs of a record: every conformance program, and random graphs. They depend on nothing but the
 * seed, and on no package that is not there where the record is made.
 */
import type { Lazy } from '../../src/index.js';
import { referenceOf } from '../support/api.js';
import { toScalars } from '../support/host.js';
import { PROGRAMS } from '../support/programs.js';
import { generator } from '../support/random.js';
import { tolerances } from '../support/random-check.js';
import { ACTIONS, buildRandomProgram } from '../support/random-graph.js';
import { isComplexValue } from '../support/scalar.js';
import { type Exactness, exactnessOf } from './exactness.js';

export interface Output {
  readonly lazy: Lazy;
  /**
   * Which devices give the same bits. On others values may differ by `absolute`, the program's own tolerance.
   */
  readonly exact: Exactness;
  readonly absolute: number;
}

export interface Job {
  readonly name: string;
  readonly outputs: readonly Output[];
}

export function* jobsOf(graphs: number, seed: number): Generator<Job> {
  for (const program of PROGRAMS) yield programJob(program);
  const next = generator(seed);
  for (let k = 0; k < graphs; k++) yield graphJob(k, next);
}

function programJob({ name, tolerance, build }: (typeof PROGRAMS)[number]): Job {
  const lazies = build();
  // A program that states no tolerance is exact whatever the order.
  if (tolerance === undefined)
    return { name, outputs: lazies.map((lazy) => ({ lazy, exact: 'everywhere', absolute: 0 })) };
  const reference = referenceOf(lazies);
  const outputs = lazies.map((lazy, k): Output => {
    const sizes = toScalars(reference[k]!).map((v) =>
      isComplexValue(v) ? Math.hypot(v.re, v.im) : Math.abs(Number(v)),
    );
    const largest = sizes.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
    // Both devices may be off by the tolerance.
    return { lazy, exact: exactnessOf(lazy.expr), absolute: 2 * tolerance * largest };
  });
  return { name, outputs };
}

function graphJob(position: number, next: () => number): Job {
  const draw = (below: number): number => Math.floor(next() * below);
  const length = 2 + draw(23);
  const choices = Array.from({ length }, () => ({
    action: draw(ACTIONS.length),
    a: draw(1000),
    b: draw(1000),
    c: draw(1000),
  }));
  const program = buildRandomProgram(choices);
  const toleranceOf = tolerances(program, referenceOf(program.values.map(({ lazy }) => lazy)));
  const last = program.values.length - 1;
  const picks = [...new Set([last, draw(last + 1), draw(last + 1)])];
  const outputs = picks.map((k): Output => {
    const { lazy, exact, bound } = program.values[k]!;
    return {
      lazy,
      exact: exact && bound !== undefined ? 'everywhere' : exactnessOf(lazy.expr),
      absolute: exact ? 0 : 2 * (toleranceOf(k)(0)?.absolute ?? 0),
    };
  });
  return { name: `graph ${position}: ${program.code.join(' ')}`, outputs };
}
