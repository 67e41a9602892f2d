/**
 * Makes the nodes of loops: closes a body over what it captures, so that it is a graph of its arguments
 * alone, and leaves what no step changes to be computed once, before the loop:
 *
 *     x → x * exp(w)      →   arguments x, e: x * e, with e = exp(w) captured
 *
 * Steps look at the indices that they change (`step-checks.ts`). Called by `loops.ts` of the public API, which calls the user's functions.
 */
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { currentSite } from '../host/site.js';
import { checkedIndices } from './checked-indices.js';
import { depthOf } from './depth.js';
import type { CheckedIndices, Expr, ExprOf, LoopBody, LoopCount, StepCheck } from './expr.js';
import { withExtent } from './extent.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { constant, map } from './infer.js';
import { mayBeOut } from './known-range.js';
import { opRow } from './ops.js';
import { sameShape } from './shape.js';
import {
  type FoundIndices,
  foundIndices,
  foundInLoop,
  nextWrong,
  noneWrong,
  withoutErrors,
} from './step-checks.js';
import { broadcast } from './view-nodes.js';

/** Stands for a state in a body that is being built. */
export function argumentLike(
  { dtype, shape }: Pick<Expr, 'dtype' | 'shape'>,
  index = 0,
  weak = false,
): ExprOf<'source'> {
  return {
    kind: 'source',
    source: { type: 'argument', index },
    dtype,
    shape,
    inputs: [],
    site: currentSite(),
    depth: 0,
    weak,
  };
}

/** Refuses states that do not come back as they went in: `name` says which one is meant. */
export function checkStates(
  op: string,
  before: readonly Expr[],
  next: readonly Expr[],
  name: (k: number) => string,
): void {
  before.forEach((state, k) => {
    const { dtype, shape } = next[k]!;
    if (!sameShape(shape, state.shape)) {
      throw new ShapeError(
        expected(op, `${name(k)} to stay of shape ${formatShape(state.shape)}`, formatShape(shape)),
      );
    }
    if (dtype !== state.dtype) {
      const hint = `cast it back: .astype('${state.dtype}')`;
      throw new DTypeError(expected(op, `${name(k)} to stay ${state.dtype}`, dtype, hint));
    }
  });
}

/**
 * The first `wanted` results of a loop, a node each. `states` are those before the first step, `parameters`
 * stand for them in `next`, the states after a step. States that no step changes, that have no elements or
 * that nothing needs are not carried.
 */
export function loop(
  states: readonly Expr[],
  parameters: readonly Expr[],
  next: readonly Expr[],
  count: LoopCount,
  wanted: number,
): Expr[] {
  const isFixed = (k: number): boolean => next[k] === parameters[k] || sizeOfShape(states[k]!.shape) === 0;
  const needed = neededStates(parameters, next, wanted, count.condition);
  const carried = states.flatMap((_, k) => (needed.has(k) && !isFixed(k) ? [k] : []));
  const fixed = new Map(states.flatMap((state, k) => (isFixed(k) ? [[parameters[k]!, state] as const] : [])));
  const changed = substituted(
    carried.map((k) => next[k]!),
    fixed,
  );
  const place = new Map(carried.map((k, at) => [k, at]));
  const { steps, every } = count;
  const condition = count.condition === undefined ? undefined : place.get(count.condition);
  const body = new Closure(carried.map((k) => parameters[k]!));
  const { stepChecks, hidden, next: all } = withChecks(body, changed, { steps, condition, every });
  body.close(all);
  const shared = { steps, every, condition, next: body.next, checked: body.checked, stepChecks };
  const inputs = [...carried.map((k) => states[k]!), ...hidden, ...body.captured];
  return states.slice(0, wanted).map((state, k): Expr => {
    const kept = every === undefined ? [] : [Math.floor(steps / every)];
    const shape = [...kept, ...state.shape];
    if (sizeOfShape(shape) === 0) return broadcast(constant(0, state.dtype), shape);
    const result = place.get(k);
    if (result === undefined) return broadcast(state, shape);
    return {
      kind: 'loop',
      loop: shared,
      result,
      dtype: state.dtype,
      shape,
      inputs,
      site: currentSite(),
      depth: depthOf(inputs),
      weak: false,
    };
  });
}

interface WithChecks {
  readonly stepChecks: readonly StepCheck[];
  /** Further states before the first step. */
  readonly hidden: readonly Expr[];
  /** All states after a step. */
  readonly next: readonly Expr[];
}

/** The states after a step, and behind them those that have the first indices out of range. */
function withChecks(body: Closure, next: readonly Expr[], { steps, condition }: LoopCount): WithChecks {
  const ofStates = body.decide(next.filter((_, k) => k !== condition));
  // The condition is not asked behind the last step.
  const ofCondition = condition === undefined ? [] : body.decide([next[condition]!]);
  const found = [...ofStates, ...ofCondition];
  if (found.length === 0) return { stepChecks: [], hidden: [], next };
  const none = constant(0n, 'int64');
  const wrong = found.map(() => argumentLike(none));
  const lengths = found.flatMap(({ length }) => (length === undefined ? [] : [argumentLike(none)]));
  const isEnding = ofCondition.length > 0 && steps < Number.MAX_SAFE_INTEGER;
  const counter = isEnding ? [argumentLike(none)] : [];
  const counted = counter.map((number) => map('add', [number, 1n]));
  const isAsked = counted.map((number) => map('less', [number, BigInt(steps)]));
  const after = nextWrong(found, { wrong, lengths }, ofCondition.length, isAsked[0]);
  const parameters = [...wrong, ...lengths, ...counter];
  for (const parameter of parameters) body.carry(parameter);
  const goesOn = noneWrong(after.wrong);
  const own = next.map((x, k) => (k === condition ? map('logicalAnd', [x, goesOn]) : x));
  let size = next.length + wrong.length;
  return {
    stepChecks: found.map(({ found: _, length, ...check }, k) => ({
      ...check,
      state: next.length + k,
      lengthState: length === undefined ? undefined : size++,
    })),
    hidden: parameters.map(() => none),
    next: [...own, ...after.wrong, ...after.lengths, ...counted],
  };
}

/** The states that the first `wanted` ones and the condition are computed from, those among them. */
function neededStates(
  parameters: readonly Expr[],
  next: readonly Expr[],
  wanted: number,
  condition: number | undefined,
): Set<number> {
  const stateOf = new Map(parameters.map((parameter, k) => [parameter, k]));
  const needed = new Set<number>();
  const seen = new Set<Expr>();
  const stack: Expr[] = [];
  const need = (k: number): void => {
    if (needed.has(k)) return;
    needed.add(k);
    stack.push(next[k]!);
  };
  for (let k = 0; k < wanted; k++) need(k);
  if (condition !== undefined) need(condition);
  for (let x = stack.pop(); x !== undefined; x = stack.pop()) {
    if (seen.has(x)) continue;
    seen.add(x);
    const state = stateOf.get(x);
    if (state !== undefined) need(state);
    stack.push(...x.inputs);
  }
  return needed;
}

/** Cost of a map of indices and constants up to which it is computed in every step instead of being read. */
const CHEAP = 8;

/** The replacement of an expression when a body is closed over its captures. */
type Fate =
  /** It depends on a state: it is part of the body. */
  | 'changes'
  /** It is read: computed once, outside. */
  | 'captured'
  /** It does not change, but costs less to compute than to read; or it is a view of what is read. */
  | 'repeated';

/**
 * Visits what `done` lacks below an expression, inputs first, in their order, as graphs are walked: that of errors. Of what
 * is not `open`, no inputs. Iterative.
 */
function visitBelow(
  root: Expr,
  done: ReadonlyMap<Expr, unknown>,
  open: (x: Expr) => boolean,
  visit: (x: Expr) => void,
): void {
  const stack = [root];
  for (let x = stack.at(-1); x !== undefined; x = stack.at(-1)) {
    const waiting = done.has(x) || !open(x) ? [] : x.inputs.filter((input) => !done.has(input));
    if (waiting.length > 0) {
      stack.push(...waiting.reverse());
      continue;
    }
    stack.pop();
    if (!done.has(x)) visit(x);
  }
}

/** An expression over other inputs; itself where they are the same. */
const over = (x: Expr, inputs: readonly Expr[]): Expr =>
  inputs.every((input, k) => input === x.inputs[k]) ? x : { ...x, inputs };

/** Expressions in which parameters of states that stay as they are have become those states. */
function substituted(exprs: readonly Expr[], fixed: ReadonlyMap<Expr, Expr>): readonly Expr[] {
  if (fixed.size === 0) return exprs;
  const done = new Map<Expr, Expr>(fixed);
  const loops = new Map<LoopBody, LoopBody>();
  const visit = (x: Expr): void => {
    const inputs = x.inputs.map((input) => done.get(input)!);
    const made = sized(over(x, inputs));
    done.set(x, made === x ? x : withOwn(made));
  };
  const replaced = (x: Expr): Expr => {
    visitBelow(x, done, () => true, visit);
    return done.get(x)!;
  };
  /** A node whose size depends on what has become of states. */
  const sized = (x: Expr): Expr => {
    if (x.extent === undefined) return x;
    const { axis, length } = x.extent;
    const now = replaced(length);
    return now === length ? x : withExtent(x, axis, now);
  };
  /** A node with what it has beside its inputs. */
  const withOwn = (x: Expr): Expr => {
    if (x.kind === 'loop') return { ...x, loop: looked(x.loop) };
    if (x.kind !== 'gather' || x.within === undefined) return x;
    const { indices, length } = x.within;
    return { ...x, within: { indices: replaced(indices), length: replaced(length) } };
  };
  /** A loop that looks ahead at the indices that it captures, of which its results share one. */
  const looked = (body: LoopBody): LoopBody => {
    const checked = (): CheckedIndices[] =>
      body.checked.map((check) => ({
        ...check,
        indices: replaced(check.indices),
        ...(check.length === undefined ? {} : { length: replaced(check.length) }),
      }));
    const own = loops.get(body) ?? (body.checked.length === 0 ? body : { ...body, checked: checked() });
    loops.set(body, own);
    return own;
  };
  return exprs.map(replaced);
}

/** Lines of sparse matrices are looked at before anything relies on them. */
function refuseUnchecked(op: string): never {
  const hint = 'a matrix, and the numbers of its rows, come from outside of the loop';
  throw new ArgumentError(
    expected(op, 'a sparse matrix that no step of a loop changes', 'indices that one computes', hint),
  );
}

class Closure {
  readonly #parameters: ExprOf<'source'>[] = [];
  readonly #fates = new Map<Expr, Fate>();
  /** The arithmetic of repeated nodes, and the elements that they read. */
  readonly #costs = new Map<Expr, { readonly cost: number; readonly read: number }>();
  readonly #closed = new Map<Expr, Expr>();
  readonly captured: Expr[] = [];
  readonly checked: CheckedIndices[] = [];
  /** Indices that steps change and that may be out of range. */
  readonly #found: FoundIndices[] = [];
  /** Loops whose indices were looked at, and whether steps change some of those that they capture. */
  readonly #loops = new Map<LoopBody, boolean>();
  next: readonly Expr[] = [];

  constructor(parameters: readonly Expr[]) {
    for (const parameter of parameters) this.carry(parameter as ExprOf<'source'>);
  }

  /** Takes one more parameter, before the body is closed. */
  carry(parameter: ExprOf<'source'>): void {
    this.#fates.set(parameter, 'changes');
    this.#closed.set(parameter, argumentLike(parameter, this.#parameters.push(parameter) - 1));
  }

  readonly #decide = (x: Expr): void => {
    this.#fates.set(x, this.#fateOf(x));
  };

  /** The indices that steps change in expressions that were not decided on before. */
  decide(exprs: readonly Expr[]): readonly FoundIndices[] {
    const before = this.#found.length;
    for (const x of exprs) visitBelow(x, this.#fates, () => true, this.#decide);
    return this.#found.slice(before);
  }

  close(next: readonly Expr[]): void {
    this.decide(next);
    const isOpen = (x: Expr): boolean => this.#fates.get(x) !== 'captured';
    const rewrite = (x: Expr): void => {
      this.#closed.set(x, isOpen(x) ? this.#copy(x) : this.#capture(x));
    };
    for (const x of next) visitBelow(x, this.#closed, isOpen, rewrite);
    this.next = next.map((x) => this.#closed.get(x)!);
  }

  #fateOf(x: Expr): Fate {
    const { inputs } = x;
    const fates = inputs.map((input) => this.#fates.get(input)!);
    const isChanged = fates.includes('changes');
    if (this.#check(x, isChanged) || isChanged) return 'changes';
    switch (x.kind) {
      case 'const':
        return 'repeated';
      case 'source':
        // Columns of a sparse matrix are a parameter up to their length.
        if (this.#parameters.some(({ source }) => source === x.source)) return 'changes';
        return x.source.type === 'iota' ? 'repeated' : 'captured';
      case 'reduce':
      case 'contract':
      case 'gather':
      case 'call':
      case 'loop':
        return 'captured';
      case 'view':
        return this.#repeat(x, inputs, this.#costs.get(inputs[0]!)?.cost ?? 0);
      case 'cast':
      case 'join':
        return this.#computed(x, inputs, 1);
      case 'repeat':
      case 'function':
        return 'captured';
      case 'map':
        return this.#computed(x, inputs, opRow(x.op).cost);
    }
  }

  /**
   * Notes the indices of a node, which need not be its inputs: some are looked at before the loop runs, others in its steps.
   * Whether there are others.
   */
  #check(x: Expr, isChanged: boolean): boolean {
    const known = x.kind === 'loop' ? this.#loops.get(x.loop) : undefined;
    if (known !== undefined) return known;
    let isOfSteps = false;
    for (const checked of checkedIndices(x)) {
      const { indices, length = indices } = checked;
      // Of elements that all are one number, such as onesLike() has, steps may change how many there are.
      const { length: count = indices } = indices.extent ?? {};
      const looked = [indices, length, count];
      for (const each of looked) visitBelow(each, this.#fates, () => true, this.#decide);
      const isOwn = looked.some((each) => this.#fates.get(each) === 'changes');
      isOfSteps ||= isOwn;
      if (!isOwn) this.checked.push(checked);
      else if (checked.isReliedOn) refuseUnchecked(checked.op);
      else if (checked.length !== undefined || mayBeOut(checked)) this.#found.push(foundIndices(checked));
    }
    if (x.kind !== 'loop') return isOfSteps;
    this.#loops.set(x.loop, isOfSteps);
    if (isChanged || isOfSteps) this.#found.push(...foundInLoop(x));
    return isOfSteps;
  }

  #repeat(x: Expr, inputs: readonly Expr[], cost: number): Fate {
    this.#costs.set(x, { cost, read: this.#elementsRead(inputs) });
    return 'repeated';
  }

  /** Arithmetic is done once, but where it is little and its result much larger than what it is made of. */
  #computed(x: Expr, inputs: readonly Expr[], own: number): Fate {
    const cost = inputs.reduce((sum, input) => sum + (this.#costs.get(input)?.cost ?? 0), own);
    const isCheap = cost <= CHEAP && sizeOfShape(x.shape) > 2 * this.#elementsRead(inputs);
    return isCheap ? this.#repeat(x, inputs, cost) : 'captured';
  }

  /** Elements that a step reads to have expressions that do not change. */
  #elementsRead(inputs: readonly Expr[]): number {
    const readFor = (x: Expr): number =>
      this.#fates.get(x) === 'captured' ? sizeOfShape(x.shape) : (this.#costs.get(x)?.read ?? 0);
    return inputs.reduce((sum, x) => sum + readFor(x), 0);
  }

  #capture(x: Expr): Expr {
    return argumentLike(x, this.#parameters.length + this.captured.push(x) - 1);
  }

  #copy(x: Expr): Expr {
    return over(
      withoutErrors(x),
      x.inputs.map((input) => this.#closed.get(input)!),
    );
  }
}
