/**
 * A function of scalars: parsed once, traced once for each list of dtypes, and applied to arrays.
 *
 *     (x, y) => { const d = x - y; return d * d; }    →    multiply(subtract(x, y), subtract(x, y))
 *
 * Straight code becomes ordinary nodes, so that it is fused, tiled and run as whatever is written with methods.
 */
import type { Expr, Site } from '../graph/expr.js';
import { broadcastLike, constant, isExpr, toExpr } from '../graph/infer.js';
import { argumentLike } from '../graph/loops.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError } from '../host/errors.js';
import { type CallableOf, type Captures, Names } from './names.js';
import { Source } from './source.js';
import { State } from './state.js';
import { Tracer } from './statements.js';
import { substituted } from './substitute.js';
import { type Callable, isOperand, LocalArray, LocalFunction, type Operand, type Value } from './value.js';
import { Scope } from './variables.js';

/** Traces that are kept of a function. */
const MOST_KNOWN = 32;

/** The type of an array's elements; a trace is kept for each list of them. */
type Element = Pick<Expr, 'dtype' | 'weak'>;

/** The graph of a function for parameters of some dtypes. */
interface TracedGraph {
  readonly parameters: readonly Expr[];
  readonly result: Value;
}

export class ScalarFunction {
  readonly callable: Callable;
  readonly #op: string;
  readonly #fn: LocalFunction;
  readonly #tracer: Tracer;
  readonly #known = new Map<string, TracedGraph>();

  /** Throws an ArgumentError for all that is not in the language, with its place. */
  constructor(
    op: string,
    name: string,
    fn: unknown,
    captures: Captures,
    callableOf: CallableOf,
    site: Site | undefined,
  ) {
    const source = new Source(op, fn, site);
    this.#op = name;
    this.#fn = new LocalFunction(source.node, new Scope(undefined));
    this.#tracer = new Tracer(source, new Names(captures, callableOf));
    const { params } = source.node;
    const rest = params.find(({ type }) => type === 'RestElement');
    if (rest !== undefined) source.refuse(rest, 'parameters by name');
    const optional = params.findIndex(({ type }) => type === 'AssignmentPattern');
    this.callable = {
      name,
      least: optional < 0 ? params.length : optional,
      most: params.length,
      apply: (args, path) => this.#traced(args, path),
    };
  }

  /**
   * Traces the function for float64, which finds what is not in the language. `lengths`: of parameters that are
   * lists.
   */
  check(lengths: readonly (number | undefined)[] = []): void {
    const element = { dtype: 'float64', weak: false } as const;
    try {
      this.#traceOf(
        this.#fn.node.params.map((_, k) =>
          lengths[k] === undefined ? element : Array(lengths[k]).fill(element),
        ),
      );
    } catch (error) {
      // The function may be meant for other dtypes.
      if (!(error instanceof DTypeError || error instanceof RangeArgumentError)) throw error;
    }
  }

  /** The results for some arrays, scalars and lists of arrays, in a list where the function returns one. */
  apply(given: readonly (Operand | readonly Expr[])[]): Expr | Expr[] {
    const { least, most } = this.callable;
    if (given.length < least || given.length > most) {
      const wanted = least === most ? `${least}` : `${least} to ${most}`;
      throw new ArgumentError(
        expected(this.#op, `${wanted} argument${most === 1 ? '' : 's'}`, `${given.length}`),
      );
    }
    const arrays = given.flat().filter(isExpr);
    const { parameters, result } = given.every((each) => isList(each) || isExpr(each))
      ? this.#traceOf(given as readonly (Expr | readonly Expr[])[])
      : this.#specialised(given);
    const nodes = result instanceof LocalArray ? result.elements : [result as Operand];
    const strong = nodes.map((node) => (isExpr(node) ? node : toExpr(this.#op, node)));
    const made = substituted(this.#op, strong, parameters, arrays).map((expr) =>
      broadcastLike(this.#op, expr.weak ? { ...expr, weak: false } : expr, arrays),
    );
    return result instanceof LocalArray ? made : made[0]!;
  }

  #traceOf(given: readonly (Element | readonly Element[])[]): TracedGraph {
    const keyOf = ({ dtype, weak }: Element): string => (weak ? `weak ${dtype}` : dtype);
    const key = given.map((each) => (isList(each) ? `[${each.map(keyOf)}]` : keyOf(each))).join();
    let trace = this.#known.get(key);
    if (trace === undefined) {
      trace = this.#specialised(given);
      if (this.#known.size === MOST_KNOWN) this.#known.delete(this.#known.keys().next().value!);
      this.#known.set(key, trace);
    }
    return trace;
  }

  /** A trace in which scalars are constants. */
  #specialised(given: readonly (Element | Operand | readonly Element[])[]): TracedGraph {
    const parameters: Expr[] = [];
    const parameterFor = ({ dtype, weak }: Element): Expr => {
      const made = argumentLike(constant(0, dtype), parameters.length, weak);
      parameters.push(made);
      return made;
    };
    const args = given.map((each): Value => {
      if (isList(each)) return new LocalArray(each.map(parameterFor));
      return isElement(each) ? parameterFor(each) : each;
    });
    return { parameters, result: this.#traced(args, true) };
  }

  #traced(args: readonly Value[], path: State['path']): Value {
    const result = this.#tracer.call(this.#fn, args, new State(path));
    if (!(isOperand(result) || result instanceof LocalArray))
      throw new ArgumentError(expected(this.#op, 'numbers to be returned', 'something else'));
    return result;
  }
}

const isList = <T>(value: unknown): value is readonly T[] => Array.isArray(value);
const isElement = (value: Element | Operand): value is Element =>
  typeof value === 'object' && 'dtype' in value;
