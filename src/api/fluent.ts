/**
 * The methods of Lazy and the free functions, made from tables: a row of OPS or REDUCTIONS, or an export of
 * the modules listed in `MODULES`, is one method and one function, with the row's documentation. Nothing is
 * listed twice. Their types are in `fluent-types.ts`.
 *
 * Each call notes where the user made it (`site.ts`), so that a composite's nodes all carry the user's line.
 * `lazy.ts` installs the methods, `functions.ts` (written by scripts/make-functions.mjs) names the functions.
 */

import { type AxisOr, refuseMore, type SumOptions, tooMany } from '../graph/arguments.js';
import * as choosing from '../graph/choosing.js';
import * as composites from '../graph/composites.js';
import * as correlations from '../graph/correlations.js';
import * as counting from '../graph/counting.js';
import * as diagonals from '../graph/diagonals.js';
import * as differences from '../graph/differences.js';
import * as elementwise from '../graph/elementwise.js';
import type { Expr } from '../graph/expr.js';
import * as indexing from '../graph/indexing.js';
import { isExpr, map, type Operand } from '../graph/infer.js';
import * as masks from '../graph/masks.js';
import * as moments from '../graph/moments.js';
import * as nanQuantiles from '../graph/nan-quantiles.js';
import * as nanReductions from '../graph/nan-reductions.js';
import { OP_NAMES, type OpName, opRow } from '../graph/ops.js';
import * as orderStatistics from '../graph/order-statistics.js';
import * as partitions from '../graph/partitions.js';
import * as products from '../graph/products.js';
import * as rearranging from '../graph/rearranging.js';
import { REDUCTION_NAMES, reduceBy } from '../graph/reducing.js';
import * as scans from '../graph/scans.js';
import * as searching from '../graph/searching.js';
import * as segmentReductions from '../graph/segment-reductions.js';
import * as sets from '../graph/sets.js';
import * as signals from '../graph/signals.js';
import * as slicing from '../graph/slicing.js';
import * as sorting from '../graph/sorting.js';
import * as special from '../graph/special.js';
import * as statistics from '../graph/statistics.js';
import * as updates from '../graph/updates.js';
import * as views from '../graph/views.js';
import { ignoreRejections } from '../host/refused-promises.js';
import { beginCall, endCall, limitTrace } from '../host/site.js';
import { atCaller } from '../host/stack-traces.js';
import { admitted } from './admission.js';
import type { FreeFunctions } from './fluent-types.js';
import type { Lazy } from './lazy.js';

/** Modules of functions of two arrays, the second of which may be nested lists. */
const PRODUCTS = { ...products, ...signals };

/**
 * Modules whose every export is a method and a free function: `(x: Expr, ...) => Expr`; products take two
 * arrays.
 */
const MODULES = {
  ...choosing,
  ...composites,
  ...elementwise,
  ...indexing,
  ...masks,
  ...moments,
  ...nanQuantiles,
  ...nanReductions,
  ...PRODUCTS,
  ...rearranging,
  ...searching,
  ...segmentReductions,
  ...sets,
  ...slicing,
  ...correlations,
  ...counting,
  ...diagonals,
  ...differences,
  ...orderStatistics,
  ...partitions,
  ...scans,
  ...sorting,
  ...special,
  ...statistics,
  ...updates,
  ...views,
};

type Modules = typeof MODULES;

/** Functions of the modules that take any number of arguments. */
const VARIADIC: {
  readonly [K in keyof Modules as number extends Parameters<Modules[K]>['length'] ? K : never]: true;
} = { broadcastTo: true, reshape: true, slice: true };

/** Hints for arguments that NumPy takes and Weft spells otherwise. */
const INSTEAD: Readonly<Record<string, string>> = {
  permuteDims: 'axes are one list: [1, 0]',
  round: 'for 2 decimals x.mul(100).round().div(100)',
  transpose: 'axes are one list: [1, 0]',
};

// ---------------------------------------------------------------- making them

/** How handles and nodes turn into each other; `lazy.ts` gives it, so that this file needs no class. */
export interface Wrapping {
  readonly wrap: (expr: Expr) => Lazy;
  /** The node of an array or of data; scalars stay weak. */
  readonly operand: (op: string, value: unknown) => Operand;
  /** The node of an array or of data, scalars included. */
  readonly array: (op: string, value: unknown) => Expr;
  /** The node of a Lazy, a typed array or shaped data; other arguments stay as they are. */
  readonly argument: (value: unknown) => unknown;
}

type Build = (x: Expr, ...rest: readonly unknown[]) => Expr;

interface Builder {
  readonly name: string;
  readonly build: Build;
  /** The most arguments, the array among them. */
  readonly most: number;
}

/** All functions of the modules and reductions. */
function builders(): Builder[] {
  const reductions = REDUCTION_NAMES.map((name): Builder => {
    const build: Build = (x, axis, options) =>
      reduceBy(name, x, axis as AxisOr<SumOptions>, options as SumOptions);
    return { name, build, most: build.length };
  });
  // Parameters of the modules have no default values, up to which `length` would count.
  const built = (Object.entries(MODULES) as [string, Build][]).map(([name, build]): Builder => {
    return { name, build, most: Object.hasOwn(VARIADIC, name) ? Number.POSITIVE_INFINITY : build.length };
  });
  return [...reductions, ...built];
}

/**
 * Arguments after the first array as nodes, where they are arrays. The second of a product may be nested
 * lists.
 */
function givenBy(name: string, { operand, argument }: Wrapping) {
  const isProduct = Object.hasOwn(PRODUCTS, name);
  return (value: unknown, k: number): unknown => {
    const given = isProduct && k === 0 ? operand(name, value) : argument(value);
    return isExpr(given) ? admitted(name, given) : given;
  };
}

function named<F extends object>(name: string, method: F): F {
  return Object.defineProperty(method, 'name', { value: name });
}

/** Installs every method on the prototype of Lazy. */
export function installMethods(prototype: Lazy, wrapping: Wrapping): void {
  const install = (name: string, method: object): void => {
    Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
  };
  for (const op of OP_NAMES) {
    const method = named(op, opMethod(op, wrapping));
    for (const name of [op, ...(opRow(op).aliases ?? [])]) install(name, method);
  }
  for (const builder of builders())
    install(builder.name, named(builder.name, groupMethod(builder, wrapping)));
}

/** One function for each arity, without lists of arguments: graph building is hot. */
function opMethod(op: OpName, wrapping: Wrapping) {
  const build = opBuilder(op, wrapping);
  const most = opRow(op).arity - 1;
  return function method(this: Lazy, a?: unknown, b?: unknown, c?: unknown, d?: unknown): Lazy {
    const limit = limitTrace();
    beginCall(Error(), limit);
    try {
      // The first argument that is too many is among these: a list of all of them would take time.
      if (
        d !== undefined ||
        (most < 3 && c !== undefined) ||
        (most < 2 && b !== undefined) ||
        (most < 1 && a !== undefined)
      ) {
        ignoreRejections([a, b, c, d]);
        const given = [a, b, c, d].findLastIndex((argument) => argument !== undefined) + 1;
        const seen = Math.max(3, most + 1);
        throw tooMany(op, most, given < seen ? `${given}` : `${seen} or more`, INSTEAD[op]);
      }
      return build(this, a, b, c);
    } catch (error) {
      throw atCaller(error, method); // node-do-not-add-exception-line
    } finally {
      endCall();
    }
  };
}

function opBuilder(
  op: OpName,
  { wrap, operand }: Wrapping,
): (x: Lazy, a: unknown, b: unknown, c: unknown) => Lazy {
  switch (opRow(op).arity) {
    case 1:
      return (x) => wrap(map(op, [x.expr]));
    case 2:
      return (x, a) => wrap(map(op, [x.expr, operand(op, a)]));
    case 3:
      return (x, a, b) => wrap(map(op, [x.expr, operand(op, a), operand(op, b)]));
    case 4:
      return (x, a, b, c) => wrap(map(op, [x.expr, operand(op, a), operand(op, b), operand(op, c)]));
  }
}

function groupMethod({ name, build, most }: Builder, wrapping: Wrapping) {
  const given = givenBy(name, wrapping);
  const buildLazy = (x: Lazy, args: readonly unknown[]): Lazy =>
    wrapping.wrap(build(admitted(name, x.expr), ...args.map(given)));
  return function method(this: Lazy, ...args: readonly unknown[]): Lazy {
    const limit = limitTrace();
    beginCall(Error(), limit);
    try {
      refuseMore(name, most - 1, args, INSTEAD[name]);
      return buildLazy(this, args);
    } catch (error) {
      throw atCaller(error, method); // node-do-not-add-exception-line
    } finally {
      endCall();
    }
  };
}

/** Makes every free function. */
export function makeFunctions(wrapping: Wrapping): FreeFunctions {
  const { wrap, operand, array } = wrapping;
  const functions: Record<string, (...args: readonly unknown[]) => Lazy> = {};
  const make = (name: string, most: number, build: (args: readonly unknown[]) => Expr) => {
    const call = (...args: readonly unknown[]): Lazy => {
      const limit = limitTrace();
      beginCall(Error(), limit);
      try {
        refuseMore(name, most, args, INSTEAD[name]);
        return wrap(build(args));
      } catch (error) {
        throw atCaller(error, call); // node-do-not-add-exception-line
      } finally {
        endCall();
      }
    };
    return named(name, call);
  };
  for (const op of OP_NAMES) {
    const { arity, aliases } = opRow(op);
    const operands = Array.from({ length: arity }, (_, k) => k);
    const call = make(op, arity, (args) =>
      map(
        op,
        operands.map((k) => operand(op, args[k])),
      ),
    );
    for (const name of [op, ...(aliases ?? [])]) functions[name] = call;
  }
  for (const { name, build, most } of builders()) {
    const given = givenBy(name, wrapping);
    functions[name] = make(name, most, ([x, ...args]) => build(array(name, x), ...args.map(given)));
  }
  return functions as unknown as FreeFunctions;
}
