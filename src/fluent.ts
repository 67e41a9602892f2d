/**
 * The methods of Lazy and the free functions, made from tables: a row of OPS or REDUCTIONS, or an export of the modules
 * listed in `GROUPS`, is one method and one function, with the row's documentation. Nothing is listed twice.
 *
 * Each call notes where the user made it (`site.ts`), so that a composite's nodes all carry the user's line.
 * `lazy.ts` installs the methods, `functions.ts` (written by scripts/make-functions.mjs) names the functions.
 */
import type { AxisOr, ReduceOptions, SumOptions } from './graph/arguments.js';
import * as composites from './graph/composites.js';
import type { Expr, TypedArray } from './graph/expr.js';
import { map, type Operand } from './graph/infer.js';
import * as masks from './graph/masks.js';
import { OP_NAMES, type OPS, type OpName, opRow } from './graph/ops.js';
import * as products from './graph/products.js';
import { REDUCTION_NAMES, reduceBy } from './graph/reducing.js';
import type { REDUCTIONS } from './graph/reductions.js';
import * as slicing from './graph/slicing.js';
import * as statistics from './graph/statistics.js';
import * as views from './graph/views.js';
import type { ArrayData, ShapedData } from './host-array.js';
import type { Lazy } from './lazy.js';
import { beginCall, endCall, limitTrace } from './site.js';

/** Modules whose every export is a method and a free function: `(x: Expr, ...) => Expr`; products take two arrays. */
const GROUPS = { ...composites, ...masks, ...products, ...slicing, ...statistics, ...views };

/** What a function takes as an array: a Lazy, a scalar, or anything `lazy()` takes. */
export type ArrayLike = Lazy | ArrayData;

// ---------------------------------------------------------------- types

type OpMethod<Arity> = Arity extends 1
  ? () => Lazy
  : Arity extends 2
    ? (other: ArrayLike) => Lazy
    : (x: ArrayLike, y: ArrayLike) => Lazy;
type OpFunction<Arity> = Arity extends 1
  ? (x: ArrayLike) => Lazy
  : Arity extends 2
    ? (x: ArrayLike, y: ArrayLike) => Lazy
    : (condition: ArrayLike, x: ArrayLike, y: ArrayLike) => Lazy;

type OpTable = typeof OPS;
type AliasesOf<Row> = Row extends { readonly aliases: readonly (infer Name extends string)[] } ? Name : never;
type OpMethods = { readonly [K in keyof OpTable]: OpMethod<OpTable[K]['arity']> };
type AliasMethods = { readonly [K in keyof OpTable as AliasesOf<OpTable[K]>]: OpMethod<OpTable[K]['arity']> };
type OpFunctions = { readonly [K in keyof OpTable]: OpFunction<OpTable[K]['arity']> };
type AliasFunctions = {
  readonly [K in keyof OpTable as AliasesOf<OpTable[K]>]: OpFunction<OpTable[K]['arity']>;
};

type OptionsOf<Name> = Name extends 'sum' | 'prod' ? SumOptions : ReduceOptions;
type ReductionMethods = {
  readonly [K in keyof typeof REDUCTIONS]: (axis?: AxisOr<OptionsOf<K>>, options?: OptionsOf<K>) => Lazy;
};
type ReductionFunctions = {
  readonly [K in keyof typeof REDUCTIONS]: (
    x: ArrayLike,
    axis?: AxisOr<OptionsOf<K>>,
    options?: OptionsOf<K>,
  ) => Lazy;
};

/** A parameter as the user gives it: where the function takes a node, a Lazy or data that cannot be another argument. */
type Given<T> = [Expr] extends [T] ? Exclude<T, Expr> | Lazy | TypedArray | ShapedData : T;
type GivenAll<Parameters> = { [K in keyof Parameters]: Given<Parameters[K]> };
type Method<F> = F extends (x: Expr, ...rest: infer Rest) => Expr ? (...rest: GivenAll<Rest>) => Lazy : never;
type Free<F> = F extends (x: Expr, ...rest: infer Rest) => Expr
  ? (x: ArrayLike, ...rest: GivenAll<Rest>) => Lazy
  : never;
type ProductMethod<F> = F extends (x: Expr, other: Operand, ...rest: infer Rest) => Expr
  ? (other: ArrayLike, ...rest: Rest) => Lazy
  : never;
type ProductFunction<F> = F extends (x: Expr, other: Operand, ...rest: infer Rest) => Expr
  ? (x: ArrayLike, other: ArrayLike, ...rest: Rest) => Lazy
  : never;
type ProductMethods = { readonly [K in keyof typeof products]: ProductMethod<(typeof products)[K]> };
type ProductFunctions = { readonly [K in keyof typeof products]: ProductFunction<(typeof products)[K]> };
type MethodsOf<Group> = { readonly [K in keyof Group]: Method<Group[K]> };
type FreeOf<Group> = { readonly [K in keyof Group]: Free<Group[K]> };

/** Every method of Lazy that comes from a table. */
export interface Fluent
  extends OpMethods,
    AliasMethods,
    ReductionMethods,
    MethodsOf<typeof composites>,
    MethodsOf<typeof masks>,
    ProductMethods,
    MethodsOf<typeof slicing>,
    MethodsOf<typeof statistics>,
    MethodsOf<typeof views> {}

/** Every free function that comes from a table. */
export interface FreeFunctions
  extends OpFunctions,
    AliasFunctions,
    ReductionFunctions,
    FreeOf<typeof composites>,
    FreeOf<typeof masks>,
    ProductFunctions,
    FreeOf<typeof slicing>,
    FreeOf<typeof statistics>,
    FreeOf<typeof views> {}

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

/** All functions of the groups and reductions by name. */
function builders(): [string, Build][] {
  const reductions = REDUCTION_NAMES.map((name): [string, Build] => [
    name,
    (x, axis, options) => reduceBy(name, x, axis as AxisOr<SumOptions>, options as SumOptions),
  ]);
  return [...reductions, ...(Object.entries(GROUPS) as [string, Build][])];
}

/** Arguments after the first array as nodes, where they are arrays. The second of a product may be nested lists. */
function givenBy(name: string, { operand, argument }: Wrapping) {
  const isProduct = Object.hasOwn(products, name);
  return (value: unknown, k: number): unknown =>
    isProduct && k === 0 ? operand(name, value) : argument(value);
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
  for (const [name, build] of builders()) {
    install(name, named(name, groupMethod(name, build, wrapping)));
  }
}

/** One function for each arity, without lists of arguments: graph building is hot. */
function opMethod(op: OpName, wrapping: Wrapping) {
  const build = opBuilder(op, wrapping);
  return function (this: Lazy, a?: unknown, b?: unknown): Lazy {
    const limit = limitTrace();
    beginCall(Error(), limit);
    try {
      return build(this, a, b);
    } finally {
      endCall();
    }
  };
}

function opBuilder(op: OpName, { wrap, operand }: Wrapping): (x: Lazy, a: unknown, b: unknown) => Lazy {
  switch (opRow(op).arity) {
    case 1:
      return (x) => wrap(map(op, [x.expr]));
    case 2:
      return (x, a) => wrap(map(op, [x.expr, operand(op, a)]));
    case 3:
      return (x, a, b) => wrap(map(op, [x.expr, operand(op, a), operand(op, b)]));
  }
}

function groupMethod(name: string, build: Build, wrapping: Wrapping) {
  const given = givenBy(name, wrapping);
  const buildLazy = (x: Lazy, args: readonly unknown[]): Lazy =>
    wrapping.wrap(build(x.expr, ...args.map(given)));
  return function (this: Lazy, ...args: readonly unknown[]): Lazy {
    const limit = limitTrace();
    beginCall(Error(), limit);
    try {
      return buildLazy(this, args);
    } finally {
      endCall();
    }
  };
}

/** Makes every free function. */
export function makeFunctions(wrapping: Wrapping): FreeFunctions {
  const { wrap, operand, array } = wrapping;
  const functions: Record<string, (...args: readonly unknown[]) => Lazy> = {};
  const make = (name: string, build: (args: readonly unknown[]) => Expr) => {
    return named(name, (...args: readonly unknown[]): Lazy => {
      const limit = limitTrace();
      beginCall(Error(), limit);
      try {
        return wrap(build(args));
      } finally {
        endCall();
      }
    });
  };
  for (const op of OP_NAMES) {
    const { arity, aliases } = opRow(op);
    const operands = Array.from({ length: arity }, (_, k) => k);
    const call = make(op, (args) =>
      map(
        op,
        operands.map((k) => operand(op, args[k])),
      ),
    );
    for (const name of [op, ...(aliases ?? [])]) functions[name] = call;
  }
  for (const [name, build] of builders()) {
    const given = givenBy(name, wrapping);
    functions[name] = make(name, ([x, ...args]) => build(array(name, x), ...args.map(given)));
  }
  return functions as unknown as FreeFunctions;
}
